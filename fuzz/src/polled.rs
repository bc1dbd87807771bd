//! Futures that are polled by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Whether a future was woken since it was last polled.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A future, and whether it was woken.
pub(crate) struct Polled<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    woken: Arc<Woken>,
}

impl<T> Polled<T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'static) -> Self {
        Polled { future: Box::pin(future), woken: Arc::default() }
    }

    /// Polls, whether it was woken or not.
    pub(crate) fn poll(&mut self) -> Poll<T> {
        self.woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(self.woken.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::Relaxed)
    }
}

/// What one poll of it comes to. It is dropped after that.
pub(crate) fn once<T>(future: impl Future<Output = T>) -> Poll<T> {
    std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls until it is ready; each `Pending` must have been followed by a wake, for nobody else is there.
pub(crate) fn to_the_end<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        assert!(woken.0.swap(false, Ordering::Relaxed), "pending, and nobody will wake it");
    }
}
