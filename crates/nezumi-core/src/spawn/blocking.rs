//! `spawn_blocking`, and what the pool of blocking threads runs.

use crate::blocking::{Duty, Host, Job, SpawnError};
use crate::runtime::{EnterGuard, Handle, NO_RUNTIME};
use crate::scheduler::thread;
use crate::task::{self, Header, JoinHandle, Origin, Runnable, Schedule};
use nezumi_wake::coop;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a thread of the pool can be given to do.
pub(crate) enum BlockingJob {
    /// A closure, wrapped in a task for its handle.
    Closure { runnable: Runnable, _inhibit: ClockInhibit },
    /// To be a worker.
    Worker { handle: Handle, index: usize },
}

impl Job for BlockingJob {
    fn run(self) {
        match self {
            BlockingJob::Closure { runnable, .. } => coop::with_unconstrained(|| runnable.run()),
            BlockingJob::Worker { handle, index } => thread::drive(&handle, index),
        }
    }

    fn cancel(self) {
        match self {
            BlockingJob::Closure { runnable, .. } => runnable.cancel(),
            // The runtime is shutting down: the worker must leave all the same.
            BlockingJob::Worker { handle, index } => thread::drive(&handle, index),
        }
    }

    fn is_resident(&self) -> bool {
        matches!(self, BlockingJob::Worker { .. })
    }
}

impl Host for Handle {
    type Entered = EnterGuard<'static>;

    fn enter(&self) -> EnterGuard<'static> {
        EnterGuard::new(self.clone())
    }

    fn is_ending(&self) -> bool {
        self.shared().is_shutting_down()
    }
}

/// While a blocking task waits or runs, a paused clock does not move by itself.
pub(crate) struct ClockInhibit(Handle);

impl ClockInhibit {
    fn new(handle: &Handle) -> Self {
        handle.shared().clock.inhibit_auto_advance();
        Self(handle.clone())
    }
}

impl Drop for ClockInhibit {
    fn drop(&mut self) {
        let shared = self.0.shared();
        shared.clock.allow_auto_advance();
        if shared.clock.is_paused() {
            // The runtime may be asleep until this very moment.
            shared.wake_core();
        }
    }
}

/// The scheduler of a task that is a closure: it runs once, on the thread that the pool gives it, and is never woken.
struct Once;

impl Schedule for Once {
    const REGISTRY_REFS: usize = 0;

    unsafe fn schedule(_this: *const Self, runnable: Runnable) {
        // An abort of a task that is queued does not come here (it is notified), and one that runs is not polled again.
        drop(runnable);
    }

    fn release(&self, _task: &Header) -> bool {
        false
    }
}

/// A closure as a future that is ready at its first poll.
struct Closure<F>(Option<F>);

impl<F> Unpin for Closure<F> {}

impl<F: FnOnce() -> R, R> Future for Closure<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<R> {
        let func = self.0.take().expect("a closure is run once");
        Poll::Ready(func())
    }
}

/// Runs `func` on a thread of the blocking pool, where it may block: files, locks, long computations.
///
/// The pool grows to `Builder::max_blocking_threads`; beyond that, closures wait in line. A closure that has started cannot be aborted, and
/// a runtime that is dropped waits for it.
///
/// # Panics
///
/// Outside a runtime; and when the system refuses to start the first thread of the pool.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// let digest = nezumi::task::spawn_blocking(|| (0..1_000_000u64).fold(0, |a, b| a ^ b.wrapping_mul(31)));
/// println!("{}", digest.await.unwrap());
/// # }
/// ```
#[track_caller]
pub fn spawn_blocking<F, R>(func: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    match Handle::try_current() {
        Ok(handle) => spawn_on(&handle, func, Origin::here()),
        Err(_) => panic!("{NO_RUNTIME}"),
    }
}

/// Runs `func` on a blocking thread of this runtime.
#[track_caller]
pub(crate) fn spawn_on<F, R>(handle: &Handle, func: F, origin: Origin<'_>) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    match try_spawn_on(handle, func, origin) {
        Ok(join) => join,
        Err(error) => panic!("OS can't spawn worker thread: {error}"),
    }
}

/// Runs `func` on a blocking thread of this runtime.
///
/// # Errors
///
/// When there is no thread and the system refuses one.
pub(crate) fn try_spawn_on<F, R>(
    handle: &Handle,
    func: F,
    origin: Origin<'_>,
) -> std::io::Result<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (join, outcome) = submit(handle, func, origin, Duty::Optional);
    outcome.map(|_| join)
}

/// Like `spawn_blocking`, but the closure runs also when the runtime shuts down first. `None` when it is too late for that.
///
/// For what must not be lost once it was accepted: buffered writes of a file.
#[doc(hidden)]
#[track_caller]
pub fn spawn_mandatory_blocking<F, R>(func: F) -> Option<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (join, outcome) = submit(&Handle::current(), func, Origin::here(), Duty::Mandatory);
    matches!(outcome, Ok(true)).then_some(join)
}

/// Gives the closure to the pool. `Ok(false)`: the pool is shut down, and the task is cancelled.
fn submit<F, R>(
    handle: &Handle,
    func: F,
    origin: Origin<'_>,
    duty: Duty,
) -> (JoinHandle<R>, std::io::Result<bool>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let future = nezumi_trace::blocking::<F, _>(origin.spawned(), Closure(Some(func)));
    // SAFETY: the closure is `Send` and `'static`.
    let (runnable, join) = unsafe { task::new_traced_task(future, Once, origin) };
    let job = BlockingJob::Closure { runnable, _inhibit: ClockInhibit::new(handle) };
    let outcome = match handle.shared().blocking.spawn(job, duty, handle) {
        Ok(()) => Ok(true),
        Err(SpawnError::ShuttingDown(job)) => {
            job.cancel();
            Ok(false)
        }
        Err(SpawnError::NoThreads(error, job)) => {
            job.cancel();
            Err(error)
        }
    };
    (join, outcome)
}
