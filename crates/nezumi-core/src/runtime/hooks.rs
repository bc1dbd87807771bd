//! What a program may have the runtime call.

use crate::task::{Header, Id};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

pub(crate) type Callback = Arc<dyn Fn() + Send + Sync>;
pub(crate) type TaskCallback = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// All hooks of one runtime.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) thread_started: Option<Callback>,
    pub(crate) thread_stopping: Option<Callback>,
    pub(crate) before_park: Option<Callback>,
    pub(crate) after_unpark: Option<Callback>,
    pub(crate) task_spawned: Option<TaskCallback>,
    pub(crate) task_terminated: Option<TaskCallback>,
    pub(crate) before_poll: Option<TaskCallback>,
    pub(crate) after_poll: Option<TaskCallback>,
}

/// What a hook is told of a task.
pub struct TaskMeta<'a> {
    id: Id,
    spawned_at: &'static Location<'static>,
    _borrow: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    pub(crate) fn of(task: &Header) -> Self {
        Self { id: task.id(), spawned_at: task.spawned_at(), _borrow: PhantomData }
    }

    /// The task's id.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Where in the program the task was spawned.
    #[must_use]
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }
}

impl fmt::Debug for TaskMeta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskMeta").field("id", &self.id).field("spawned_at", &self.spawned_at).finish()
    }
}
