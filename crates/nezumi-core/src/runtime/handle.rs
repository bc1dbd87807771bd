//! A handle to a runtime, and what it means to have entered one.

use super::{Flavor, RuntimeFlavor, RuntimeMetrics};
use crate::scheduler::state::State;
use crate::scheduler::{Shard, Shared, context, current_thread, spawn};
use crate::spawn::blocking;
use crate::task::{Id, JoinHandle, Origin};
use nezumi_wake::{entered, rng};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

/// The phrase that programs and logs know, and the cure.
pub(crate) const NO_RUNTIME: &str = "there is no reactor running, must be called from the context of a Tokio 1.x runtime: \
     call it from within a task, `block_on`, or while the guard of `Handle::enter` is held";

/// A handle to a runtime: spawns on it and enters it, from any thread.
///
/// It does not keep the runtime running. Once the runtime has been shut down, what is spawned is cancelled at once.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Handle;
///
/// # #[nezumi::main]
/// # async fn main() {
/// let handle = Handle::current();
/// let answer = std::thread::spawn(move || handle.block_on(async { 42 }));
/// assert_eq!(answer.join().unwrap(), 42);
/// # }
/// ```
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

/// Leaves the runtime when dropped. Made by [`Handle::enter`].
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Handle, Runtime};
///
/// let rt = Runtime::new().unwrap();
/// let inside = rt.enter();
/// let task = nezumi::spawn(async { 7 });
/// drop(inside);
/// assert!(Handle::try_current().is_err());
/// assert_eq!(rt.block_on(task).unwrap(), 7);
/// ```
#[must_use = "the runtime is left when the guard is dropped"]
pub struct EnterGuard<'a> {
    inside: Inside,
    // Where the borrow has no part in what is dropped, the compiler lets it end before the guard does: a runtime may be
    // shut down while its guard still stands.
    _borrow: PhantomData<&'a Handle>,
}

struct Inside {
    former: *const Shard,
    /// How many guards stood when this one was made, itself included.
    depth: usize,
    keep: Handle,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn shared_arc(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The runtime that this thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime. [`try_current`](Self::try_current) does not.
    #[track_caller]
    #[must_use]
    pub fn current() -> Self {
        match Self::try_current() {
            Ok(handle) => handle,
            Err(_) => panic!("{NO_RUNTIME}"),
        }
    }

    /// The runtime that this thread is in.
    ///
    /// # Errors
    ///
    /// Outside a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        context::with(|context| match context.current_shard() {
            Some(shard) => Ok(shard.shared().handle()),
            None => Err(TryCurrentError { kind: Missing::NoContext }),
        })
    }

    /// Enters the runtime on this thread: until the guard is dropped, functions that need "the current runtime" find it.
    ///
    /// # Panics
    ///
    /// Dropping the guards of several calls in another order than the reverse one panics.
    ///
    /// # Examples
    ///
    /// ```
    /// # let runtime = nezumi::runtime::Runtime::new().unwrap();
    /// let _guard = runtime.handle().enter();
    /// nezumi::spawn(async { println!("spawned from a plain function") });
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(self.clone())
    }

    /// Spawns a task on the runtime. It runs whether the handle is awaited or not.
    ///
    /// # Examples
    ///
    /// ```
    /// # let runtime = nezumi::runtime::Runtime::new().unwrap();
    /// let task = runtime.handle().spawn(async { 1 + 1 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn::on(&self.shared, future, Origin::here())
    }

    /// Runs `func` on a thread where it may block.
    ///
    /// # Panics
    ///
    /// When the system refuses to start the first thread of the pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # let runtime = nezumi::runtime::Runtime::new().unwrap();
    /// let task = runtime.handle().spawn_blocking(|| std::fs::read_to_string("/etc/hostname").is_ok());
    /// # runtime.block_on(task).unwrap();
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking::spawn_on(self, func, Origin::here())
    }

    /// Runs `future` on this thread, within the runtime, and waits for it.
    ///
    /// On a current-thread runtime this does not drive I/O, timers or tasks: somebody must be in `Runtime::block_on` for that.
    ///
    /// # Panics
    ///
    /// Within asynchronous code, which may not block; and when a timer or a socket is awaited that the runtime's end has cut off.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _entered = super::enter_or_panic(true);
        let _seed = rng::seed(self.shared.config.seeds.next());
        let _guard = self.enter();
        nezumi_wake::block_on(nezumi_trace::block_on(|| Id::next().as_u64(), future))
    }

    /// Which scheduler the runtime has.
    #[must_use]
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        match self.shared.config.flavor {
            Flavor::CurrentThread => RuntimeFlavor::CurrentThread,
            Flavor::MultiThread => RuntimeFlavor::MultiThread,
        }
    }

    /// The runtime's id.
    #[must_use]
    pub fn id(&self) -> super::Id {
        self.shared.id
    }

    /// The name that the builder gave.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.shared.config.name.as_deref()
    }

    /// What the runtime tells about itself.
    #[must_use]
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::new(self.clone())
    }

    /// What all tasks of the runtime are at: which there are, what each was doing, and where those wait that wait.
    ///
    /// A task tells where it waits by being polled once more, by whichever worker gets to it, in a way in which futures of the runtime answer `Pending` and
    /// have their stacks looked at ([`Trace::capture`](crate::dump::Trace::capture)). A task that is stuck in a poll cannot; of such, what is known without its help is in
    /// [`Dump::all_tasks`](crate::dump::Dump::all_tasks), with the stack of its thread if the program
    /// [allowed that](super::Builder::stuck_backtraces). Tasks of a `LocalSet` are not listed; they appear in the trace of the task that runs the set.
    ///
    /// Nothing stops for it, and it may be called from anywhere: from a task, another runtime, a plain thread. The work is done on a thread that is begun for it. It ends when all
    /// have told, or 250 ms after the last that did: a runtime that is stuck altogether, or that nobody drives, does not keep it waiting. Where the kernel refuses the
    /// system call `membarrier`, as old ones and some sandboxes do, the dump is empty.
    ///
    /// It costs a poll for each task; names are looked up only when a trace is shown. For stacks it needs the feature `taskdump`, and for places debug information in the program:
    /// `debug = "line-tables-only"` in its profile will do, `debug = true` names more.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped but the dump.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::runtime::Handle;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let waits = nezumi::spawn(std::future::pending::<()>());
    /// let dump = Handle::current().dump().await;
    /// assert!(dump.all_tasks().any(|task| task.id() == waits.id()));
    /// println!("{dump}");
    /// # }
    /// ```
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    pub async fn dump(&self) -> crate::dump::Dump {
        crate::dump::dump(self).await
    }

    /// Whether the task is polled only to tell where it waits.
    #[doc(hidden)]
    #[must_use]
    pub fn is_tracing() -> bool {
        nezumi_wake::leaf::is_tracing()
    }

    /// The I/O driver of the runtime.
    ///
    /// # Panics
    ///
    /// When the runtime was built without one.
    #[track_caller]
    #[doc(hidden)]
    #[must_use]
    pub fn io(&self) -> &crate::driver::Handle {
        self.shared.driver.as_ref().expect(
            "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime builder to enable IO.",
        )
    }

    /// Whether this thread is in a runtime. Costs less than [`try_current`](Self::try_current).
    #[doc(hidden)]
    #[must_use]
    pub fn is_entered() -> bool {
        context::with(|context| context.current_shard().is_some())
    }

    /// Whether the runtime was built with I/O enabled.
    #[doc(hidden)]
    #[must_use]
    pub fn has_io(&self) -> bool {
        self.shared.driver.is_some()
    }

    /// Runs `attach` the first time it is called for this runtime, and again if that failed. For what is attached to the driver once.
    ///
    /// # Errors
    ///
    /// Those of `attach`.
    #[doc(hidden)]
    pub fn once_per_runtime(&self, attach: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
        let mut attached = self.shared.signals_attached.lock();
        if !*attached {
            attach()?;
            *attached = true;
        }
        Ok(())
    }

    /// Runs the single-threaded scheduler on this thread until `future` is done.
    #[track_caller]
    pub(crate) fn block_on_core<F: Future>(&self, future: F) -> F::Output {
        current_thread::block_on(self, future)
    }

    /// Whether asynchronous code of a worker may call `block_in_place` here. For tests and tools.
    #[doc(hidden)]
    #[must_use]
    pub fn may_block_in_place() -> bool {
        entered::may_block_in_place()
    }
}

/// With `{:#?}` also what each worker, the queues and the driver are at: for programs that stand still, and whoever looks into them.
impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shows_state = f.alternate();
        let mut handle = f.debug_struct("Handle");
        handle.field("id", &self.id()).field("name", &self.name()).field("flavor", &self.runtime_flavor());
        if shows_state {
            handle.field("state", &State(&self.shared));
        }
        handle.finish()
    }
}

impl std::panic::UnwindSafe for Handle {}
impl std::panic::RefUnwindSafe for Handle {}

// SAFETY: through a shared reference to a guard nothing can be reached but its `Handle`, for `Debug`, and that is `Sync`.
unsafe impl Sync for EnterGuard<'_> {}

impl EnterGuard<'_> {
    pub(crate) fn new(handle: Handle) -> Self {
        let (former, depth) = context::enter_shard(handle.shared.shard_to_enter());
        Self { inside: Inside { former, depth, keep: handle }, _borrow: PhantomData }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if context::with(context::Context::depth) == self.depth {
            context::leave_shard(self.former);
        } else if !std::thread::panicking() {
            panic!(
                "`EnterGuard` values dropped out of order. Guards returned by `tokio::runtime::Handle::enter()` must be dropped \
                 in the reverse order as they were acquired."
            );
        }
    }
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").field("runtime", &self.inside.keep).finish()
    }
}

/// There is no runtime on this thread.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Handle;
///
/// // No runtime has been entered.
/// let error = Handle::try_current().unwrap_err();
/// assert!(error.is_missing_context());
/// ```
#[derive(Debug)]
pub struct TryCurrentError {
    kind: Missing,
}

/// The one cause there is, by Tokio's name, for the `Debug` text.
#[derive(Clone, Copy, Debug)]
enum Missing {
    NoContext,
}

impl TryCurrentError {
    /// Whether the cause is that this thread has entered no runtime. It always is.
    #[must_use]
    pub fn is_missing_context(&self) -> bool {
        matches!(self.kind, Missing::NoContext)
    }

    /// Whether the cause is that the thread is ending and has dropped its thread-locals. It never is: ours have no destructor.
    #[must_use]
    pub fn is_thread_local_destroyed(&self) -> bool {
        false
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NO_RUNTIME)
    }
}

impl Error for TryCurrentError {}
