//! Where blocking work goes: threads of its own, as many as are needed at once.
//!
//! Called by `spawn::spawn_blocking`, by the files and names of `nezumi-os`, and by `runtime` at its end. Knows nothing of
//! tasks: it runs whatever is a [`Job`], on threads that have entered whatever is a [`Host`].
//!
//! Promise: each accepted job is run or cancelled, once. No more than `max_jobs` are run at once, beside the residents. A job waits for another
//! only when these are, or `max_threads` are busy, or the OS refuses a thread; a resident waits behind no job that is queued. One job wakes at
//! most one thread. A job, a hook or a name that panics hurts nobody else.
//!
//! **One lock** guards the queues, of jobs and of residents, and a stack of idle threads; it is held for a few dozen instructions, and never while a job is
//! run or dropped, a thread is woken, or user code is called. A thread is created under it only when there is none that
//! will ever be free: then a refusal by the OS concerns one job, whose spawner gets it back. When there are others, they
//! will do: the job stays.
//!
//! **Who is on the way.** A woken or created thread needs longer to arrive than a small job takes. So at most
//! `limit` threads, half the number of cores, are on their way at any time: others would not arrive
//! sooner. Each that arrives takes a job, and *before* it runs that it sends for the next thread if jobs are left. So a
//! burst of long jobs still gets its threads as fast as the cores can start them, and a burst of short ones is mostly
//! run by the first two or three that arrive.
//!
//! Invariant (all under the lock): *if a job is queued that may be run now, then somebody is on the way, or nobody can be sent for* (none is idle,
//! and the pool is full or the last creation was refused, so that busy threads will come back for the job). A job may be run unless `max_jobs` are;
//! when it is their end that allows it, the thread of the one that has ended takes it.
//!
//! | event | why it keeps the invariant |
//! |---|---|
//! | a job is pushed | sends for somebody, unless enough are on the way |
//! | one arrives, and is on the way no more | takes a job, and sends for another if jobs are left |
//! | a creation is refused | sends for an idle thread if there is one; else nobody can be sent for |
//! | one goes to sleep, or leaves after its keep-alive | only when nothing is queued that may be run |
//! | keep-alive runs out while it is sent for | it is not in the stack any more: it takes the token that is coming, and stays |
//! | shutdown | sends for all; nobody goes to sleep any more |
//!
//! Tests: `tests.rs`; models: `expiry_races_a_submit`, `a_full_pool_runs_what_waits`, `shutdown_races_a_submit`,
//! `an_arrival_sends_for_the_next`, `who_ends_a_job_takes_the_one_for_which_there_was_a_thread_but_no_leave`.

mod config;
mod state;
mod thread;

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

pub use config::Config;

use nezumi_prim::sync::Arc;
use state::Rouse;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::time::{Duration, Instant};
use thread::Shared;

/// A piece of work that may block.
pub trait Job: Send + 'static {
    /// Does the work.
    fn run(self);

    /// Is called instead of [`run`](Self::run) when the pool shuts down first. Not of a resident, which is run all the same.
    fn cancel(self);

    /// Whether it keeps its thread until the runtime ends, as a worker does. Nobody is to count on that thread.
    fn is_resident(&self) -> bool {
        false
    }
}

/// What each thread of the pool enters for as long as it lives: the runtime.
pub trait Host: Clone + Send + 'static {
    /// Leaves when it is dropped.
    type Entered;

    /// Enters it on this thread.
    fn enter(&self) -> Self::Entered;

    /// Whether it is about to end, so that a thread that a resident has left has nothing to wait for.
    fn is_ending(&self) -> bool {
        false
    }
}

/// What becomes of a job that is still in the queue at shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// It is run all the same.
    Mandatory,
    /// It is cancelled.
    Optional,
}

/// Why a job was not accepted. It is given back.
pub enum SpawnError<J> {
    /// The pool shuts down.
    ShuttingDown(J),
    /// The pool has no thread but those of residents, and the OS refuses one.
    NoThreads(io::Error, J),
}

impl<J> fmt::Debug for SpawnError<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::ShuttingDown(_) => f.write_str("ShuttingDown"),
            SpawnError::NoThreads(error, _) => f.debug_tuple("NoThreads").field(error).finish(),
        }
    }
}

/// Threads for blocking work.
///
/// Dropping it shuts it down without waiting.
pub struct Pool<J: Job, H: Host> {
    shared: Arc<Shared<J>>,
    _host: PhantomData<fn() -> H>,
}

impl<J: Job, H: Host> fmt::Debug for Pool<J, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.state.lock();
        f.debug_struct("Pool")
            .field("threads", &state.threads)
            .field("idle_threads", &state.idle.len())
            .field("queue_depth", &state.queue.len())
            .finish_non_exhaustive()
    }
}

impl<J: Job, H: Host> Pool<J, H> {
    /// A pool without threads yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::with_limit(config, (crate::runtime::processors() / 2).max(1))
    }

    /// A pool of which at most `limit` threads are on their way at once.
    fn with_limit(config: Config, limit: usize) -> Self {
        Self { shared: Arc::new(Shared::new(config, limit)), _host: PhantomData }
    }

    /// Hands `job` over. It runs as soon as a thread is there for it; a thread that must be started for it enters `host`.
    ///
    /// # Errors
    ///
    /// Gives the job back if the pool shuts down, or has no thread for it and gets none.
    pub fn spawn(&self, job: J, duty: Duty, host: &H) -> Result<(), SpawnError<J>> {
        let mut state = self.shared.state.lock();
        if state.is_shutdown {
            drop(state);
            return Err(SpawnError::ShuttingDown(job));
        }
        if state.needs_first_thread() {
            drop(state);
            return self.spawn_on_first_thread(job, duty, host);
        }
        let rouse = state.push(job, duty);
        drop(state);
        Shared::rouse(&self.shared, rouse, host);
        Ok(())
    }

    #[cold]
    fn spawn_on_first_thread(&self, job: J, duty: Duty, host: &H) -> Result<(), SpawnError<J>> {
        let birth = Shared::prepare(&self.shared, host);
        let mut state = self.shared.state.lock();
        if state.is_shutdown {
            drop(state);
            return Err(SpawnError::ShuttingDown(job));
        }
        let mut rouse = Rouse::Nobody;
        if state.needs_first_thread() {
            let id = state.reserve();
            match birth.start(id) {
                Ok(handle) => {
                    let ended = state.file(id, handle);
                    debug_assert!(ended.is_none(), "it cannot end before it gets the lock");
                    state.enqueue(job, duty);
                }
                Err(error) => {
                    state.cancel_reservation();
                    drop(state);
                    return Err(SpawnError::NoThreads(error, job));
                }
            }
        } else {
            // Somebody was quicker.
            rouse = state.push(job, duty);
        }
        drop(state);
        Shared::rouse(&self.shared, rouse, host);
        Ok(())
    }

    /// Refuses jobs from now on, cancels the optional ones that wait for a thread to become free, has the mandatory ones run,
    /// and those that only wait for a thread to arrive, and waits for the threads to end: for `timeout` at the most, or for as
    /// long as it takes. Returns whether they have ended, and then they are joined.
    ///
    /// Called on a thread of the pool, it does not wait for that one. Calls after the first change nothing and do not wait.
    pub fn shutdown(&self, timeout: Option<Duration>) -> bool {
        // A deadline past the clock's range is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let own = Shared::own_id(&self.shared);
        let staying = usize::from(own.is_some());
        let mut state = self.shared.state.lock();
        if state.is_shutdown {
            return state.has_ended(staying);
        }
        let sleepers = state.begin_shutdown(staying);
        drop(state);
        sleepers.iter().for_each(|parker| parker.unpark());

        let mut state = self.shared.state.lock();
        while !state.is_over() {
            state = match deadline {
                None => self.shared.ended.wait(state),
                Some(deadline) => {
                    let rest = deadline.saturating_duration_since(Instant::now());
                    if rest.is_zero() {
                        // They end on their own; one that was kept for a join would keep its stack.
                        let handles = state.take_handles(None);
                        drop(state);
                        drop(handles);
                        return false;
                    }
                    self.shared.ended.wait_timeout(state, rest).0
                }
            };
        }
        let handles = state.take_handles(own);
        drop(state);
        handles.into_iter().for_each(thread::join);
        true
    }

    /// How many threads there are, those that are being started included.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shared.state.lock().threads
    }

    /// How many threads sleep, and nobody has sent for.
    #[must_use]
    pub fn idle_threads(&self) -> usize {
        self.shared.state.lock().idle.len()
    }

    /// How many jobs wait to be run, residents not counted.
    #[must_use]
    pub fn queue_depth(&self) -> usize {
        self.shared.state.lock().queue.len()
    }
}

impl<J: Job, H: Host> Drop for Pool<J, H> {
    fn drop(&mut self) {
        self.shutdown(Some(Duration::ZERO));
    }
}
