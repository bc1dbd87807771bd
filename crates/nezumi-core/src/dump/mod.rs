//! What all tasks of a runtime are at: [`Handle::dump`](crate::runtime::Handle::dump).
//!
//! In reading order: `grace` (how a thread may look at tasks that are not its own), `scheduler::roll` (who is there), `session` (each task is polled once so
//! that it tells where it waits), `make` (the whole), `trace`, `symbol` and `tree` (stacks, their names, how they are shown), `native` (the stack of a thread
//! that does not come back from a poll).
//!
//! # What may be asked of whom
//!
//! | to know | who is asked | may it be kept waiting |
//! |---|---|---|
//! | which tasks there are, their names, where they were spawned, their states | nobody: they are looked at (`grace`) | no |
//! | which worker polls which task, and since when | nobody: workers write down an address and a number at each poll, as ever | no |
//! | where a task waits | the task, by one more poll, by whichever worker gets to it | for as long as is told in `make` |
//! | where a thread is that does not come back | the thread, by a signal, if the program allowed it | a few milliseconds |
//!
//! The hot path pays for this one load at the end of a task (`grace`); polls are told to a session by way of the flag that hooks use, too.
//!
//! Tests: in these modules, and `tests/it/dump.rs`.

// No thread makes dumps under a model.
#![cfg_attr(any(nezumi_loom, nezumi_shuttle), allow(dead_code, unused_imports))]

mod grace;
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
mod make;
#[cfg(all(test, nezumi_loom))]
mod models;
mod native;
mod session;
mod symbol;
mod trace;
mod tree;

#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
pub(crate) use grace::GRACE;
pub(crate) use grace::{Grace, Refused};
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
pub(crate) use make::dump;
pub(crate) use native::{default_signal, install, stack_of};
#[doc(inline)]
pub use nezumi_wake::leaf::{Root, TraceMeta, trace_with};
pub(crate) use session::Dumps;
pub use symbol::{Backtrace, BacktraceFrame, BacktraceSymbol};
pub use trace::Trace;

use crate::task::Id;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// What the tasks of a runtime were at. From [`Handle::dump`](crate::runtime::Handle::dump).
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Handle;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let waits = nezumi::spawn(std::future::pending::<()>());
/// let dump = Handle::current().dump().await;
/// assert!(dump.all_tasks().any(|task| task.id() == waits.id()));
/// println!("{dump}");
/// # }
/// ```
#[derive(Debug)]
pub struct Dump {
    /// Those that have told where they wait.
    tasks: Tasks,
    /// The others.
    rest: Tasks,
}

/// Tasks of a [`Dump`].
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Handle;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let waits = nezumi::spawn(std::future::pending::<()>());
/// nezumi::task::yield_now().await;
/// let dump = Handle::current().dump().await;
/// for task in dump.tasks().iter() {
///     println!("{} waits at\n{}", task.id(), task.trace());
/// }
/// # let _ = waits;
/// # }
/// ```
#[derive(Debug)]
pub struct Tasks {
    tasks: Vec<Task>,
}

/// What one task was at.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Handle;
/// use nezumi::task::Builder;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let waits = Builder::new().name("watcher").spawn(std::future::pending::<()>()).unwrap();
/// let dump = Handle::current().dump().await;
/// let task = dump.all_tasks().find(|task| task.id() == waits.id()).unwrap();
/// assert_eq!(task.name(), Some("watcher"));
/// assert!(task.spawned_at().line() > 0);
/// # }
/// ```
#[derive(Debug)]
pub struct Task {
    id: Id,
    name: Option<Box<str>>,
    spawned_at: &'static Location<'static>,
    state: TaskState,
    trace: Trace,
    was_polled: bool,
}

/// What a task was at when the dump began.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::Handle;
/// use nezumi::runtime::dump::TaskState;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let dump = Handle::current().dump().await;
/// for task in dump.all_tasks() {
///     if let TaskState::Stuck { worker, elapsed } = task.state() {
///         println!("{} holds up worker {worker} for {elapsed:?}", task.id());
///     }
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskState {
    /// It waited for something to wake it.
    Idle,
    /// It had been woken, or just spawned, and waited for a worker.
    Scheduled,
    /// It was being polled.
    Running {
        /// By the worker with this number. `None` where it had given its worker up (`block_in_place`).
        worker: Option<usize>,
        /// For this long at least.
        elapsed: Duration,
    },
    /// It was being polled, and did not come back from that while the dump was made.
    Stuck {
        /// The worker that it held up.
        worker: usize,
        /// For how long, to within a few milliseconds where the runtime has a watch; else for as long as the dump took.
        elapsed: Duration,
    },
}

impl Dump {
    fn new(tasks: Vec<Task>) -> Self {
        let (tasks, rest) = tasks.into_iter().partition(|task: &Task| task.was_polled);
        Self { tasks: Tasks { tasks }, rest: Tasks { tasks: rest } }
    }

    /// The tasks that have told where they wait. Those that were in a poll, or did not get to run in time, are not among them: see
    /// [`all_tasks`](Self::all_tasks).
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// All tasks that were alive, those first that have told where they wait.
    ///
    /// # Examples
    ///
    /// Which tasks hold up a worker:
    ///
    /// ```
    /// use nezumi::runtime::dump::TaskState;
    /// use std::time::Duration;
    ///
    /// let rt = nezumi::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    /// let (blocked, is_blocked) = std::sync::mpsc::channel();
    /// let task = rt.spawn(async move {
    ///     blocked.send(()).unwrap();
    ///     std::thread::sleep(Duration::from_millis(300));
    /// });
    /// is_blocked.recv()?;
    /// let dump = rt.block_on(rt.handle().dump());
    /// let mut stuck = dump.all_tasks().filter(|task| matches!(task.state(), TaskState::Stuck { .. }));
    /// assert_eq!(stuck.next().map(|stuck| stuck.id()), Some(task.id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn all_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().chain(self.rest.iter())
    }
}

impl Tasks {
    /// One after the other, by their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter()
    }
}

impl Task {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    /// The name it was given.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where in the program it was spawned.
    #[must_use]
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// What it was at.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.state
    }

    /// Where it waits. For one that is stuck, where its thread is, if the program allowed that it be asked
    /// ([`Builder::stuck_backtraces`](crate::runtime::Builder::stuck_backtraces)). Else it is empty.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.write_str("idle"),
            Self::Scheduled => f.write_str("scheduled"),
            Self::Running { worker: Some(worker), elapsed } => {
                write!(f, "running on worker {worker} for {elapsed:.1?}")
            }
            Self::Running { worker: None, elapsed } => write!(f, "running for {elapsed:.1?}"),
            Self::Stuck { worker, elapsed } => write!(f, "stuck on worker {worker} for {elapsed:.1?}"),
        }
    }
}

/// A line on what is known of the task, and its trace below it.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.id)?;
        if let Some(name) = &self.name {
            write!(f, " `{name}`")?;
        }
        write!(f, ", {}, spawned at {}", self.state, self.spawned_at)?;
        if !self.trace.is_empty() {
            write!(f, "\n{}", self.trace)?;
        }
        Ok(())
    }
}

/// All tasks, with an empty line after each.
impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all_tasks().try_for_each(|task| write!(f, "{task}\n\n"))
    }
}
