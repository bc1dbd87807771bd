//! A set of tasks that end in whatever order.
//!
//! Called by programs. Each task's join waker puts the task's key on a list of those that are ready, so that `join_next` looks only at
//! what has ended, never at all of them.
//!
//! Promise: each output comes out once; dropping the set aborts what is left; a wake costs one short lock, and no user code runs under it.
//!
//! Tests: `tests/it/join_set.rs`.

mod builder;
pub use builder::Builder;

use super::local_set::{self, LocalSet};
use crate::runtime::Handle;
use crate::scheduler::spawn;
use crate::task::{AbortHandle, Id, JoinError, JoinHandle, Origin};
use nezumi_prim::sync::Mutex;
use nezumi_wake::coop;
use slab::Slab;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

/// A set of tasks whose outputs all have the type `T`, to be awaited in the order in which they end.
///
/// Dropping the set aborts the tasks in it; [`detach_all`](Self::detach_all) lets them go on.
///
/// # Examples
///
/// ```
/// use nezumi::task::JoinSet;
///
/// # #[nezumi::main]
/// # async fn main() {
/// let mut set = JoinSet::new();
/// for i in 0..10 {
///     set.spawn(async move { i * i });
/// }
/// let mut sum = 0;
/// while let Some(square) = set.join_next().await {
///     sum += square.unwrap();
/// }
/// assert_eq!(sum, 285);
/// # }
/// ```
pub struct JoinSet<T> {
    tasks: Slab<Member<T>>,
    ready: Arc<Ready>,
}

struct Member<T> {
    handle: JoinHandle<T>,
    /// The member's entry in the list, as its waker knows it.
    bell: Arc<Bell>,
}

/// Whose tasks have ended, and who waits for that.
#[derive(Default)]
struct Ready(Mutex<Ended>);

#[derive(Default)]
struct Ended {
    keys: VecDeque<usize>,
    waker: Option<Waker>,
}

impl Ready {
    fn push(&self, key: usize) {
        let waker = {
            let mut ended = self.0.lock();
            ended.keys.push_back(key);
            ended.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn pop(&self) -> Option<usize> {
        self.0.lock().keys.pop_front()
    }

    /// The next key, or none: then `waker` is woken when there is one.
    ///
    /// A waker that stood there before is dropped last of all: what its drop brings about is for the next call to see.
    fn pop_or_wait(&self, waker: &Waker) -> Option<usize> {
        {
            let mut ended = self.0.lock();
            if let Some(key) = ended.keys.pop_front() {
                return Some(key);
            }
            if ended.waker.as_ref().is_some_and(|former| former.will_wake(waker)) {
                return None;
            }
        }
        let waker = waker.clone();
        let mut ended = self.0.lock();
        let key = ended.keys.pop_front();
        let unused = if key.is_some() { Some(waker) } else { ended.waker.replace(waker) };
        drop(ended);
        drop(unused);
        key
    }
}

/// The join waker of one member.
struct Bell {
    key: usize,
    /// One ring only: a bell that was rung after its member left would name another.
    rung: Mutex<bool>,
    ready: Arc<Ready>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !std::mem::replace(&mut *self.rung.lock(), true) {
            self.ready.push(self.key);
        }
    }
}

impl<T> JoinSet<T> {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self { tasks: Slab::new(), ready: Arc::default() }
    }

    /// How many tasks are in the set, also of those that have ended and were not taken out.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

impl<T: 'static> JoinSet<T> {
    /// Settings for a task that is spawned on the set: its name, its priority.
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder::new(self)
    }

    /// Spawns a task on the runtime of this thread.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn(task))
    }

    /// Spawns a task on the runtime of `handle`.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Spawns a task that is not `Send` on the `LocalSet` or the local runtime of this thread.
    ///
    /// # Panics
    ///
    /// Outside of both.
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set::spawn_local(task))
    }

    /// Spawns a task that is not `Send` on `local_set`.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Runs `f` on a thread where it may block.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn_blocking(f))
    }

    /// Runs `f` on a thread of the runtime of `handle` where it may block.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(f))
    }

    pub(super) fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let place = self.tasks.vacant_entry();
        let bell =
            Arc::new(Bell { key: place.key(), rung: Mutex::new(false), ready: Arc::clone(&self.ready) });
        let waker = Waker::from(Arc::clone(&bell));
        let member = place.insert(Member { handle, bell });
        if member.handle.poll_complete(&waker).is_ready() {
            waker.wake();
        }
        abort
    }

    /// The output of a member whose key `next` gives. A key whose member has left since is passed over.
    fn take_next(&mut self, next: impl Fn(&Ready) -> Option<usize>) -> Option<(Id, Result<T, JoinError>)> {
        loop {
            let key = next(&self.ready)?;
            if let Some(member) = self.tasks.try_remove(key) {
                debug_assert!(member.handle.is_finished());
                return Some((member.handle.id(), member.handle.take_output()));
            }
        }
    }

    /// Waits for the next task to end. `None` when the set is empty.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has taken nothing out.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Like [`join_next`](Self::join_next), with the task's id.
    ///
    /// # Cancel safety
    ///
    /// As for [`join_next`](Self::join_next).
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Takes out a task that has ended already, if there is one.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        coop::with_unconstrained(|| self.take_next(Ready::pop)).map(|(_, result)| result)
    }

    /// Like [`try_join_next`](Self::try_join_next), with the task's id.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.take_next(Ready::pop).map(|(id, result)| result.map(|output| (id, output)))
    }

    /// Aborts all tasks and waits until they have ended, dropping what they returned.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks, and returns their outputs in the order in which they ended.
    ///
    /// # Panics
    ///
    /// When one of the tasks did, or was aborted; the others are aborted then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use nezumi::task::JoinSet;
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let set: JoinSet<u32> = (0..3).map(|i| async move { i }).collect();
    /// let mut outputs = set.join_all().await;
    /// outputs.sort();
    /// assert_eq!(outputs, [0, 1, 2]);
    /// # }
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result {
                Ok(output) => outputs.push(output),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => panic!("{error}"),
            }
        }
        outputs
    }

    /// Aborts all tasks. They stay in the set, to be joined with the error that says so.
    pub fn abort_all(&mut self) {
        for (_, member) in &self.tasks {
            member.handle.abort();
        }
    }

    /// Takes all tasks out without aborting them.
    pub fn detach_all(&mut self) {
        for member in self.tasks.drain() {
            *member.bell.rung.lock() = true;
        }
        self.ready.0.lock().keys.clear();
    }

    /// Polls for the next task to end; `Ready(None)` when the set is empty.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_any(cx).map(|next| next.map(|(_, result)| result))
    }

    /// Like [`poll_join_next`](Self::poll_join_next), with the task's id.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        self.poll_any(cx).map(|next| next.map(|(id, result)| result.map(|output| (id, output))))
    }

    fn poll_any(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Id, Result<T, JoinError>)>> {
        if self.tasks.is_empty() {
            return Poll::Ready(None);
        }
        let coop = ready!(coop::poll_proceed(cx));
        let next = self.take_next(|ready| ready.pop_or_wait(cx.waker()));
        match next {
            Some(next) => {
                coop.made_progress();
                Poll::Ready(Some(next))
            }
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        for member in self.tasks.drain() {
            *member.bell.rung.lock() = true;
            member.handle.abort();
        }
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Spawns each future on the runtime of this thread.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}

/// Spawns each future on the runtime of this thread.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

/// Spawns with an origin that the builder has filled.
pub(super) fn spawn_with<F>(future: F, origin: Origin<'_>, handle: Option<&Handle>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match handle {
        Some(handle) => spawn::on(handle.shared(), future, origin),
        None => super::spawn::with_origin(future, origin),
    }
}
