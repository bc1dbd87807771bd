//! What a program may have the runtime call.

use crate::task::{Header, Id};
use std::fmt;
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
    name: Option<&'a str>,
}

impl<'a> TaskMeta<'a> {
    pub(crate) fn of(task: &'a Header) -> Self {
        Self { id: task.id(), spawned_at: task.spawned_at(), name: task.name() }
    }

    /// The name that the task was given.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.name
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
        f.debug_struct("TaskMeta")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("spawned_at", &self.spawned_at)
            .finish()
    }
}
