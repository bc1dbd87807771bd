//! The loop around a worker, on a thread of the blocking pool.
//!
//! Called by `runtime` (start) and by `block_in_place` (another thread goes on with a worker). Knows nothing of what a step does.

use super::context::{self, Role};
use super::shared::Shared;
use super::worker::{Step, Worker};
use crate::blocking::{Duty, SpawnError};
use crate::runtime::Handle;
use crate::spawn::BlockingJob;
use nezumi_prim::block::Blocks;
use nezumi_wake::{coop, defer, entered, rng};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// Starts all workers of a new runtime.
///
/// # Errors
///
/// When the system refuses a thread. Those that were started end when the runtime is shut down.
pub(crate) fn start(handle: &Handle) -> io::Result<()> {
    let shared = handle.shared();
    for index in 0..shared.workers() {
        if let Err(error) = hand_over(handle, index) {
            // The others must not wait for this one and those after it.
            for index in index..shared.workers() {
                super::shutdown::worker_never_ran(shared, index);
            }
            return Err(error);
        }
    }
    // The last of several starts the watch (`drive_until_left`), beside what goes on here; a single one is needed for its first task.
    if shared.workers() == 1 { shared.watch.start(handle) } else { Ok(()) }
}

/// Has a thread of the pool drive this worker from now on.
///
/// # Errors
///
/// When the system refuses a thread and none is there; the worker is then still the caller's.
pub(crate) fn hand_over(handle: &Handle, index: usize) -> io::Result<()> {
    let job = BlockingJob::Worker { handle: handle.clone(), index };
    match handle.shared().blocking.spawn(job, Duty::Mandatory, handle) {
        Ok(()) => Ok(()),
        // The runtime is shutting down: whoever has the worker must end it.
        Err(SpawnError::ShuttingDown(_)) => Err(io::Error::other("the runtime is shutting down")),
        Err(SpawnError::NoThreads(error, _)) => Err(error),
    }
}

/// Drives a worker until the runtime shuts down, until a task gives the worker up, or until it is a spare that is needed no more.
pub(crate) fn drive(handle: &Handle, index: usize) {
    if let Some(spare) = drive_until_left(handle, index) {
        // Only now is this thread done with the shard.
        handle.shared().spares.is_gone(spare);
        super::shutdown::spare_left(handle.shared());
    }
}

/// Returns the number of a spare that has left.
fn drive_until_left(handle: &Handle, index: usize) -> Option<usize> {
    let shared: &Shared = handle.shared();
    let shard = shared.shard(index);
    // SAFETY: whoever had the worker has handed it to this thread, which keeps the runtime alive through `handle`.
    let worker = unsafe { Worker::new(shard) };
    // SAFETY: the worker and the handle stand in this frame, which outlives the guards below.
    let _role =
        unsafe { context::play(Role { shard, worker: &raw const worker, core: ptr::null(), owned: shard }) };
    // SAFETY: as above.
    let _host = unsafe { defer::set_host(Some(NonNull::from(&worker as &dyn defer::Host))) };
    let blocks = Blocks::new();
    // SAFETY: as above.
    let _blocks = unsafe { blocks.keep_here() };
    let _entered = entered::enter(true);
    let _seed = rng::seed(shared.config.seeds.next());
    shard.polling.polls_within(&worker);
    shard.is_driven_here();
    set_affinity(shared, index);
    if index > 0 && index + 1 == shared.workers() {
        // Where the system refuses the thread the runtime does without.
        let _ = shared.watch.start(handle);
    }
    shared.watch.worker_woke();
    let left = loop {
        // A panic comes from a hook, or from a waker that is no task's. It has been reported; the worker goes on.
        match catch_unwind(AssertUnwindSafe(|| run(&worker))) {
            Ok(Step::GivenUp) => break None,
            Ok(Step::Leave) => {
                coop::replace(coop::Budget::unconstrained());
                if worker.leave() {
                    break worker.spare;
                }
            }
            Ok(_) => {
                coop::replace(coop::Budget::unconstrained());
                super::shutdown::end_worker(&worker);
                break None;
            }
            Err(_) if worker.given_up.get() => break None,
            Err(_) => {}
        }
    };
    coop::replace(coop::Budget::unconstrained());
    if left.is_some() {
        shard.polling.is_left();
    }
    left
}

fn run(worker: &Worker) -> Step {
    loop {
        match worker.step() {
            Step::Ran => {}
            Step::Idle => worker.park(),
            end @ (Step::Shutdown | Step::GivenUp | Step::Leave) => return end,
        }
    }
}

#[cfg(target_os = "linux")]
fn set_affinity(shared: &Shared, index: usize) {
    // A spare is there while a processor has nothing to do, whichever it is.
    let core = (index < shared.workers()).then(|| shared.config.core_of(index)).flatten();
    if let Some(core) = core {
        // SAFETY: `set` is a plain bit set on our stack; the call reads it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            // A core that does not exist, or is not allowed, leaves the thread where it was.
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn set_affinity(_shared: &Shared, _index: usize) {}

/// By how much the system may delay the ends of this thread's waits; by its default if `None`.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn set_timer_slack(slack: Option<std::time::Duration>) {
    // 0 is the default.
    let ns = slack.map_or(0, |slack| slack.as_nanos() as libc::c_ulong);
    // SAFETY: changes one number of this thread. A system that refuses delays nothing.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn set_timer_slack(_slack: Option<std::time::Duration>) {}
