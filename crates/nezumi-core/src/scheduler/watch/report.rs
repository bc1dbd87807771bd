//! What is told of a poll that does not end.
//!
//! Called by `looker`, once for each such poll. Counts it, tells the subscribers of `tracing`, has the worker's thread say where it is (`dump::native`), where the
//! program allowed that, and calls the program's hook.
//!
//! Promise: polls cost nothing for the sake of subscribers: whose poll it is that is stuck is found out when one is, and only if a subscriber hears of it. A thread is asked for its stack no more often than once in [`STACK_EVERY`], and is waited for no longer than [`ANSWERS_WITHIN`], in
//! which the watch does not look: a storm of stuck polls costs the watch a tenth of its time at most.
//!
//! Tests: `tests/it/stuck.rs`; `crates/tokio/tests/tracing/stuck.rs`.

use super::bell::Bell;
use crate::dump::stack_of;
use crate::runtime::StuckTask;
use crate::scheduler::Shared;
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
use crate::scheduler::roll;
use crate::scheduler::roll::{CurrentPoll, Present};
use nezumi_trace::{Spawned, StuckPoll};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Between two requests for a stack.
const STACK_EVERY: Duration = Duration::from_millis(100);
/// How long is waited for one. A thread that runs or sleeps answers within some ten microseconds; one that waits for a processor takes longer.
const ANSWERS_WITHIN: Duration = Duration::from_millis(10);

/// A poll that has lasted too long.
pub(super) struct Stuck {
    /// The number of the worker's shard.
    pub(super) index: usize,
    /// The number of the poll.
    pub(super) begun: u64,
    pub(super) elapsed: Duration,
    pub(super) burns: bool,
}

/// Remembers what was told.
#[derive(Default)]
pub(super) struct Reporter {
    /// When a thread was last asked for its stack.
    asked: Option<Instant>,
}

impl Reporter {
    pub(super) fn report(&mut self, bell: &Bell, shared: &Shared, stuck: Stuck) {
        // One writer.
        shared.stuck_polls.store(shared.stuck_polls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if nezumi_trace::hears_of_stuck_polls() {
            bell.contain(|| tell_subscribers(shared, &stuck));
        }
        let Some(hook) = &shared.config.hooks.stuck else { return };
        let polling = &shared.shard(stuck.index).polling;
        let Some((id, spawned_at)) = polling.task_of(stuck.begun) else { return };
        let backtrace = shared
            .config
            .stuck_signal
            .filter(|_| self.may_ask())
            .and_then(|signal| stack_of(signal, polling, stuck.begun, ANSWERS_WITHIN));
        let worker = shared.number_of(stuck.index);
        let Stuck { elapsed, burns, .. } = stuck;
        let stuck = StuckTask { id, spawned_at, worker, elapsed, burns, backtrace };
        bell.contain(|| hook(&stuck));
    }

    fn may_ask(&mut self) -> bool {
        let now = Instant::now();
        let may = self.asked.is_none_or(|asked| now - asked >= STACK_EVERY);
        if may {
            self.asked = Some(now);
        }
        may
    }
}

/// Called where the program's code may be.
fn tell_subscribers(shared: &Shared, stuck: &Stuck) {
    let task = task_of(shared, CurrentPoll { shard: stuck.index, begun: stuck.begun });
    nezumi_trace::poll_is_stuck(&StuckPoll {
        task: task.as_ref().map(|task| Spawned {
            id: task.id.0.get(),
            name: task.name.as_deref(),
            at: task.spawned_at,
        }),
        worker: shared.number_of(stuck.index),
        elapsed: stuck.elapsed,
        burns: stuck.burns,
    });
}

#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
fn task_of(shared: &Shared, poll: CurrentPoll) -> Option<Present> {
    roll::polled_in(shared, &crate::dump::GRACE, poll)
}

/// The models have a grace each.
#[cfg(any(nezumi_loom, nezumi_shuttle))]
fn task_of(_shared: &Shared, _poll: CurrentPoll) -> Option<Present> {
    None
}
