//! Futures polled by hand, one step at a time.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Polls once, with a waker that does nothing.
pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The output of a future that completes within `most` polls.
pub(crate) fn run_within<F: Future>(most: usize, future: F) -> F::Output {
    let mut future = pin!(future);
    for _ in 0..most {
        if let Poll::Ready(output) = poll(future.as_mut()) {
            return output;
        }
    }
    panic!("still pending after {most} polls");
}

/// The output of a future that completes at once.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    run_within(1, future)
}

/// A gate that futures wait at until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Rc<Cell<bool>>);

impl Gate {
    pub(crate) fn open(&self) {
        self.0.set(true);
    }

    pub(crate) async fn pass(&self) {
        std::future::poll_fn(|_| if self.0.get() { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<Vec<u32>>>);

impl Log {
    pub(crate) fn push(&self, entry: u32) {
        self.0.borrow_mut().push(entry);
    }

    pub(crate) fn take(&self) -> Vec<u32> {
        self.0.take()
    }

    /// Notes each of its polls as `id`, and completes at the last of `polls`.
    pub(crate) async fn polled(&self, id: u32, polls: u32) -> u32 {
        let mut left = polls;
        std::future::poll_fn(|_| {
            self.push(id);
            left -= 1;
            if left == 0 { Poll::Ready(id) } else { Poll::Pending }
        })
        .await
    }

    /// Notes `id` when it is dropped.
    pub(crate) fn dropped(&self, id: u32) -> impl Drop + use<> {
        struct Dropped(Log, u32);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.push(self.1);
            }
        }
        Dropped(self.clone(), id)
    }
}

/// Not a future, but soon one.
pub(crate) struct Soon<T>(pub(crate) T);

impl<T> IntoFuture for Soon<T> {
    type Output = T;
    type IntoFuture = std::future::Ready<T>;

    fn into_future(self) -> Self::IntoFuture {
        std::future::ready(self.0)
    }
}
