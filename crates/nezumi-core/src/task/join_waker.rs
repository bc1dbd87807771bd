//! Where a join handle leaves its waker.
//!
//! Called by `join` (sets, takes back) and `run` (reads at completion, takes). Who may do what when is said by the state word: the table in
//! [`task`](super), row *join waker*.
//!
//! A waker is two pointers, each an atomic here, so that one may look at it while the other may be changing it, and find out by a
//! compare-exchange of the state word afterwards whether the look was any good: that is how a task is completed, takes the waker, and gives
//! up its references in one read-modify-write (`State::end`), and how a handle that is polled again with the same waker writes nothing.

use nezumi_prim::sync::atomic::{AtomicPtr, Ordering};
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{RawWakerVTable, Waker};

/// A waker, or none.
pub(super) struct JoinWaker {
    data: AtomicPtr<()>,
    /// Null if there is none.
    vtable: AtomicPtr<RawWakerVTable>,
}

impl JoinWaker {
    pub(super) fn none() -> Self {
        Self { data: AtomicPtr::default(), vtable: AtomicPtr::default() }
    }

    /// Puts a waker in, over whatever is there.
    ///
    /// All accesses are Relaxed: the state word publishes.
    pub(super) fn put(&self, waker: Waker) {
        let waker = ManuallyDrop::new(waker);
        self.data.store(waker.data().cast_mut(), Ordering::Relaxed);
        self.vtable.store(ptr::from_ref(waker.vtable()).cast_mut(), Ordering::Relaxed);
    }

    /// Whether this is the waker that is there. An answer from a moment at which it changes may be wrong only if nobody relies on it: see the
    /// callers.
    pub(super) fn is(&self, waker: &Waker) -> bool {
        ptr::eq(self.data.load(Ordering::Relaxed), waker.data())
            && ptr::eq(self.vtable.load(Ordering::Relaxed), waker.vtable())
    }

    /// A copy of what is there, which is a waker only if the caller comes to own it.
    pub(super) fn look(&self) -> Look {
        Look { data: self.data.load(Ordering::Relaxed), vtable: self.vtable.load(Ordering::Relaxed) }
    }

    /// Takes the waker out.
    ///
    /// # Safety
    ///
    /// The caller owns the field.
    pub(super) unsafe fn take(&self) -> Option<Waker> {
        let look = self.look();
        if look.vtable.is_null() {
            return None;
        }
        self.vtable.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the caller owns the field, so that this is the waker which `put` left.
        Some(unsafe { look.into_waker() })
    }
}

/// What was there at some moment, or two.
pub(super) struct Look {
    data: *mut (),
    vtable: *mut RawWakerVTable,
}

impl Look {
    /// # Safety
    ///
    /// Both parts are of one waker, which was left by [`put`](JoinWaker::put) and has become the caller's.
    pub(super) unsafe fn into_waker(self) -> Waker {
        // SAFETY: the caller's promise.
        unsafe { Waker::new(self.data, &*self.vtable) }
    }
}
