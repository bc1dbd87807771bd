//! A runtime, and how it ends.

use super::{Builder, EnterGuard, Handle, RuntimeMetrics};
use crate::scheduler::{current_thread, shutdown};
use crate::task::{Id, JoinHandle};
use nezumi_wake::{coop, entered, rng};
use std::future::Future;
use std::io;
use std::time::Duration;

/// A scheduler with its threads, an I/O driver, timers, and a pool for blocking work.
///
/// Dropping it ends it: tasks are dropped at their next `await`, and the drop waits for blocking work that has started;
/// [`shutdown_timeout`](Self::shutdown_timeout) and [`shutdown_background`](Self::shutdown_background) do not.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Runtime;
///
/// let runtime = Runtime::new().unwrap();
/// let sum = runtime.block_on(async {
///     let (a, b) = (nezumi::spawn(async { 20 }), nezumi::spawn(async { 22 }));
///     a.await.unwrap() + b.await.unwrap()
/// });
/// assert_eq!(sum, 42);
/// ```
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    /// How long the drop waits for blocking work; `None`: until it is done.
    wait: Option<Duration>,
}

impl Runtime {
    pub(super) fn from_handle(handle: Handle) -> Self {
        Self { handle, wait: None }
    }

    /// A multi-threaded runtime with everything enabled and one worker per core.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread or the I/O driver's descriptors.
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    /// A handle to this runtime.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task. It runs whether the handle is awaited or not; on a current-thread runtime only while somebody is in
    /// [`block_on`](Self::block_on).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs `func` on a thread where it may block.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(func)
    }

    /// Runs `future` on this thread to its end, and the runtime with it.
    ///
    /// On a current-thread runtime this is what drives tasks, timers and I/O. On a multi-threaded one the workers do.
    ///
    /// # Panics
    ///
    /// When `future` does, and within asynchronous code, which may not block.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on(&self.handle, future)
    }

    /// Enters the runtime on this thread. See [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Ends the runtime and waits for blocking work, `duration` at the most. What is not done by then goes on in the background.
    ///
    /// # Panics
    ///
    /// Within asynchronous code, unless `duration` is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// let runtime = nezumi::runtime::Runtime::new().unwrap();
    /// runtime.spawn_blocking(|| std::thread::sleep(Duration::from_secs(10)));
    /// runtime.shutdown_timeout(Duration::from_millis(10));
    /// ```
    #[track_caller]
    pub fn shutdown_timeout(mut self, duration: Duration) {
        // The drop does it.
        self.wait = Some(duration);
    }

    /// Ends the runtime and waits for nothing, so that it can be called within asynchronous code.
    pub fn shutdown_background(mut self) {
        self.wait = Some(Duration::ZERO);
    }

    /// What the runtime tells about itself.
    #[must_use]
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

impl Drop for Runtime {
    #[track_caller]
    fn drop(&mut self) {
        shut_down(&self.handle, self.wait);
    }
}

impl std::panic::UnwindSafe for Runtime {}
impl std::panic::RefUnwindSafe for Runtime {}

/// Runs `future` with the runtime's own scheduler.
#[track_caller]
pub(super) fn block_on<F: Future>(handle: &Handle, future: F) -> F::Output {
    let multi_thread = handle.shared().is_multi_thread();
    let _entered = super::enter_or_panic(multi_thread);
    let _seed = rng::seed(handle.shared().config.seeds.next());
    let _guard = handle.enter();
    let future = nezumi_trace::block_on(|| Id::next().as_u64(), future);
    if multi_thread { nezumi_wake::block_on(future) } else { handle.block_on_core(future) }
}

/// Ends the runtime. Idempotent, and so is the wait.
#[track_caller]
pub(super) fn shut_down(handle: &Handle, wait: Option<Duration>) {
    let shared = handle.shared();
    let may_block = entered::may_block();
    if shared.is_multi_thread() {
        shutdown::begin(shared);
    } else {
        coop::with_unconstrained(|| current_thread::shut_down(handle));
    }
    // Where this must not block the pool is told all the same, so that its threads end when they can.
    shared.blocking.shutdown(if may_block { wait } else { Some(Duration::ZERO) });
    shutdown::join_watch(shared, wait.is_none() && may_block);
    if wait != Some(Duration::ZERO) && !may_block && !std::thread::panicking() {
        panic!(
            "Cannot drop a runtime in a context where blocking is not allowed. This happens when a runtime is dropped from within an \
             asynchronous context. Use `shutdown_background`, or drop it in `spawn_blocking`."
        );
    }
}
