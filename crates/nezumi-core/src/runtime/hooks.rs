//! What a program may have the runtime call.

use crate::dump::Trace;
use crate::task::{Header, Id};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

pub(crate) type Callback = Arc<dyn Fn() + Send + Sync>;
pub(crate) type TaskCallback = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;
pub(crate) type StuckCallback = Arc<dyn Fn(&StuckTask) + Send + Sync>;

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
    pub(crate) stuck: Option<StuckCallback>,
}

/// What a hook is told of a task.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Builder;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let spawned = Arc::new(AtomicUsize::new(0));
/// let count = spawned.clone();
/// let rt = Builder::new_current_thread()
///     .on_task_spawn(move |task| {
///         println!("{} from {}", task.id(), task.spawned_at());
///         count.fetch_add(1, Ordering::Relaxed);
///     })
///     .build()
///     .unwrap();
/// rt.block_on(async { nezumi::spawn(async {}).await.unwrap() });
/// assert_eq!(spawned.load(Ordering::Relaxed), 1);
/// ```
pub struct TaskMeta<'a> {
    id: Id,
    spawned_at: &'static Location<'static>,
    name: Option<&'a str>,
    waited: Option<Duration>,
}

impl<'a> TaskMeta<'a> {
    pub(crate) fn of(task: &'a Header) -> Self {
        Self { id: task.id(), spawned_at: task.spawned_at(), name: task.name(), waited: None }
    }

    /// For the hooks around a poll.
    pub(crate) fn polled_after(self, waited: Option<Duration>) -> Self {
        Self { waited, ..self }
    }

    /// The name that the task was given.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }

    /// How long the task waited between being scheduled and this poll, the same before and after it. `None` for the hooks of a spawn and
    /// of an end, and where it is not measured: see [`track_task_schedule_latency`](super::Builder::track_task_schedule_latency).
    #[must_use]
    pub fn schedule_latency(&self) -> Option<Duration> {
        self.waited
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

/// A task that has not come back from a poll for a long time. See [`Builder::on_stuck`](super::Builder::on_stuck).
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Builder;
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// let (reports, reported) = mpsc::channel();
/// let rt = Builder::new_multi_thread()
///     .stuck_after(Duration::from_millis(20))
///     .on_stuck(move |task| _ = reports.send(task.clone()))
///     .build()
///     .unwrap();
/// let task = rt.spawn(async { std::thread::sleep(Duration::from_millis(200)) });
/// let stuck = reported.recv().unwrap();
/// assert_eq!(stuck.id(), task.id());
/// println!("worker {}: {:?} in one poll of the task from {}", stuck.worker(), stuck.elapsed(), stuck.spawned_at());
/// ```
#[derive(Clone, Debug)]
pub struct StuckTask {
    pub(crate) id: Id,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) worker: usize,
    pub(crate) elapsed: Duration,
    pub(crate) burns: bool,
    pub(crate) backtrace: Option<Trace>,
}

impl StuckTask {
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

    /// The number of the worker that it holds up.
    #[must_use]
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// How long the poll has lasted, to within a few milliseconds.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Whether the poll uses its processor, or would if others left it one; else it sleeps, in a system call or on a lock. Where the system does not say (it is Linux that
    /// does), it is taken to burn.
    #[must_use]
    pub fn is_burning(&self) -> bool {
        self.burns
    }

    /// Where the thread is that polls it, if the program allowed that it be asked ([`Builder::stuck_backtraces`](super::Builder::stuck_backtraces)), and it
    /// answered in time.
    #[must_use]
    pub fn backtrace(&self) -> Option<&Trace> {
        self.backtrace.as_ref()
    }
}

impl fmt::Debug for TaskMeta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskMeta")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("spawned_at", &self.spawned_at)
            .field("schedule_latency", &self.waited)
            .finish()
    }
}
