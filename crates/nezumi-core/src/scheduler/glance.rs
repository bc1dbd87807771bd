//! A worker's glance at the next one: whether it has been in one poll for long.
//!
//! Called by `upkeep` (a worker between two of its polls) and `watch` (who looks when no worker does). A glance costs a worker two loads of lines
//! that another writes, a few times in a millisecond, and no wake of anybody; so the watch, whose looks cost one each, need not look often while
//! workers are awake beside each other.
//!
//! Each worker glances at one other at a time, in turn, those that sleep left out. What anybody has seen of a worker stands in its
//! [`Sight`], so that the glances of all add up: with as many workers awake as you like, each is looked at about every [`EVERY_US`].
//!
//! Promise: whoever finds the poll of another to last opens its ring, the hot tail included, to thieves, fires those of its timers that are due,
//! and, if there is anything to take, has a sleeper woken or, where nobody sleeps, takes half of it. Nothing here is relied on: a glance that is missed, or one that is mistaken since
//! only the low bits of a poll's number are kept, costs a look more. Spares are begun by the watch alone.
//!
//! Tests: below, and `a_busy_worker_takes_over_from_one_that_is_stuck` in `tests/it/spares.rs`.

use super::worker::Worker;
use crate::timer::NEVER;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A poll that is seen twice, this far apart, lasts: its worker is stuck.
const LASTING_US: u64 = 900;
/// Between two glances of one worker.
const EVERY_US: u64 = 250;
/// Of a sight, the bits for the time, in microseconds; the others are the poll's number, as far as it fits.
const TIME_BITS: u32 = 44;

/// Which poll a worker was first seen in, and when. One word, so that the two belong together whoever writes it.
#[derive(Debug)]
pub(super) struct Sight(AtomicU64);

/// When and at whom one worker glances next.
pub(super) struct Glance {
    due_us: Cell<u64>,
    next: Cell<usize>,
}

impl Sight {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(NOTHING))
    }

    /// Since when the worker has been seen in the poll with this number, if that is long enough for it to be stuck.
    pub(super) fn lasts(&self, begun: u64, now_us: u64) -> Option<u64> {
        // Relaxed, as all of it: whoever is late sees an older sight, and the poll lasts as long for the next one.
        let seen = self.0.load(Ordering::Relaxed);
        let sight = pack(begun, now_us);
        if seen == NOTHING || seen >> TIME_BITS != sight >> TIME_BITS {
            self.0.store(sight, Ordering::Relaxed);
            return None;
        }
        let since_us = seen & TIME;
        (now_us.wrapping_sub(since_us) & TIME >= LASTING_US).then_some(since_us)
    }

    /// Since when the worker has been seen in the poll with this number, if it was.
    #[cfg_attr(any(nezumi_loom, nezumi_shuttle), allow(dead_code))]
    pub(super) fn since(&self, begun: u64) -> Option<u64> {
        let seen = self.0.load(Ordering::Relaxed);
        (seen != NOTHING && seen >> TIME_BITS == pack(begun, 0) >> TIME_BITS).then_some(seen & TIME)
    }

    /// The worker has been asleep: that it has begun no poll meanwhile says nothing.
    pub(super) fn forget(&self) {
        self.0.store(NOTHING, Ordering::Relaxed);
    }
}

const TIME: u64 = (1 << TIME_BITS) - 1;
/// No time that is ever packed: it is half a year past the start.
const NOTHING: u64 = u64::MAX;

fn pack(begun: u64, now_us: u64) -> u64 {
    begun << TIME_BITS | (now_us & TIME)
}

impl Glance {
    pub(super) fn new(index: usize) -> Self {
        Self { due_us: Cell::new(0), next: Cell::new(index + 1) }
    }

    /// Between two polls: looks whether another worker has been in one for long, and if so makes what it holds available.
    #[inline]
    pub(super) fn glance(&self, worker: &Worker, now_us: u64) {
        if now_us >= self.due_us.get() {
            self.due_us.set(now_us + EVERY_US);
            if worker.shared().config.watch {
                self.at_the_next(worker, now_us);
            }
        }
    }

    fn at_the_next(&self, worker: &Worker, now_us: u64) {
        let shared = worker.shared();
        let crew = shared.crew();
        let is_awake = |index: &usize| *index != worker.index() && !shared.idle.is_sleeping(*index);
        let start = self.next.get();
        let Some(index) = (start..start + crew).map(|index| index % crew).find(is_awake) else { return };
        self.next.set(index + 1);
        let shard = shared.shard(index);
        if !shard.polling.is_driven() || shard.sight.lasts(shard.polling.begun(), now_us).is_none() {
            return;
        }
        // The watch takes it back.
        shard.crowd.stuck.store(true, Ordering::Relaxed);
        if index < shared.workers() && shard.timers.next_deadline_ms() != NEVER {
            worker.dispatch(|| {
                shard.timers.advance(shared.clock.now_ms());
            });
        }
        if shard.has_stealable() {
            if shared.idle.any_sleeping() {
                shared.notify();
            } else {
                worker.take_over_from(shard);
            }
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{LASTING_US, Sight, TIME};

    #[test]
    fn a_poll_lasts_once_it_was_seen_long_enough_ago() {
        let sight = Sight::new();
        assert_eq!(sight.lasts(7, 100), None, "it is seen for the first time");
        assert_eq!(sight.lasts(7, 100 + LASTING_US - 1), None);
        assert_eq!(sight.lasts(7, 100 + LASTING_US), Some(100));
        assert_eq!((sight.since(7), sight.since(8)), (Some(100), None));
        assert_eq!(sight.lasts(8, 5000), None, "the next poll");
        assert_eq!(sight.lasts(8, 5000 + LASTING_US), Some(5000));
    }

    #[test]
    fn a_sleep_between_two_glances_is_no_long_poll() {
        let sight = Sight::new();
        assert_eq!(sight.lasts(7, 100), None);
        sight.forget();
        assert_eq!(sight.lasts(7, 100_000), None);
    }

    #[test]
    fn numbers_and_times_may_wrap() {
        let sight = Sight::new();
        assert_eq!(sight.lasts(u64::MAX, TIME - 10), None);
        assert_eq!(sight.lasts(u64::MAX, TIME + LASTING_US), Some(TIME - 10));
        assert_eq!(sight.lasts(0, TIME + 2 * LASTING_US), None);
    }
}
