//! What is scheduled: one allocation per task, and the few words that name it.
//!
//! Called by `spawn` (creation) and the schedulers (running, shutdown). Knows a scheduler only as the trait `Schedule`.
//!
//! - a *task* is the allocation: header, future or output, scheduler. `TaskRef` counts it.
//! - a *runnable* is the right to poll a task once. Queues hold these, and nothing else.
//! - a *join handle* is the right to fetch the output.
//!
//! # Who may touch which field, in which state
//!
//! | field | who |
//! |---|---|
//! | header: state, link | anyone who holds a reference; the link belongs to whoever holds the runnable |
//! | header: id, vtable, priority, place | anyone; written before the task is shared |
//! | stage | only the holder of `RUNNING`; after `COMPLETE` only the join handle while it has `JOIN_INTEREST`, else whoever completed |
//! | join waker | `JOIN_WAKER` clear: the join handle, and when that is not at it there is none. Set and not `COMPLETE`: nobody writes. Set and `COMPLETE`: whoever completed. Anyone may look at any time |
//! | scheduler | anyone, shared; dropped with the task |
//!
//! Promise: a future is polled by one thread at a time, is dropped exactly once, before its join handle completes, and only by
//! its poller, by the shutdown of its own scheduler's thread, or never abroad; panics of user code (poll, drop of the future,
//! drop of the output, a waker) end in the `JoinError` or nowhere, and leave no count wrong.
//!
//! Tests: `state` (transitions), `tests` (panics, counts, one thread), `models` (loom).

mod abort;
mod cell;
mod error;
mod id;
mod join;
mod join_waker;
mod registry;
mod run;
mod runnable;
mod state;
mod tally;
mod vtable;
mod waker;

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

pub use abort::AbortHandle;
pub(crate) use cell::{Header, scheduler_of};
pub use error::JoinError;
pub use id::{Id, id, try_id};
pub use join::JoinHandle;
pub(crate) use registry::{
    CHUNKS as PLACE_CHUNKS, Registry, chunk_len as places_in_chunk, locate as locate_place,
};
pub(crate) use runnable::{Runnable, TaskRef};

pub(crate) use waker::is_waker_of;
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
pub(crate) use waker::runs_here;

use crate::dump::Grace;
use nezumi_trace::{Kind, Spawned, TaskSpan, Traced};
use std::future::Future;
use std::panic::Location;

/// How soon a task runs when more is runnable than workers are free.
///
/// # Examples
///
/// ```
/// use nezumi::task::{Builder, Priority};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let urgent = Builder::new().priority(Priority::High).spawn(async { "answered" }).unwrap();
/// let patient = Builder::new().priority(Priority::Background).spawn(async { "cleaned up" }).unwrap();
/// assert_eq!((urgent.await.unwrap(), patient.await.unwrap()), ("answered", "cleaned up"));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum Priority {
    /// Only when nothing else is runnable, and at least once per fairness interval.
    Background = 0,
    /// The usual.
    #[default]
    Normal = 1,
    /// Picked first, in bounded runs.
    High = 2,
}

/// What a task needs of the scheduler it was spawned on.
pub(crate) trait Schedule: Sized + 'static {
    /// The task was woken.
    ///
    /// # Safety
    ///
    /// `this` is the scheduler inside the task of `runnable`, and so valid only until that is given away: from then on the task
    /// may be run to its end and freed by another thread.
    unsafe fn schedule(this: *const Self, runnable: Runnable);

    /// The task was woken during its own poll: let others go first.
    ///
    /// # Safety
    ///
    /// As for [`schedule`](Self::schedule).
    unsafe fn reschedule(this: *const Self, runnable: Runnable) {
        // SAFETY: the caller's promise is the same.
        unsafe { Self::schedule(this, runnable) };
    }

    /// The task is complete. Whether the scheduler's registry held a reference, which is now the caller's.
    fn release(&self, task: &Header) -> bool;

    /// What a subscriber of `tracing` is told that the scheduler's tasks are.
    const KIND: Kind = Kind::Task;

    /// How many references the registry holds: 0 or 1.
    const REGISTRY_REFS: usize;

    /// The task has ended, for hooks.
    fn terminated(&self, _task: &Header) {}

    /// A poll of the task panicked.
    fn panicked(&self) {}

    /// Who may be looking at tasks that end. Not for tasks that must be freed on a certain thread.
    #[inline(always)]
    fn grace(&self) -> Option<&'static Grace> {
        None
    }
}

/// What is known of a task from its spawn on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) id: Id,
    /// `None` if the program did not say: then the runtime does.
    pub(crate) priority: Option<Priority>,
    pub(crate) spawned_at: &'static Location<'static>,
}

impl<'a> Origin<'a> {
    /// The same, as a subscriber of `tracing` is told.
    #[inline]
    pub(crate) fn spawned(&self) -> Spawned<'a> {
        Spawned { id: self.id.as_u64(), name: self.name, at: self.spawned_at }
    }

    #[track_caller]
    #[inline]
    pub(crate) fn here() -> Self {
        Self { name: None, id: Id::next(), priority: None, spawned_at: Location::caller() }
    }
}

/// Makes a task: its first runnable, and its join handle. With [`Schedule::REGISTRY_REFS`] one more reference stands in the
/// count, which the caller owes to the registry.
///
/// # Safety
///
/// Where `F` is not `Send`, the runnable must be run and dropped, and the registry shut down, on the thread that calls this;
/// what `F` borrows must outlive the task.
#[inline]
pub(crate) unsafe fn new_task<F, S>(
    future: F,
    scheduler: S,
    origin: Origin<'_>,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future,
    S: Schedule,
{
    let future = nezumi_trace::task(S::KIND, origin.spawned(), future);
    // SAFETY: the caller's promise is the same.
    unsafe { new_traced_task(future, scheduler, origin) }
}

/// The same with a future that has a span already.
///
/// # Safety
///
/// As for [`new_task`].
#[inline]
pub(crate) unsafe fn new_traced_task<F, S>(
    future: Traced<F>,
    scheduler: S,
    origin: Origin<'_>,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future,
    S: Schedule,
{
    let span = TaskSpan::of(&future);
    let header = cell::Cell::allocate(future, scheduler, origin, span);
    // SAFETY: `allocate` counted one reference for each of the two.
    unsafe { (Runnable::from_header(header), JoinHandle::from_header(header)) }
}
