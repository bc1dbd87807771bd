//! One place in the ring of a broadcast channel: a value, and how many receivers still have to read it.
//!
//! Promise: a value is dropped once, when its last reader is done or a newer value takes its place; no two readers have one
//! value at once, as `T` need not be `Sync`; no user code runs while the slot is locked.
//!
//! A reader takes the value *out* of its slot, clones it where nothing is locked, and gives it back, unless it is the last.
//! Meanwhile the slot says that it is out: another reader waits for it as for a value that was not sent yet, and a sender
//! that comes round puts the next value in and leaves the old one to whoever has it.
//!
//! One word: `unread << 3 | WANTED | OUT | LOCKED`.
//!
//! ```text
//! OUT       a reader has the value, and will count itself out as it gives it back
//! WANTED    another reader waits for it to come back
//! LOCKED    somebody is between two lines of this file
//!
//! who                       may touch the cell and the position, and change the word
//! a reader of `position`    holding LOCKED, once it has found its position here, until it has counted itself out
//! the sender                holding the tail's lock and, unless it saw `unread` at 0, LOCKED
//! ```
//!
//! The cell is full if `unread` is not 0 and OUT is not set. A reader counts itself out (Release) as its last touch, so a
//! sender that sees 0 (Acquire) is alone with the slot: whoever might read this position has done so, and nobody locks a
//! slot of another position. That spares the sender of a channel that keeps up the lock.
//!
//! LOCKED is a lock that spins. It is held for a few instructions, over a move of the value, and over no call to anybody.

use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use nezumi_prim::{hint, thread};
use std::mem::MaybeUninit;

const LOCKED: usize = 0b001;
const OUT: usize = 0b010;
const WANTED: usize = 0b100;
const READER: usize = 0b1000;

/// How many readers a slot can count.
pub(super) const MAX_READERS: usize = usize::MAX / READER;

/// How often a reader looks whether a value that is out has come back, before it waits: to clone takes less, mostly.
const LOOKS: u32 = if cfg!(nezumi_loom) { 0 } else { 100 };

pub(super) struct Slot<T> {
    /// Which send the value is of. Changed by senders only.
    position: AtomicU64,
    /// `unread * READER | WANTED | OUT | LOCKED`.
    word: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the cell is reached by one thread at a time (module header), so that it may hold whatever may change threads.
unsafe impl<T: Send> Send for Slot<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Slot<T> {}

/// What a reader finds.
pub(super) enum Found {
    /// The value. The last of its readers keeps it, the others are to give it back.
    Value { is_last: bool },
    /// Another reader has it.
    Out,
    /// Another value is here.
    Other,
}

/// What became of a value that was to be given back.
pub(super) struct Back {
    /// It is in its slot again. Else it is its bearer's to drop.
    pub(super) is_given: bool,
    /// Somebody waits for that.
    pub(super) is_wanted: bool,
}

impl<T> Slot<T> {
    /// An empty one, as if `position` had been read by all.
    pub(super) fn new(position: u64) -> Self {
        Self {
            position: AtomicU64::new(position),
            word: AtomicUsize::new(0),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Whether some receiver still has to read it.
    pub(super) fn is_unread(&self) -> bool {
        // Acquire: pairs with the Release of the last reader, whose work the asker may take as done.
        self.word.load(Ordering::Acquire) >= READER
    }

    /// Puts in a value for `readers` receivers, and returns the one of before, if it was not read by all and is here.
    ///
    /// # Safety
    ///
    /// The caller holds the tail's lock, and `readers` receivers wait for `position`.
    #[inline]
    #[must_use = "the old value is dropped under no lock"]
    pub(super) unsafe fn put(&self, position: u64, readers: usize, value: T) -> Option<T> {
        // Acquire: pairs with the Release of the last reader.
        if self.word.load(Ordering::Acquire) == 0 {
            // SAFETY: all readers of the old position are done, and no other sender is here.
            unsafe { self.put_in(value) };
            // Relaxed: nobody looks at it before the position says that it is there.
            self.word.store(readers * READER, Ordering::Relaxed);
            // Release: pairs with the Acquire in `lock_at`; publishes the value and how many it is for.
            self.position.store(position, Ordering::Release);
            return None;
        }
        let word = self.lock();
        // SAFETY: unread and not out, so it is here; the slot is locked.
        let old = (word >= READER && word & OUT == 0).then(|| unsafe { self.take_out() });
        // SAFETY: the cell is empty, and the slot is locked.
        unsafe { self.put_in(value) };
        // Release: who finds it comes after our lock, and so waits for our unlock. (Loom, for which read-modify-writes are not
        // reordered with what follows, does not miss it.)
        self.position.store(position, Ordering::Release);
        self.unlock(readers * READER);
        old
    }

    /// Takes the value of `position` out, into `value`.
    ///
    /// The caller is a receiver that has not read `position` yet. By this it has, but for counting itself out in
    /// [`give_back`](Self::give_back) if the value is not its own.
    #[inline]
    pub(super) fn find(&self, position: u64, value: &mut MaybeUninit<T>) -> Found {
        let Some(word) = self.lock_at(position) else { return Found::Other };
        if word & OUT != 0 {
            self.unlock(word);
            return self.find_out(position, value);
        }
        // SAFETY: we have not counted ourselves out, so it is unread; it is not out; the slot is locked.
        value.write(unsafe { self.take_out() });
        let is_last = word < 2 * READER;
        self.unlock(if is_last { 0 } else { word | OUT });
        Found::Value { is_last }
    }

    /// [`find`](Self::find), where another reader was first.
    #[cold]
    fn find_out(&self, position: u64, value: &mut MaybeUninit<T>) -> Found {
        for _ in 0..LOOKS {
            hint::spin_loop();
            // Relaxed: if it is back, it is looked at once more.
            if self.word.load(Ordering::Relaxed) & OUT == 0 {
                return self.find(position, value);
            }
        }
        Found::Out
    }

    /// Asks for word when the value of `position` is given back. False if it is here, or another is.
    ///
    /// The caller is a receiver that has not read `position` yet.
    pub(super) fn want(&self, position: u64) -> bool {
        let Some(word) = self.lock_at(position) else { return false };
        let is_out = word & OUT != 0;
        self.unlock(if is_out { word | WANTED } else { word });
        is_out
    }

    /// Puts the value of `position` back, if anybody will come for it, and counts its reader out.
    ///
    /// # Safety
    ///
    /// `value` is full, from [`find`](Self::find), which said that it is not the caller's to keep. If it was given, it counts as
    /// empty after this.
    #[inline]
    pub(super) unsafe fn give_back(&self, position: u64, value: &MaybeUninit<T>) -> Back {
        // While it was out its position could be overwritten. Those who waited for it are woken by what was sent.
        let Some(word) = self.lock_at(position) else { return Back { is_given: false, is_wanted: false } };
        let is_wanted = word & WANTED != 0;
        // Or else the others have gone.
        let is_given = word >= 2 * READER;
        if is_given {
            // SAFETY: it is out, so the cell is empty; the slot is locked. `value` is full.
            unsafe { self.put_in(value.assume_init_read()) };
        }
        self.unlock(if is_given { (word & !(OUT | WANTED)) - READER } else { 0 });
        Back { is_given, is_wanted }
    }

    /// Counts one reader out without a look, and returns the value if it was the last.
    ///
    /// The caller is a receiver that has not read `position` yet.
    pub(super) fn skip(&self, position: u64) -> Option<T> {
        let word = self.lock_at(position)?;
        if word >= 2 * READER {
            self.unlock(word - READER);
            return None;
        }
        // SAFETY: we have not counted ourselves out, so it is unread; who has a value out is counted too, and we are the last;
        // the slot is locked.
        let value = unsafe { self.take_out() };
        self.unlock(0);
        Some(value)
    }

    /// Locks the slot if `position` is here, and returns the word without LOCKED.
    ///
    /// The caller is a receiver that has not counted itself out of `position`.
    #[inline]
    fn lock_at(&self, position: u64) -> Option<usize> {
        // Acquire: pairs with the Release in `put`.
        if self.position.load(Ordering::Acquire) != position {
            return None;
        }
        let word = self.lock();
        // Overwritten meanwhile? That takes the lock, as we are counted; so this is the last word.
        if self.position.load(Ordering::Relaxed) != position {
            self.unlock(word);
            return None;
        }
        Some(word)
    }

    /// Returns the word without LOCKED.
    #[inline]
    fn lock(&self) -> usize {
        let mut looks = 0;
        let mut word = self.word.load(Ordering::Relaxed) & !LOCKED;
        // Acquire: pairs with the Release in `unlock`. Not a `fetch_or`: while the slot is locked others write nothing.
        while let Err(seen) =
            self.word.compare_exchange(word, word | LOCKED, Ordering::Acquire, Ordering::Relaxed)
        {
            word = seen & !LOCKED;
            if seen & LOCKED != 0 {
                self.let_others_unlock(&mut looks);
            }
        }
        word
    }

    #[cold]
    fn let_others_unlock(&self, looks: &mut u32) {
        loop {
            *looks += 1;
            if *looks < LOOKS {
                hint::spin_loop();
            } else {
                // Whoever holds it was interrupted.
                thread::yield_now();
            }
            if cfg!(nezumi_loom) || self.word.load(Ordering::Relaxed) & LOCKED == 0 {
                return;
            }
        }
    }

    /// Writes the word: nobody else does while the slot is locked.
    #[inline]
    fn unlock(&self, word: usize) {
        // Release: pairs with the Acquire in `lock` and, if that was the last reader, in `put`; our last touch of the cell.
        self.word.store(word, Ordering::Release);
    }

    /// # Safety
    ///
    /// The cell is full, and the caller's; it is empty after this.
    #[inline]
    unsafe fn take_out(&self) -> T {
        // SAFETY: the caller's promise.
        self.value.with(|cell| unsafe { (*cell).assume_init_read() })
    }

    /// # Safety
    ///
    /// The cell is empty, and the caller's.
    #[inline]
    unsafe fn put_in(&self, value: T) {
        // SAFETY: the caller's promise.
        self.value.with_mut(|cell| unsafe {
            (*cell).write(value);
        });
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        // Nobody is left, and who had a value out held the channel: it is back.
        if self.is_unread() {
            // SAFETY: unread and not out.
            drop(unsafe { self.take_out() });
        }
    }
}
