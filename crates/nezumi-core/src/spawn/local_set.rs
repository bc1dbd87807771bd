//! Tasks that stay on one thread, within a runtime that may have many.
//!
//! Called by programs, and by the wakers of local tasks. A local set is a scheduler of its own, that runs while somebody polls it: 61 tasks
//! at a time, with the queue of remote wakes first at every 31st. Its queue is plain; wakes from other threads go to a second one, behind a
//! lock, and wake the task that polls the set.
//!
//! Promise: a local future is polled and dropped on the set's thread alone; dropping the set drops them all; a wake from anywhere, at any time,
//! is safe, and after the set is gone does nothing.
//!
//! Tests: `tests/it/local_set.rs`.

use crate::runtime::{self, Runtime, UnhandledPanic};
use crate::task::{self, Header, JoinHandle, Origin, Registry, Runnable, Schedule, TaskRef};
use nezumi_prim::sync::Mutex;
use nezumi_trace::Kind;
use nezumi_wake::{AtomicWaker, coop, entered};
use pin_project_lite::pin_project;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Tasks in one tick.
const TASKS_PER_TICK: u32 = 61;
/// How often the remote queue goes first.
const REMOTE_EVERY: u32 = 31;

/// A set of tasks that run on one thread and so need not be `Send`.
///
/// It runs while it is awaited, or while a future runs in [`run_until`](Self::run_until) or [`block_on`](Self::block_on).
///
/// # Examples
///
/// ```
/// use nezumi::task::{self, LocalSet};
/// use std::rc::Rc;
///
/// # #[nezumi::main]
/// # async fn main() {
/// let shared = Rc::new("not Send");
/// let local = LocalSet::new();
/// local
///     .run_until(async move {
///         let task = task::spawn_local(async move { shared.len() });
///         assert_eq!(task.await.unwrap(), 8);
///     })
///     .await;
/// # }
/// ```
pub struct LocalSet {
    shared: Arc<Shared>,
    _not_send: PhantomData<*const ()>,
}

/// What tasks and wakers know of their set.
struct Shared {
    /// The thread that made the set, as [`this_thread`] knows it.
    owner: usize,
    id: runtime::Id,
    own: Own,
    /// `None` once the set is gone.
    remote: Mutex<Option<VecDeque<Runnable>>>,
    /// The task that polls the set.
    waker: AtomicWaker,
    registry: Registry,
}

/// What only the owner touches.
struct Own {
    queue: RefCell<VecDeque<Runnable>>,
    tick: Cell<u32>,
    alive: Cell<usize>,
    /// The set's tasks are being run now: what is pushed is seen without a wake.
    running: Cell<bool>,
    closed: Cell<bool>,
    shutdown_on_panic: Cell<bool>,
    panicked: Cell<bool>,
}

// SAFETY: `own`, and the owner's part of `registry`, are touched only on the owner's thread: each way to them asks `is_here` first, or
// starts from a `LocalSet`, which is not `Send`. All else is made for sharing.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

thread_local! {
    static CURRENT: Cell<*const Shared> = const { Cell::new(ptr::null()) };
}

/// A number that no other living thread has: the address of a thread-local.
fn this_thread() -> usize {
    CURRENT.with(|cell| ptr::from_ref(cell).addr())
}

/// Makes a set the current one of this thread.
struct Inside(*const Shared);

impl Inside {
    fn new(shared: &Shared) -> Self {
        Self(CURRENT.with(|current| current.replace(shared)))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}

/// The scheduler of one local task.
struct LocalHome(Arc<Shared>);

impl Schedule for LocalHome {
    const KIND: Kind = Kind::Local;
    const REGISTRY_REFS: usize = 1;

    unsafe fn schedule(this: *const Self, runnable: Runnable) {
        // The set, and this home, may go as soon as the runnable is given away.
        // SAFETY: valid until then.
        let shared = unsafe { Arc::clone(&(*this).0) };
        shared.schedule(runnable);
    }

    fn release(&self, task: &Header) -> bool {
        debug_assert!(self.0.is_here());
        self.0.own.alive.set(self.0.own.alive.get() - 1);
        // SAFETY: local tasks complete on the owner's thread.
        unsafe { self.0.registry.remove(task, true) }
    }

    fn panicked(&self) {
        if self.0.own.shutdown_on_panic.get() {
            self.0.own.panicked.set(true);
        }
    }
}

impl Shared {
    fn is_here(&self) -> bool {
        self.owner == this_thread()
    }

    fn schedule(&self, runnable: Runnable) {
        if self.is_here() {
            if self.own.closed.get() {
                return drop(runnable);
            }
            self.own.queue.borrow_mut().push_back(runnable);
            if !self.own.running.get() {
                self.waker.wake();
            }
            return;
        }
        let refused = match &mut *self.remote.lock() {
            Some(queue) => {
                queue.push_back(runnable);
                None
            }
            None => Some(runnable),
        };
        if refused.is_none() {
            self.waker.wake();
        }
    }

    fn next(&self) -> Option<Runnable> {
        let tick = self.own.tick.get().wrapping_add(1);
        self.own.tick.set(tick);
        let local = || self.own.queue.borrow_mut().pop_front();
        let remote = || self.remote.lock().as_mut().and_then(VecDeque::pop_front);
        if tick % REMOTE_EVERY == 0 { remote().or_else(local) } else { local().or_else(remote) }
    }

    /// Runs a bounded number of tasks. Whether there may be more.
    fn tick(&self) -> bool {
        struct Running<'a>(&'a Cell<bool>, bool);

        impl Drop for Running<'_> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }

        let _running = Running(&self.own.running, self.own.running.replace(true));
        for _ in 0..TASKS_PER_TICK {
            assert!(
                !self.own.panicked.get(),
                "a spawned task panicked and the LocalSet is configured to shutdown on unhandled panic"
            );
            match self.next() {
                // Each task has a budget of its own, as on any scheduler.
                Some(runnable) => coop::budget(|| runnable.run()),
                None => return false,
            }
        }
        true
    }

    /// Runs `f` as code of this set.
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let _inside = Inside::new(self);
        let _forbidden = entered::forbid_block_in_place();
        f()
    }
}

impl LocalSet {
    /// An empty set, for this thread.
    #[must_use]
    pub fn new() -> LocalSet {
        let own = Own {
            queue: RefCell::new(VecDeque::new()),
            tick: Cell::new(0),
            alive: Cell::new(0),
            running: Cell::new(false),
            closed: Cell::new(false),
            shutdown_on_panic: Cell::new(false),
            panicked: Cell::new(false),
        };
        let shared = Shared {
            owner: this_thread(),
            id: runtime::Id::next(),
            own,
            remote: Mutex::new(Some(VecDeque::new())),
            waker: AtomicWaker::new(),
            registry: Registry::new(),
        };
        LocalSet { shared: Arc::new(shared), _not_send: PhantomData }
    }

    /// The identity of this set, unique in the process among sets and runtimes.
    #[must_use]
    pub fn id(&self) -> runtime::Id {
        self.shared.id
    }

    /// Makes this the current set of the thread until the guard is dropped, so that `spawn_local` finds it.
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard { _inside: Inside::new(&self.shared), _keep: Arc::clone(&self.shared) }
    }

    /// Spawns a task on the set. It runs once the set does.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.spawn_with(future, Origin::here())
    }

    pub(super) fn spawn_with<F>(&self, future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawn_on(&self.shared, future, origin)
    }

    /// Runs `future` on `rt`, and the tasks of the set with it, until `future` is done.
    ///
    /// # Panics
    ///
    /// Within asynchronous code.
    ///
    /// # Examples
    ///
    /// ```
    /// # use nezumi::{runtime::Runtime, task::{self, LocalSet}};
    /// let runtime = Runtime::new().unwrap();
    /// let local = LocalSet::new();
    /// local.block_on(&runtime, async { task::spawn_local(async {}).await.unwrap() });
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, rt: &Runtime, future: F) -> F::Output {
        rt.block_on(self.run_until(future))
    }

    /// Runs `future`, and the tasks of the set with it, until `future` is done. What is still in the set then goes on when the set runs again.
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops `future`; the set's tasks stay.
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        RunUntil { set: self, future }.await
    }

    /// What happens when a task of the set panics.
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        self.shared.own.shutdown_on_panic.set(matches!(behavior, UnhandledPanic::ShutdownRuntime));
        self
    }

    /// The set's id.
    #[doc(hidden)]
    #[must_use]
    pub fn is_current(&self) -> bool {
        CURRENT.with(|current| ptr::eq(current.get(), &raw const *self.shared))
    }
}

fn spawn_on<F>(shared: &Arc<Shared>, future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    debug_assert!(shared.is_here());
    // SAFETY: this is the set's thread: a set is not `Send`, and its tasks are run, dropped and shut down only where `is_here`.
    let (runnable, join) = unsafe { task::new_task(future, LocalHome(Arc::clone(shared)), origin) };
    shared.own.alive.set(shared.own.alive.get() + 1);
    // SAFETY: as above; the task is not shared yet, and one reference was counted for the registry.
    if unsafe { shared.registry.insert(runnable.as_ptr()) }.is_err() {
        // SAFETY: the reference that the registry did not take.
        let registrys = unsafe { TaskRef::from_header(runnable.as_ptr()) };
        runnable.cancel();
        drop(registrys);
        return join;
    }
    shared.schedule(runnable);
    join
}

/// Spawns a task that need not be `Send` on the `LocalSet`, or the local runtime, that runs on this thread.
///
/// # Panics
///
/// Outside of both.
///
/// # Examples
///
/// ```
/// # use nezumi::task::{self, LocalSet};
/// # #[nezumi::main]
/// # async fn main() {
/// LocalSet::new().run_until(async {
///     let not_send = std::rc::Rc::new(1);
///     task::spawn_local(async move { assert_eq!(*not_send, 1) }).await.unwrap();
/// }).await;
/// # }
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    spawn_local_with(future, Origin::here())
}

#[track_caller]
pub(super) fn spawn_local_with<F>(future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let future = match runtime::spawn_local_on_current(future, origin) {
        Ok(handle) => return handle,
        Err(future) => future,
    };
    let current = CURRENT.with(Cell::get);
    assert!(
        !current.is_null(),
        "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`"
    );
    // SAFETY: whoever made it current keeps a strong reference, from an `Arc`, until it no longer is.
    let shared = unsafe {
        Arc::increment_strong_count(current);
        Arc::from_raw(current)
    };
    spawn_on(&shared, future, origin)
}

pin_project! {
    struct RunUntil<'a, F> {
        set: &'a LocalSet,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for RunUntil<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let shared = &this.set.shared;
        shared.enter(|| {
            shared.waker.register(cx.waker());
            if let Poll::Ready(output) = this.future.poll(cx) {
                return Poll::Ready(output);
            }
            if shared.tick() {
                // More to do: let others run first.
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        })
    }
}

/// Done when all tasks of the set are.
impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let shared = &self.shared;
        shared.waker.register(cx.waker());
        if shared.enter(|| shared.tick()) {
            cx.waker().wake_by_ref();
            Poll::Pending
        } else if shared.own.alive.get() == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Default for LocalSet {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        let shared = &self.shared;
        shared.enter(|| {
            // SAFETY: a set is not `Send`: this is its thread.
            unsafe {
                let len = shared.registry.close();
                shared.registry.shut_down(len);
            }
            shared.own.closed.set(true);
            // Taken out first: dropping a task may run code that comes back here.
            let queue = shared.own.queue.take();
            drop(queue);
            let remote = shared.remote.lock().take();
            drop(remote);
        });
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").field("tasks", &self.shared.own.alive.get()).finish()
    }
}

/// The set is current while this stands. Made by [`LocalSet::enter`].
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Builder;
/// use nezumi::task::{LocalSet, spawn_local};
///
/// let rt = Builder::new_current_thread().build().unwrap();
/// let set = LocalSet::new();
/// let task = {
///     let _inside = set.enter();
///     // It runs as soon as the set does.
///     spawn_local(async { 7 })
/// };
/// assert_eq!(set.block_on(&rt, task).unwrap(), 7);
/// ```
pub struct LocalEnterGuard {
    _inside: Inside,
    _keep: Arc<Shared>,
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalEnterGuard")
    }
}
