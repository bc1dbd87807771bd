//! What the models share.

use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Arc;
use nezumi_prim::thread::{self, JoinHandle};
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

/// Handles that are dropped by a thread each, which writes its cargo before.
pub(crate) struct Dropped<const N: usize> {
    did: Arc<[Cargo; N]>,
    threads: [JoinHandle<()>; N],
}

impl<const N: usize> Dropped<N> {
    pub(crate) fn elsewhere<H: Send + 'static>(handles: [H; N]) -> Self {
        let did = Arc::new(std::array::from_fn(|_| Cargo::new()));
        let mut me = 0..N;
        let threads = handles.map(|handle| {
            let (me, did) = (me.next().unwrap(), did.clone());
            thread::spawn(move || {
                Cargo::write(&did[me]);
                drop(handle);
            })
        });
        Self { did, threads }
    }

    /// The model says that all have been dropped.
    pub(crate) fn look(&self) {
        self.did.iter().for_each(Cargo::look);
    }

    pub(crate) fn join(self) {
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}
