//! The right to cancel a task.

use super::{Id, TaskRef};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Cancels a task from afar, without the right to its output.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// let handle = nezumi::spawn(std::future::pending::<()>());
/// let abort = handle.abort_handle();
/// abort.abort();
/// assert!(handle.await.unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// # }
/// ```
pub struct AbortHandle(TaskRef);

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    pub(super) fn new(task: TaskRef) -> Self {
        Self(task)
    }

    /// Cancels the task, as [`JoinHandle::abort`](super::JoinHandle::abort) does.
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Whether the task is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.state.load().is_complete()
    }

    /// The task's id.
    #[must_use]
    pub fn id(&self) -> Id {
        self.0.id()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish()
    }
}
