//! Time: on a clock that stands still wherever that will do, on the real one where the claim is about real threads.

mod budget;
mod interval;
mod noted;
mod panics;
mod paused;
mod real;
mod reset;
mod timeout;
mod types;

use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::time::Duration;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Runs `future` on a single-threaded runtime whose clock stands.
#[track_caller]
fn paused<F: Future>(future: F) -> F::Output {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(future)
}

/// A single-threaded runtime on the real clock.
fn single() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn workers(count: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(count).enable_all().build().unwrap()
}

/// One runtime of each kind.
fn each_kind() -> [Runtime; 3] {
    [single(), workers(1), workers(4)]
}

/// Counts how often it was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Self::default());
        (wakes.clone(), Waker::from(wakes))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once, to wake nobody.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls once with the waker of the task that runs.
async fn poll_here<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}
