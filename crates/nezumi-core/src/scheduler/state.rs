//! What a runtime is at, for people: `{:#?}` of a handle.
//!
//! Called by `runtime::Handle`'s `Debug`. Reads what workers write without asking them, so that it answers also where all of them are stuck; what
//! it shows was so a moment ago, and not all of it at the same moment. Takes no lock under which the program's code runs.

use super::shared::Shared;
use crate::timer::NEVER;
use std::fmt;
use std::sync::atomic::Ordering;

/// Shows the state of a runtime.
pub(crate) struct State<'a>(pub(crate) &'a Shared);

/// Shows that of one worker, or spare.
struct WorkerState<'a>(&'a Shared, usize);

impl fmt::Debug for State<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State(shared) = *self;
        let mut workers = Vec::new();
        for index in 0..shared.crew() {
            if index < shared.workers() || shared.spares.is_at_work(index - shared.workers()) {
                workers.push(WorkerState(shared, index));
            }
        }
        f.debug_struct("State")
            .field("shutting_down", &shared.is_shutting_down())
            .field("workers", &workers)
            .field("searchers", &shared.idle.searchers())
            .field("injected", &shared.inject.each_ref().map(nezumi_queue::Inject::len))
            .field("relayed", &shared.relay.len())
            .field("spares", &shared.spares)
            .field("driver_turns", &shared.driver_turns.load(Ordering::Relaxed))
            .field("watch_looks", &shared.watch.looks())
            .field("watch_sleeps", &shared.watch.is_asleep())
            .finish()
    }
}

impl fmt::Debug for WorkerState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkerState(shared, index) = *self;
        let shard = shared.shard(index);
        let deadline_ms = Some(shard.timers.next_deadline_ms()).filter(|&deadline_ms| deadline_ms != NEVER);
        let name = if index < shared.workers() { "Worker" } else { "Spare" };
        f.debug_struct(name)
            .field("index", &index)
            .field("driven", &shard.polling.is_driven())
            .field("sleeping", &shared.idle.is_sleeping(index))
            .field("in_driver", &shard.bed.is_in_driver())
            .field("stuck", &shard.crowd.stuck.load(Ordering::Relaxed))
            .field("polls", &shard.polling.begun())
            .field("queued", &shard.ring.len())
            .field("hot", &shard.ring.has_hot())
            .field("yielded", &shard.yielded.len())
            .field("queued_high", &shard.high.len())
            .field("queued_background", &shard.background.len())
            .field(
                "next_timer_in_ms",
                &deadline_ms.map(|at| i128::from(at) - i128::from(shared.clock.now_ms())),
            )
            .finish()
    }
}
