//! What the models share.

use nezumi_prim::cell::UnsafeCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Polls `future` once, and drops it.
pub(crate) async fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// What is published: loom reports it if it is read and not ordered after the write.
pub(crate) struct Cargo(UnsafeCell<bool>);

// SAFETY: who looks when is what the models are about.
unsafe impl Sync for Cargo {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Cargo {}

impl Cargo {
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new(false))
    }

    pub(crate) fn write(&self) {
        // SAFETY: the models write once.
        self.0.with_mut(|cargo| unsafe { *cargo = true });
    }

    pub(crate) fn look(&self) {
        // SAFETY: the model says that it was written before.
        assert!(self.0.with(|cargo| unsafe { *cargo }));
    }
}
