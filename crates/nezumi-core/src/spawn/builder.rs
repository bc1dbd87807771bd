//! Tasks with settings.

use super::join_set::spawn_with;
use super::local_set::{self, LocalSet};
use super::{blocking, spawn};
use crate::runtime::Handle;
use crate::task::{JoinHandle, Origin, Priority};
use std::future::Future;
use std::io;

/// Settings of one task, before it is spawned.
///
/// # Examples
///
/// ```
/// use nezumi::task::{self, Priority};
///
/// # #[nezumi::main]
/// # async fn main() {
/// let task = task::Builder::new().name("rebuild-index").priority(Priority::Background).spawn(async { 7 }).unwrap();
/// assert_eq!(task.await.unwrap(), 7);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder<'a> {
    name: Option<&'a str>,
    priority: Option<Priority>,
}

impl<'a> Builder<'a> {
    /// The usual settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the task, for tools.
    #[must_use]
    pub fn name(&self, name: &'a str) -> Self {
        Self { name: Some(name), ..*self }
    }

    /// How soon the task runs when more is runnable than workers are free. If this is not called, the runtime says:
    /// [`default_priority`](crate::runtime::Builder::default_priority), [`inherit_priority`](crate::runtime::Builder::inherit_priority).
    #[must_use]
    pub fn priority(&self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..*self }
    }

    #[track_caller]
    fn origin(&self) -> Origin<'a> {
        Origin { name: self.name, priority: self.priority, ..Origin::here() }
    }

    /// Spawns on the runtime of this thread.
    ///
    /// # Errors
    ///
    /// None at present.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn<Fut>(self, future: Fut) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        Ok(spawn::with_origin(future, self.origin()))
    }

    /// Spawns on the runtime of `handle`.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_on<Fut>(self, future: Fut, handle: &Handle) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        Ok(spawn_with(future, self.origin(), Some(handle)))
    }

    /// Spawns a task that is not `Send` on the `LocalSet` or the local runtime of this thread.
    ///
    /// # Errors
    ///
    /// None at present.
    ///
    /// # Panics
    ///
    /// Outside of both.
    #[track_caller]
    pub fn spawn_local<Fut>(self, future: Fut) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + 'static,
        Fut::Output: 'static,
    {
        Ok(local_set::spawn_local_with(future, self.origin()))
    }

    /// Spawns a task that is not `Send` on `local_set`.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_local_on<Fut>(self, future: Fut, local_set: &LocalSet) -> io::Result<JoinHandle<Fut::Output>>
    where
        Fut: Future + 'static,
        Fut::Output: 'static,
    {
        Ok(local_set.spawn_with(future, self.origin()))
    }

    /// Runs `function` on a thread where it may block.
    ///
    /// # Errors
    ///
    /// When the system refuses to start the first thread of the pool.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<Function, Output>(self, function: Function) -> io::Result<JoinHandle<Output>>
    where
        Function: FnOnce() -> Output + Send + 'static,
        Output: Send + 'static,
    {
        self.spawn_blocking_on(function, &Handle::current())
    }

    /// Runs `function` on a thread of the runtime of `handle` where it may block.
    ///
    /// # Errors
    ///
    /// As for [`spawn_blocking`](Self::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking_on<Function, Output>(
        self,
        function: Function,
        handle: &Handle,
    ) -> io::Result<JoinHandle<Output>>
    where
        Function: FnOnce() -> Output + Send + 'static,
        Output: Send + 'static,
    {
        blocking::try_spawn_on(handle, function, self.origin())
    }
}
