//! One place in the ring of a broadcast channel: a value, and how many receivers still have to read it.
//!
//! Promise: a value is dropped once, when its last reader is done or a newer value takes its place; nobody writes the cell
//! while another reads it.
//!
//! ```text
//! who                       may touch the cell
//! a reader of `position`    holding `lock`, once it has found its position here, until it has counted itself out
//! the sender                holding the tail's lock and, unless it saw `unread` at 0, `lock`
//! ```
//!
//! A reader counts itself out (Release) as its last touch, so a sender that sees 0 (Acquire) is alone with the cell: whoever
//! might read this position has done so. That spares the sender of a channel that keeps up the second lock.
//!
//! Cloning is the one piece of foreign code that runs under a lock here: `T` need not be `Sync`, so two readers may not
//! clone one value at once. Only readers of that value, and a sender that overwrites it, wait for it.

use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(super) struct Slot<T> {
    /// Which send the value is of. Changed by senders only.
    position: AtomicU64,
    /// How many receivers have not read it yet.
    unread: AtomicUsize,
    lock: Mutex<()>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the cell is reached by one thread at a time (module header), so that it may hold whatever may change threads.
unsafe impl<T: Send> Send for Slot<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    /// An empty one, as if `position` had been read by all.
    pub(super) fn new(position: u64) -> Self {
        Self {
            position: AtomicU64::new(position),
            unread: AtomicUsize::new(0),
            lock: Mutex::new(()),
            value: UnsafeCell::new(None),
        }
    }

    /// Whether some receiver still has to read it.
    pub(super) fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Acquire) != 0
    }

    /// Puts in a value for `readers` receivers, and returns the one of before, if it was not read by all.
    ///
    /// # Safety
    ///
    /// The caller holds the tail's lock, and `readers` receivers wait for `position`.
    #[must_use = "the old value is dropped under no lock"]
    pub(super) unsafe fn put(&self, position: u64, readers: usize, value: T) -> Option<T> {
        // Acquire: pairs with the Release of the last reader.
        let held = (self.unread.load(Ordering::Acquire) != 0).then(|| self.lock.lock());
        // SAFETY: either all readers of the old position are done, or we hold the lock; no other sender is here.
        let old = self.value.with_mut(|cell| unsafe { (*cell).replace(value) });
        self.unread.store(readers, Ordering::Relaxed);
        // Release: pairs with the Acquire in `read`; publishes the value and the count.
        self.position.store(position, Ordering::Release);
        drop(held);
        old
    }

    /// Lets `look` have the value of `position`, and counts one reader out, even if `look` panics. `None` if another value is
    /// here.
    ///
    /// The caller is a receiver that has not read `position` yet.
    pub(super) fn read<R>(&self, position: u64, look: impl FnOnce(&T) -> R) -> Option<R> {
        // Acquire: pairs with the Release in `put`.
        if self.position.load(Ordering::Acquire) != position {
            return None;
        }
        // Dropped after the lock, as the last one in drops first.
        let mut last = None;
        let held = self.lock.lock();
        // Overwritten meanwhile? That takes the lock, as we have not read the value; so this is the last word.
        if self.position.load(Ordering::Relaxed) != position {
            return None;
        }
        let reader = Reader { slot: self, last: &mut last };
        // SAFETY: `position` is here and we have not counted ourselves out: the table in the module header.
        let seen = self.value.with(|cell| unsafe { (*cell).as_ref() }.map(look));
        drop(reader);
        drop(held);
        drop(last);
        seen
    }

    /// Counts one reader out without a look, and returns the value if it was the last.
    ///
    /// The caller is a receiver that has not read `position` yet.
    pub(super) fn skip(&self, position: u64) -> Option<T> {
        let mut last = None;
        // Acquire: as in `read`.
        if self.position.load(Ordering::Acquire) == position {
            let held = self.lock.lock();
            if self.position.load(Ordering::Relaxed) == position {
                drop(Reader { slot: self, last: &mut last });
            }
            drop(held);
        }
        last
    }
}

/// A receiver that holds the slot's lock. It is counted out when this is dropped.
struct Reader<'a, T> {
    slot: &'a Slot<T>,
    last: &'a mut Option<T>,
}

impl<T> Drop for Reader<'_, T> {
    fn drop(&mut self) {
        // Relaxed: changed under the lock, once the value is in.
        let unread = self.slot.unread.load(Ordering::Relaxed) - 1;
        if unread == 0 {
            // SAFETY: the lock is held, and we have not counted ourselves out.
            *self.last = self.slot.value.with_mut(|cell| unsafe { (*cell).take() });
        }
        // Release: pairs with the Acquire in `put`; our last touch of the cell.
        self.slot.unread.store(unread, Ordering::Release);
    }
}
