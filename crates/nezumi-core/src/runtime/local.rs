//! A runtime that stays on one thread, and so takes futures that are not `Send`.

use super::{Builder, EnterGuard, Handle, RuntimeMetrics};
use crate::scheduler::spawn;
use crate::task::{JoinHandle, Origin};
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::time::Duration;

/// Options of [`Builder::build_local`]. There are none yet.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Builder, LocalOptions};
///
/// let rt = Builder::new_current_thread().build_local(LocalOptions::default()).unwrap();
/// assert_eq!(rt.block_on(async { *nezumi::task::spawn_local(async { std::rc::Rc::new(7) }).await.unwrap() }), 7);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LocalOptions {
    _not_send: PhantomData<*mut ()>,
}

/// A current-thread runtime that belongs to the thread which made it. Any task on it may spawn futures that are not `Send`.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::LocalRuntime;
/// use std::rc::Rc;
///
/// let runtime = LocalRuntime::new().unwrap();
/// let value = Rc::new(7);
/// let task = runtime.spawn_local(async move { *value });
/// assert_eq!(runtime.block_on(task).unwrap(), 7);
/// ```
#[derive(Debug)]
pub struct LocalRuntime {
    handle: Handle,
    /// How long the drop waits for blocking work; `None`: until it is done.
    wait: Option<Duration>,
    _not_send: PhantomData<*mut ()>,
}

impl LocalRuntime {
    pub(super) fn from_handle(handle: Handle) -> Self {
        Self { handle, wait: None, _not_send: PhantomData }
    }

    /// A runtime with everything enabled.
    ///
    /// # Errors
    ///
    /// When the system refuses the I/O driver's descriptors.
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
    }

    /// A handle to this runtime. What is spawned through it must be `Send`.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task that need not be `Send`. It runs while somebody is in [`block_on`](Self::block_on).
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawn::local(&self.handle, future, Origin::here())
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

    /// Runs `future` and the tasks of the runtime on this thread, until `future` is done.
    ///
    /// # Panics
    ///
    /// When `future` does, and within asynchronous code.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        super::runtime::block_on(&self.handle, future)
    }

    /// Enters the runtime on this thread. See [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Ends the runtime and waits for blocking work, `duration` at the most.
    #[track_caller]
    pub fn shutdown_timeout(mut self, duration: Duration) {
        // The drop does it.
        self.wait = Some(duration);
    }

    /// Ends the runtime and waits for nothing.
    pub fn shutdown_background(mut self) {
        self.wait = Some(Duration::ZERO);
    }

    /// What the runtime tells about itself.
    #[must_use]
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

impl Drop for LocalRuntime {
    #[track_caller]
    fn drop(&mut self) {
        super::runtime::shut_down(&self.handle, self.wait);
    }
}

impl std::panic::UnwindSafe for LocalRuntime {}
impl std::panic::RefUnwindSafe for LocalRuntime {}

/// Spawns a future that is not `Send` on the local runtime that this thread has entered; gives it back where there is none.
///
/// # Panics
///
/// When that runtime is another thread's.
#[track_caller]
pub(crate) fn spawn_on_current<F>(future: F, origin: Origin<'_>) -> Result<JoinHandle<F::Output>, F>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let Ok(handle) = Handle::try_current() else { return Err(future) };
    let Some(thread) = handle.shared().config.local_to else { return Err(future) };
    assert!(
        thread == std::thread::current().id(),
        "Local tasks can only be spawned on a LocalRuntime from the thread the runtime was created on"
    );
    Ok(spawn::local(&handle, future, origin))
}
