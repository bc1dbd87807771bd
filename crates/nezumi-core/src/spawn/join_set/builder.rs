//! Tasks of a set, with settings.

use super::JoinSet;
use crate::runtime::Handle;
use crate::spawn::{self, LocalSet};
use crate::task::{AbortHandle, Priority};
use std::fmt;
use std::future::Future;
use std::io;

/// Settings of one task, before it is spawned on a [`JoinSet`].
///
/// # Examples
///
/// ```
/// use nezumi::task::JoinSet;
///
/// # #[nezumi::main]
/// # async fn main() {
/// let mut fetches = JoinSet::new();
/// for (name, size) in [("index", 3), ("icons", 4)] {
///     fetches.build_task().name(name).spawn(async move { size }).unwrap();
/// }
/// assert_eq!(fetches.join_all().await.into_iter().sum::<usize>(), 7);
/// # }
/// ```
#[must_use = "settings do nothing before a task is spawned with them"]
pub struct Builder<'a, T> {
    set: &'a mut JoinSet<T>,
    settings: spawn::Builder<'a>,
}

impl<'a, T: 'static> Builder<'a, T> {
    pub(super) fn new(set: &'a mut JoinSet<T>) -> Self {
        Self { set, settings: spawn::Builder::new() }
    }

    /// Names the task, for tools.
    pub fn name(self, name: &'a str) -> Self {
        Self { settings: self.settings.name(name), ..self }
    }

    /// How soon the task runs when more is runnable than workers are free.
    pub fn priority(self, priority: Priority) -> Self {
        Self { settings: self.settings.priority(priority), ..self }
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
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.settings.spawn(future)?))
    }

    /// Spawns on the runtime of `handle`.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.settings.spawn_on(future, handle)?))
    }

    /// Runs `f` on a thread where it may block.
    ///
    /// # Errors
    ///
    /// When the system refuses to start the first thread of the pool.
    #[track_caller]
    pub fn spawn_blocking<F>(self, f: F) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.settings.spawn_blocking(f)?))
    }

    /// Runs `f` on a thread of the runtime of `handle` where it may block.
    ///
    /// # Errors
    ///
    /// As for [`spawn_blocking`](Self::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking_on<F>(self, f: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.settings.spawn_blocking_on(f, handle)?))
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
    pub fn spawn_local<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.settings.spawn_local(future)?))
    }

    /// Spawns a task that is not `Send` on `local_set`.
    ///
    /// # Errors
    ///
    /// None at present.
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.settings.spawn_local_on(future, local_set)?))
    }
}

// Whatever `T` is: none is shown.
impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("set", &self.set).field("settings", &self.settings).finish()
    }
}
