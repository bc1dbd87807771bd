//! One worker's own queue: both ends for the owner, batches from the old end for thieves.
//!
//! Called by the worker that owns it, and by workers that have run dry. Knows nothing of who sleeps: a push is one
//! sequentially consistent read-modify-write, so that its caller may fence and look at the idle word; but for that of a hot item into an
//! empty ring, for which nobody is woken, and which is a plain store.
//!
//! Promise: each item that went in comes out once, to one thread; the oldest first for thieves and `pop_front`, the newest
//! first for `pop_back` and `pop_hot`; a thief that stops half way costs slots, never an item of the others.
//!
//! **One word.** All cursors live in one `AtomicU64`, each 16 bits wide and running freely over its wrap, and every
//! operation is one CAS on it, or, where nobody else could change it, a store:
//!
//! ```text
//! slots    ... [ free ][ being copied out ][   live   ][ free ] ...
//!                      ^ steal             ^ head      ^ tail            HOT: the item before `tail` is hot
//! ```
//!
//! | operation | who | CAS on the word | slots |
//! |---|---|---|---|
//! | push | owner | `tail += n` | wrote `tail..tail+n` before |
//! | `pop_front`, `take_half` | owner | `head += n`, and `steal` with it unless a copy is under way | reads `head..head+n` after |
//! | `pop_back`, `pop_hot` | owner | `tail -= 1` | reads `tail-1` after |
//! | claim | thief | `head += n`, if `steal == head` | reads `head..head+n` after |
//! | release | that thief | `steal = head` | – |
//!
//! **Who owns a slot.** `head..tail`: the items are in the queue, the slots are read by nobody. `steal..head`: the one
//! thief whose claim moved `steal` and `head` apart reads them, until its release. All others: the owner, who writes only
//! there. So a slot is written by the owner alone, and never while it can be read by a thief. Because both ends are in
//! the word that a claim changes, a claim and a pop of the same item cannot both succeed, and no fence is needed
//! between the two ends. A CAS that succeeds on a word that went all the way round in between (ABA) is harmless: nothing
//! was read from a slot before it.
//!
//! **Orderings.** Every change of the word is a read-modify-write, so each continues the release sequences before it; but for the one store,
//! which begins a new one where nothing is left to be seen of the old: the ring is empty, and the owner has seen all releases.
//!
//! | access | order | partner |
//! |---|---|---|
//! | push CAS | release (and SeqCst, see below) | claim CAS: the thief sees the slots, and the items' content |
//! | push store | release | the same |
//! | claim CAS | acquire | push CAS |
//! | release CAS | release | load in push: the owner overwrites a slot only after the thief has read it |
//! | load in push | acquire | release CAS |
//! | pops, `take_half` | relaxed | none: the owner reads slots that it has written itself |
//!
//! The push is SeqCst for the idle protocol alone (`scheduler::idle`): on the usual processors it costs what the release
//! does, and it allows the caller to put a SeqCst look at the idle word, or a `fence(SeqCst)` and any look, behind it.
//! `is_empty` and `len` are SeqCst for the same reason, from the sleeper's side.
//!
//! Tests: `behaves_like_a_deque`, also from cursors about to wrap; `many_threads_lose_and_double_nothing`. Models:
//! `owner_at_both_ends_and_two_thieves`, `a_stalled_thief_keeps_its_slots`, `cursors_wrap_under_a_thief`,
//! `a_thief_is_robbed`, `a_robbed_thief_has_less_room`, `overflow_races_a_thief`, `a_batch_races_a_thief`,
//! `two_rescuers_and_the_owner`, `hot_pushes_into_an_empty_ring_race_two_rescuers`, `thieves_copy_one_after_the_other`, `a_last_hot_item_is_left`, `a_push_races_the_last_look`; and, so that the checker is
//! known to have teeth, `canary`: the deque whose owner reads one end before it moves the other.

mod cursors;
#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

use crate::{Batch, Item, look};
use cursors::Cursors;
use nezumi_prim::CachePadded;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use nezumi_prim::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// How often a thief tries its claim again when the owner moved in between.
const CLAIM_TRIES: u32 = 8;

/// A queue of `N` slots, pushed to and popped from by its owner, robbed by others. `N` is a power of two.
///
/// The owner's operations are `unsafe`: their callers owe that no two of them overlap, and that each happens before the
/// next when the ownership moves from one thread to another. Which thread owns the ring is the scheduler's business.
pub struct Ring<T: Item, const N: usize = 256> {
    cursors: CachePadded<AtomicU64>,
    slots: [UnsafeCell<*mut ()>; N],
    _items: PhantomData<T>,
}

// SAFETY: the ring owns its items and hands each to one thread (module header), which `T: Send` allows.
unsafe impl<T: Item + Send, const N: usize> Send for Ring<T, N> {}
// SAFETY: as above; all sharing goes through `cursors` as the table in the module header says.
unsafe impl<T: Item + Send, const N: usize> Sync for Ring<T, N> {}

/// What came of an attempt to steal.
#[derive(Debug)]
#[must_use]
pub enum Steal<T> {
    /// Nothing there to be taken.
    Empty,
    /// Another thief is copying, or the owner was too quick. It is worth coming back.
    Busy,
    /// Got some.
    Taken {
        /// The oldest of them, for the thief to run.
        first: T,
        /// How many others went into the thief's ring.
        more: usize,
    },
}

/// Another thief is copying, or the owner was too quick. It is worth coming back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

impl<T: Item, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Item, const N: usize> fmt::Debug for Ring<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("len", &self.len()).field("has_hot", &self.has_hot()).finish()
    }
}

impl<T: Item, const N: usize> Ring<T, N> {
    /// An empty ring.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(0)
    }

    /// An empty ring whose cursors start at `cursor`, for tests of their wrap.
    #[doc(hidden)]
    #[must_use]
    pub fn starting_at(cursor: u16) -> Self {
        const { assert!(N.is_power_of_two() && N <= 1 << 15, "a cursor must tell a full ring from an empty one") };
        Self {
            cursors: CachePadded::new(AtomicU64::new(Cursors::at(cursor).bits())),
            slots: std::array::from_fn(|_| UnsafeCell::new(ptr::null_mut())),
            _items: PhantomData,
        }
    }

    /// How many items are in the queue, at some moment during the call.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.look(SeqCst).live()
    }

    /// Whether nothing was in the queue at some moment during the call.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items could be pushed. What a thief is still copying takes room; it only grows while the owner looks on.
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        N - self.look(Relaxed).used()
    }

    /// Whether the newest item is hot.
    #[inline]
    #[must_use]
    pub fn has_hot(&self) -> bool {
        self.look(Relaxed).is_hot()
    }

    /// Adds `item` as the newest, and says how many are in the queue with it. A `hot` item is for `pop_hot`, until another
    /// comes behind it.
    ///
    /// # Errors
    ///
    /// Gives the item back if there is no room.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn push_back(&self, item: T, hot: bool) -> Result<usize, T> {
        // Acquire: pairs with the release CAS of the thief that last read the slot we are about to write.
        let mut now = self.look(Acquire);
        if now.used() == N {
            return Err(item);
        }
        // SAFETY: `used < N`, so the slot is neither live nor being copied; only the owner, which we are, can change that.
        unsafe { self.write(now.tail(), item.into_raw()) };
        if hot && now.used() == 0 {
            // Nobody but the owner changes the word of a ring in which there is nothing to claim and no claim to release.
            // Release: pairs with the claim; publishes the slot.
            self.cursors.store(now.pushed(1, true).bits(), Release);
            return Ok(1);
        }
        loop {
            let next = now.pushed(1, hot);
            // SeqCst, for its release half: pairs with the claim; publishes the slot. The rest is for the idle protocol.
            match self.cursors.compare_exchange_weak(now.bits(), next.bits(), SeqCst, Relaxed) {
                Ok(_) => return Ok(next.live()),
                Err(bits) => now = Cursors::from(bits),
            }
        }
    }

    /// Adds the first items of `batch`, as many as there is room for, with one CAS. Returns how many. None of them is hot,
    /// and no item before them any more.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn push_batch(&self, batch: &mut Batch<T>) -> usize {
        // Acquire: as in `push_back`.
        let now = self.look(Acquire);
        let count = batch.len().min(N - now.used());
        for index in 0..count {
            let Some(item) = batch.pop_front_raw() else { unreachable!("a batch holds `len` items") };
            // SAFETY: `index < N - used`: as in `push_back`.
            unsafe { self.write(now.tail_plus(index), item) };
        }
        if count > 0 {
            self.publish(now, count);
        }
        count
    }

    /// Takes the oldest item.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn pop_front(&self) -> Option<T> {
        let mut now = self.look(Relaxed);
        while now.live() > 0 {
            match self.cas(now, now.popped_front(1)) {
                // SAFETY: the slot was live, so it holds an item; the CAS took it out of `head..tail`, and only we, the
                // owner, write slots.
                Ok(()) => return Some(unsafe { self.item(now.head()) }),
                Err(seen) => now = seen,
            }
        }
        None
    }

    /// Takes the newest item.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn pop_back(&self) -> Option<T> {
        let mut now = self.look(Relaxed);
        while now.live() > 0 {
            let next = now.popped_back();
            match self.cas(now, next) {
                // SAFETY: as in `pop_front`, for the other end.
                Ok(()) => return Some(unsafe { self.item(next.tail()) }),
                Err(seen) => now = seen,
            }
        }
        None
    }

    /// Takes the newest item if it is hot. The one before it is not.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn pop_hot(&self) -> Option<T> {
        let mut now = self.look(Relaxed);
        while now.is_hot() {
            let next = now.popped_back();
            match self.cas(now, next) {
                // SAFETY: a hot item is live; as in `pop_back`.
                Ok(()) => return Some(unsafe { self.item(next.tail()) }),
                Err(seen) => now = seen,
            }
        }
        None
    }

    /// Takes the older half of the items out, oldest first, for an overflowing ring to make room. `None` while a thief is
    /// copying, who is about to make room itself, or if there are not two.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn take_half(&self) -> Option<Batch<T>> {
        let mut now = self.look(Relaxed);
        loop {
            let count = now.live() / 2;
            if now.is_being_copied() || count == 0 {
                return None;
            }
            match self.cas(now, now.popped_front(count)) {
                Ok(()) => break,
                Err(seen) => now = seen,
            }
            // The last change was a thief's; what it left may be few, or still being copied: look again.
        }
        // SAFETY: the CAS took these items out of `head..tail`, and only we, the owner, write slots.
        Some(unsafe { self.chain(now, now.live() / 2) })
    }

    /// Takes half of the items, rounded up, the oldest first: one for the caller to run, the others into `dst`, of which
    /// the caller is the owner. Never more than `dst` has room for. A last single hot item is left to the victim's owner
    /// unless `take_hot` says that it is stuck.
    ///
    /// # Safety
    ///
    /// The caller is the owner of `dst`, which is another ring than `self`.
    pub unsafe fn steal_into(&self, dst: &Ring<T, N>, take_hot: bool) -> Steal<T> {
        debug_assert!(!ptr::eq(self, dst), "nobody steals from himself");
        // Acquire: as in `push_back`. Room that thieves of `dst` give back later does not matter.
        let room = dst.look(Acquire);
        let (claimed, count) = match self.claim(take_hot, 1 + N - room.used()) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Steal::Empty,
            Err(Busy) => return Steal::Busy,
        };
        // SAFETY: `steal..head` is ours since the claim, until the release: `count` items, of which each is read once. The
        // slots of `dst` are written as in `push_batch`, by its owner and at most `room` of them.
        let first = unsafe {
            for index in 1..count {
                dst.write(room.tail_plus(index - 1), self.read(claimed.head_plus(index)));
            }
            self.read(claimed.head())
        };
        self.release();
        if count > 1 {
            dst.publish(room, count - 1);
        }
        // SAFETY: read from a claimed slot above, and from nowhere else.
        Steal::Taken { first: unsafe { T::from_raw(first) }, more: count - 1 }
    }

    /// Like [`steal_into`](Self::steal_into), for a thief that owns no ring: at most `max` items, and an empty batch if
    /// there was nothing to be taken.
    ///
    /// # Errors
    ///
    /// [`Busy`] if another thief is copying, or the owner was too quick.
    pub fn steal_batch(&self, take_hot: bool, max: usize) -> Result<Batch<T>, Busy> {
        let Some((claimed, count)) = self.claim(take_hot, max)? else { return Ok(Batch::new()) };
        // SAFETY: `steal..head` is ours since the claim, until the release.
        let batch = unsafe { self.chain(claimed, count) };
        self.release();
        Ok(batch)
    }

    #[inline]
    fn look(&self, order: Ordering) -> Cursors {
        Cursors::from(look::cursors(&self.cursors, order))
    }

    /// Claims half of what is there, at most `max`: the cursors before the claim, and how many.
    fn claim(&self, take_hot: bool, max: usize) -> Result<Option<(Cursors, usize)>, Busy> {
        let mut now = self.look(Relaxed);
        for _ in 0..CLAIM_TRIES {
            let live = now.live();
            let left_to_owner = live == 1 && now.is_hot() && !take_hot;
            if live == 0 || left_to_owner || max == 0 {
                return Ok(None);
            }
            if now.is_being_copied() {
                return Err(Busy);
            }
            let count = live.div_ceil(2).min(max);
            // Acquire: pairs with the release of the pushes; the slots below `head + count` are visible.
            match self.cursors.compare_exchange(now.bits(), now.claimed(count).bits(), Acquire, Relaxed) {
                Ok(_) => return Ok(Some((now, count))),
                Err(bits) => now = Cursors::from(bits),
            }
        }
        Err(Busy)
    }

    /// Gives the slots of a claim back, once they have been read.
    fn release(&self) {
        let mut now = self.look(Relaxed);
        loop {
            // Release: pairs with the load in the pushes; our reads of the slots come before the owner's next writes.
            match self.cursors.compare_exchange_weak(now.bits(), now.released().bits(), Release, Relaxed) {
                Ok(_) => return,
                Err(bits) => now = Cursors::from(bits),
            }
        }
    }

    /// Makes `count` items known that the owner has written from `tail` on.
    fn publish(&self, mut now: Cursors, count: usize) {
        loop {
            // SeqCst: as in `push_back`.
            match self.cursors.compare_exchange_weak(
                now.bits(),
                now.pushed(count, false).bits(),
                SeqCst,
                Relaxed,
            ) {
                Ok(_) => return,
                Err(bits) => now = Cursors::from(bits),
            }
        }
    }

    /// The owner's pops: nothing to publish, and nothing to see that the owner has not done itself.
    #[inline]
    fn cas(&self, now: Cursors, next: Cursors) -> Result<(), Cursors> {
        match self.cursors.compare_exchange_weak(now.bits(), next.bits(), Relaxed, Relaxed) {
            Ok(_) => Ok(()),
            Err(bits) => Err(Cursors::from(bits)),
        }
    }

    /// Chains the `count` items from `at.head` on.
    ///
    /// # Safety
    ///
    /// The caller has taken them out of `head..tail`, and the slots cannot be written yet.
    unsafe fn chain(&self, at: Cursors, count: usize) -> Batch<T> {
        let mut batch = Batch::new();
        for index in 0..count {
            // SAFETY: handed on; each item is read once and given to the batch.
            unsafe { batch.push_back_raw(self.read(at.head_plus(index))) }
        }
        batch
    }

    /// # Safety
    ///
    /// As for `read`, and the item is the caller's.
    #[inline]
    unsafe fn item(&self, cursor: u16) -> T {
        // SAFETY: handed on.
        unsafe { T::from_raw(self.read(cursor)) }
    }

    /// # Safety
    ///
    /// The slot holds an item, and cannot be written now.
    #[inline]
    unsafe fn read(&self, cursor: u16) -> NonNull<()> {
        // SAFETY: by contract nobody writes the slot, and what was written to it came from a `NonNull`.
        self.slots[usize::from(cursor) % N].with(|slot| unsafe { NonNull::new_unchecked(*slot) })
    }

    /// # Safety
    ///
    /// The caller is the owner, and the slot is neither live nor being copied.
    #[inline]
    unsafe fn write(&self, cursor: u16, item: NonNull<()>) {
        // SAFETY: by contract nobody reads the slot.
        self.slots[usize::from(cursor) % N].with_mut(|slot| unsafe { *slot = item.as_ptr() });
    }
}

impl<T: Item, const N: usize> Drop for Ring<T, N> {
    fn drop(&mut self) {
        let mut rest = Batch::new();
        // SAFETY: `&mut self`: nobody else is here.
        while let Some(item) = unsafe { self.pop_front() } {
            rest.push_back(item);
        }
        // As a batch they are dropped all, even if one of them panics.
        drop(rest);
    }
}
