//! What every queue of waiters here does with wakers: keep them under its lock, and run them outside of it.

use nezumi_prim::cell::UnsafeCell;
use nezumi_wake::{FirstPanic, WakeList};
use std::task::Waker;

/// The waker of one waiter, guarded by the lock of the queue that the waiter is in.
pub(crate) struct WakerSlot(UnsafeCell<Option<Waker>>);

// SAFETY: a waker may be used and dropped on any thread; all access is under the contract of the methods.
unsafe impl Send for WakerSlot {}
// SAFETY: as above.
unsafe impl Sync for WakerSlot {}

impl WakerSlot {
    #[inline]
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// Takes the waker out.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the queue.
    pub(crate) unsafe fn take(&self) -> Option<Waker> {
        // SAFETY: handed on; the lock excludes every other access.
        self.0.with_mut(|waker| unsafe { (*waker).take() })
    }

    /// Puts another waker in, and returns the former one, to be dropped after the lock.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    pub(crate) unsafe fn replace(&self, fresh: Option<Waker>) -> Option<Waker> {
        // SAFETY: handed on.
        self.0.with_mut(|waker| unsafe { std::mem::replace(&mut *waker, fresh) })
    }

    /// Whether the waker in here wakes the same task as `waker`. Compares two pointers, and runs no code of the user's.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    pub(crate) unsafe fn would_wake(&self, waker: &Waker) -> bool {
        // SAFETY: handed on.
        self.0.with(|mine| unsafe { (*mine).as_ref().is_some_and(|mine| mine.will_wake(waker)) })
    }
}

/// To free it is to touch it: loom reports whoever is not done with it.
#[cfg(nezumi_loom)]
impl Drop for WakerSlot {
    fn drop(&mut self) {
        self.0.with_mut(|_| {});
    }
}

/// Wakers to be woken once the lock is released, batch by batch.
///
/// A waker that panics between two batches must not keep the rest of the queue from being served: its panic waits until
/// the last batch is woken.
pub(crate) struct Batches {
    list: WakeList,
    panics: FirstPanic,
}

impl Batches {
    pub(crate) fn new() -> Self {
        Self { list: WakeList::new(), panics: FirstPanic::new() }
    }

    pub(crate) fn has_room(&self) -> bool {
        // Under the model checker a batch is one waker, so that it sees what happens between batches.
        if cfg!(nezumi_loom) { self.list.is_empty() } else { self.list.can_push() }
    }

    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.list.push(waker);
        }
    }

    /// Wakes this batch; another one will come.
    pub(crate) fn wake(&mut self) {
        self.panics.run(|| self.list.wake_all());
    }

    /// Wakes the last batch, and lets the first panic go on.
    pub(crate) fn wake_last(mut self) {
        self.wake();
        self.panics.resume();
    }
}
