//! What a busy worker looks after every few dozen steps.
//!
//! Called by `worker::step`. Looks at the clock once per round, and at the driver, the timers, the tasks that have yielded and another worker, so that
//! none of them starves behind a ring that never empties. Tunes how often the inject queue goes first, about every 200 µs of work, as
//! Tokio does, and how often a round is: after at most 61 steps, and sooner where polls are so long that these would take more than half a
//! millisecond. Test: `long_polls_make_rounds_come_sooner` in `tests/it/scheduler.rs`.

use super::glance::Glance;
use super::worker::Worker;
use super::{Shard, Shared};
use crate::driver;
use crate::timer::NEVER;
use nezumi_prim::time::now;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How much work may pass between two looks at the inject queue.
const INJECT_EVERY: Duration = Duration::from_micros(200);
/// How much work may pass between two rounds.
const ROUND_EVERY: Duration = Duration::from_micros(500);
/// Of so many attempts to turn the driver for those who wait for that, which found somebody in it, one asks whether others are to run.
const MAKE_WAY_EVERY: u32 = 4;
/// And not before so much time has passed since it was asked: that costs a system call.
const MAKE_WAY_PAUSE: Duration = Duration::from_millis(1);
/// The step of the first round at the latest: nothing is known of this worker's polls yet.
const FIRST_ROUND: u32 = 4;
/// The bounds of the tuned interval between looks at the inject queue, in steps.
const INJECT_STEPS: (u32, u32) = (2, 127);
/// The interval before anything is known, and where the builder sets none.
const INJECT_STEPS_AT_FIRST: u32 = 61;

/// When this worker looks after what.
pub(super) struct Upkeep {
    /// The step of the next round.
    next_round: Cell<u32>,
    /// The step at which the inject queue goes first.
    next_inject: Cell<u32>,
    inject_steps: Cell<u32>,
    /// The builder fixed the interval.
    fixed: bool,
    /// Between two rounds at the most, and as it is tuned.
    most_round_steps: u32,
    round_steps: Cell<u32>,
    /// How often somebody else sat in the driver when others were to wait for it.
    turned_away: Cell<u32>,
    /// When it was last asked whether others are to run for that.
    asked: Cell<Option<Instant>>,
    meter: Meter,
    glance: Glance,
}

/// Measures how long a worker was busy, and what a poll took in that time.
pub(super) struct Meter {
    /// When this round, or this waking time, began.
    began: Cell<Instant>,
    /// The polls begun by then.
    polls_then: Cell<u64>,
}

impl Meter {
    /// For a shard that others may have driven before: their polls are not this one's.
    pub(super) fn new(shard: &Shard) -> Self {
        Self { began: Cell::new(now()), polls_then: Cell::new(shard.polling.begun()) }
    }

    /// The worker is busy from now on.
    pub(super) fn start(&self) {
        self.began.set(now());
    }

    /// The worker was busy until now. Returns the moving average of a poll's nanoseconds, if there were any polls.
    pub(super) fn measure(&self, shard: &Shard, now: Instant) -> Option<u64> {
        let busy_ns = now.saturating_duration_since(self.began.replace(now)).as_nanos() as u64;
        shard.counters.busy_ns.add(busy_ns);
        let begun = shard.polling.begun();
        let polls = begun.wrapping_sub(self.polls_then.replace(begun));
        let poll_ns = busy_ns.checked_div(polls)?;
        let old_ns = shard.counters.mean_poll_ns.get();
        // An exponential average: a tenth of what is new.
        let mean_ns = if old_ns == 0 { poll_ns } else { old_ns - old_ns / 10 + poll_ns / 10 }.max(1);
        shard.counters.mean_poll_ns.set(mean_ns);
        Some(mean_ns)
    }
}

impl Upkeep {
    pub(super) fn new(shard: &Shard) -> Self {
        let config = &shard.shared().config;
        Self {
            next_round: Cell::new(config.event_interval.min(FIRST_ROUND)),
            next_inject: Cell::new(1),
            inject_steps: Cell::new(config.global_queue_interval.unwrap_or(INJECT_STEPS_AT_FIRST)),
            fixed: config.global_queue_interval.is_some(),
            most_round_steps: config.event_interval,
            round_steps: Cell::new(config.event_interval),
            turned_away: Cell::new(0),
            asked: Cell::new(None),
            meter: Meter::new(shard),
            glance: Glance::new(shard.index()),
        }
    }

    #[inline(always)]
    pub(super) fn is_due(&self, tick: u32) -> bool {
        tick == self.next_round.get()
    }

    /// Whether the inject queue goes first in this step. Asked once per step at most.
    #[inline(always)]
    pub(super) fn is_inject_due(&self, tick: u32) -> bool {
        tick == self.next_inject.get()
    }

    /// The step at which the inject queue went first is over.
    #[inline]
    pub(super) fn inject_done(&self, tick: u32) {
        self.next_inject.set(tick.wrapping_add(self.inject_steps.get()));
    }

    /// One round.
    #[inline(never)]
    pub(super) fn look_after(&self, worker: &Worker) {
        self.look_around(worker);
        self.next_round.set(worker.tick.get().wrapping_add(self.round_steps.get()));
        self.turn_driver(worker);
        worker.dispatch(|| worker.keep_yielded());
        self.advance_timers(worker);
    }

    /// Counts the time since the last look as busy, and tunes the intervals, and what is worth a theft, by what a poll took in it. Returns the time.
    pub(super) fn measure(&self, worker: &Worker) -> Instant {
        let now = now();
        if let Some(mean_ns) = self.meter.measure(worker.shard(), now) {
            // Without the watch nobody would notice that a poll is unlike those before it.
            if worker.shared().watch.looks() {
                worker.shard().crowd.tune(mean_ns);
            }
            let steps_in = |time: Duration| time.as_nanos() as u64 / mean_ns;
            if !self.fixed {
                let steps = steps_in(INJECT_EVERY);
                self.inject_steps.set(steps.clamp(INJECT_STEPS.0.into(), INJECT_STEPS.1.into()) as u32);
            }
            self.round_steps.set(steps_in(ROUND_EVERY).clamp(1, self.most_round_steps.into()) as u32);
        }
        now
    }

    /// Measures, and glances at another worker.
    pub(super) fn look_around(&self, worker: &Worker) {
        let now = self.measure(worker);
        self.glance.glance(worker, worker.shared().micros(now));
    }

    /// Slept until now.
    pub(super) fn wake_up(&self) {
        self.meter.start();
    }

    /// Dispatches what the driver has ready, without waiting. Does nothing, and returns `false`, while somebody else sits in the driver.
    pub(super) fn turn_driver(&self, worker: &Worker) -> bool {
        let shared = worker.shared();
        let Some(handle) = &shared.driver else { return true };
        let Some(mut seat) = shared.driver_seat.try_lock() else { return false };
        if let Some(driver) = &mut *seat {
            shared.driver_turns.fetch_add(1, Ordering::Relaxed);
            worker.dispatch(|| {
                driver.turn(handle, Some(Duration::ZERO), shared.config.events_per_busy_turn);
            });
        }
        true
    }

    /// Those who are runnable here have asked to wait for a turn of the driver, in which somebody else sits. If there is something to be dispatched,
    /// that thread has been woken and waits for a processor: this one lets others run. Asked now and then; where nothing is to be dispatched,
    /// giving up the processor would only let others rob this thread of what it works on (of bounded channels a third of the speed).
    pub(super) fn make_way(&self, shared: &Shared) {
        let turned_away = self.turned_away.get().wrapping_add(1);
        self.turned_away.set(turned_away);
        if turned_away % MAKE_WAY_EVERY != 0 {
            return;
        }
        let now = now();
        if self.asked.get().is_some_and(|then| now.saturating_duration_since(then) < MAKE_WAY_PAUSE) {
            return;
        }
        self.asked.set(Some(now));
        if shared.driver.as_ref().is_some_and(driver::Handle::has_events) {
            nezumi_prim::thread::yield_now();
        }
    }

    /// Fires the timers that are due.
    pub(super) fn advance_timers(&self, worker: &Worker) {
        let timers = worker.timers();
        if timers.next_deadline_ms() != NEVER {
            let now_ms = worker.shared().clock.now_ms();
            worker.dispatch(|| {
                timers.advance(now_ms);
            });
        }
    }
}
