//! What a worker has put aside for later, in the open: its owner fills it and takes all of it back, and others may empty it meanwhile.
//!
//! Called by the worker that owns it, once per task that yields, and by those who rescue what a stuck worker holds. Knows nothing of when that is.
//!
//! Promise: each item that went in comes out once, to one thread, in the order in which they went in; the owner's push writes with plain stores
//! only, and its `take_all` is one read-modify-write for all items together.
//!
//! **Two words.** `filled` is written by the owner alone, `taken` by whoever takes. Both hold a round, which ends when the owner takes all, and
//! a count of slots in that round:
//!
//! ```text
//! slots    [ taken by others ][    there    ][ free ]
//!          0                  ^ taken       ^ filled
//! ```
//!
//! | owner | a rescuer |
//! |---|---|
//! | push: writes slot `filled`; *release store* of `filled + 1` | steal: load of `taken`, *acquire load* of `filled`; nothing unless both are of one round |
//! | take all: *swap* of `taken` for the next round; *release fence*; store of `filled` | reads the slots `taken..filled`; *acquire fence*; *CAS* `taken` → `filled` |
//!
//! **Who gets an item.** Every change of `taken` within a round is a CAS of a rescuer, and the swap ends the round: what lies between two values
//! of `taken` that follow each other belongs to whoever wrote the second one. A rescuer reads the slots before its CAS, and they may be
//! written meanwhile, though only after the owner's swap. If one of them was, the fences order that swap before the CAS, which then fails, since no round comes
//! twice (56 bits). The release store of `filled` publishes the slots and what the items point to.
//!
//! Tests: `behaves_like_a_queue`, `a_full_shelf_gives_the_item_back`, `what_is_left_on_a_shelf_is_dropped`, `two_rescuers_and_an_owner_lose_and_double_nothing`. Models:
//! `the_owner_takes_all_under_a_rescuer`, `two_rescuers_share_nothing`, `a_late_rescuer_meets_the_next_round`, `a_rescued_item_is_seen_whole`.

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

use crate::{Batch, Busy, Item, look};
use nezumi_prim::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use nezumi_prim::sync::atomic::{AtomicPtr, AtomicU64, fence};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// `N` places, filled and taken back by their owner, emptied by others where the owner does not come back.
pub struct Shelf<T: Item, const N: usize = 64> {
    filled: AtomicU64,
    taken: AtomicU64,
    slots: [AtomicPtr<()>; N],
    _items: PhantomData<T>,
}

// SAFETY: the shelf owns its items and hands each to one thread (module header), which `T: Send` allows.
unsafe impl<T: Item + Send, const N: usize> Send for Shelf<T, N> {}
// SAFETY: as above; all sharing goes through atomics.
unsafe impl<T: Item + Send, const N: usize> Sync for Shelf<T, N> {}

/// A round above a count of slots in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark(u64);

impl Mark {
    const COUNT_BITS: u32 = 8;

    fn count(self) -> usize {
        (self.0 & ((1 << Self::COUNT_BITS) - 1)) as usize
    }

    fn round(self) -> u64 {
        self.0 >> Self::COUNT_BITS
    }

    fn plus_one(self) -> Mark {
        Mark(self.0 + 1)
    }

    fn next_round(self) -> Mark {
        Mark((self.round() + 1) << Self::COUNT_BITS)
    }
}

impl<T: Item, const N: usize> Default for Shelf<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Item, const N: usize> fmt::Debug for Shelf<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("len", &self.len()).finish()
    }
}

impl<T: Item, const N: usize> Shelf<T, N> {
    /// A shelf with nothing on it.
    #[must_use]
    pub fn new() -> Self {
        const { assert!(N < 1 << Mark::COUNT_BITS, "a full shelf must be countable") };
        Self {
            filled: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            _items: PhantomData,
        }
    }

    /// How many items are there. Exact for the owner while nobody else takes any, for others a hint.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        let (taken, filled) = (Mark(self.taken.load(Relaxed)), Mark(self.filled.load(Relaxed)));
        if taken.round() == filled.round() { filled.count().saturating_sub(taken.count()) } else { 0 }
    }

    /// Whether nothing is there. Exact for the owner while nobody else takes any, for others a hint.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an item behind the others.
    ///
    /// # Errors
    ///
    /// Gives the item back if there is no place: `N` have been put there since the owner last took all.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn push(&self, item: T) -> Result<(), T> {
        // Relaxed: only the owner writes it.
        let filled = Mark(self.filled.load(Relaxed));
        let Some(slot) = self.slots.get(filled.count()) else { return Err(item) };
        slot.store(item.into_raw().as_ptr(), Relaxed);
        // Release: pairs with the load in `steal`; publishes the slot and what it points to.
        self.filled.store(filled.plus_one().0, Release);
        Ok(())
    }

    /// Takes all that others have left.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn take_all(&self) -> Batch<T> {
        // Relaxed: only the owner writes it.
        let filled = Mark(self.filled.load(Relaxed));
        if filled.count() == 0 {
            return Batch::new();
        }
        let next = filled.next_round();
        // Relaxed: what the owner takes it has put there itself, and what others have taken it does not touch.
        let taken = Mark(self.taken.swap(next.0, Relaxed));
        // Release: pairs with the fence in `steal`; who sees what is written from here on sees the end of the round.
        fence(Release);
        self.filled.store(next.0, Relaxed);
        // SAFETY: the swap took these over: no rescuer's CAS succeeds in that round any more.
        unsafe { self.chain(taken.count()..filled.count()) }
    }

    /// Takes all that is there, for somebody who is not the owner.
    ///
    /// # Errors
    ///
    /// [`Busy`] if another took some, or all, meanwhile.
    pub fn steal(&self) -> Result<Batch<T>, Busy> {
        // Relaxed: a stale one fails the CAS.
        let taken = Mark(look::cursors(&self.taken, Relaxed));
        // Acquire: pairs with the store in `push`.
        let filled = Mark(self.filled.load(Acquire));
        if taken.round() != filled.round() || taken.count() >= filled.count() {
            return Ok(Batch::new());
        }
        let places = taken.count()..filled.count();
        let mut items = [ptr::null_mut(); N];
        for place in places.clone() {
            items[place] = self.slots[place].load(Relaxed);
        }
        // Acquire: pairs with the fence in `take_all`: if one of the loads above saw a later round, the CAS sees that, too.
        fence(Acquire);
        if self.taken.compare_exchange(taken.0, filled.0, Relaxed, Relaxed).is_err() {
            return Err(Busy);
        }
        let mut batch = Batch::new();
        for place in places {
            // SAFETY: the CAS made them ours (module header), and `push` wrote a pointer from `into_raw` that is not null.
            unsafe { batch.push_back_raw(NonNull::new_unchecked(items[place])) }
        }
        Ok(batch)
    }

    /// # Safety
    ///
    /// The caller is the owner, and has taken these places over.
    unsafe fn chain(&self, places: std::ops::Range<usize>) -> Batch<T> {
        let mut batch = Batch::new();
        for slot in &self.slots[places] {
            // Relaxed: the owner wrote it.
            // SAFETY: a pointer from `into_raw` in `push`, which is not null, and the caller's.
            unsafe { batch.push_back_raw(NonNull::new_unchecked(slot.load(Relaxed))) }
        }
        batch
    }
}

impl<T: Item, const N: usize> Drop for Shelf<T, N> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody else is here.
        drop(unsafe { self.take_all() });
    }
}
