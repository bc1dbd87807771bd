//! One look after another: who is stuck, and what is to be done about it.
//!
//! Called by `watch`, whose thread this is. Calls hooks and wakers, by way of `Bell::contain`. Promise and tests: those of `watch`.

use super::bell::Bell;
use super::report::{Reporter, Stuck};
use crate::runtime::Handle;
use crate::scheduler::{Shard, Shared, shutdown, thread};
use crate::timer::NEVER;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

/// Between two looks while workers are awake that glance at each other, or while there is only one worker.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// By how much the system may delay such a look of a calm watch, so that it comes with the next interrupt of its own: a timer that is set for it, and
/// its interrupt, cost more than the look.
const CALM_SLACK: Duration = Duration::from_millis(2);
/// How long the watch is alert: from its start, and from each look that finds a worker blocked, or in a long poll. Such programs do so again.
const ALERT_AT_FIRST: Duration = Duration::from_millis(50);
const ALERT_FOR: Duration = Duration::from_secs(10);
/// Between two looks while one worker is awake and others sleep: nobody glances at it, and a processor is free to look.
const LOOK_AT_ONE_EVERY: Duration = Duration::from_millis(1);
/// Between a look that finds a worker newly stuck, and nobody to help, and the next: by then it is known whether the worker sleeps or burns.
const LOOK_AGAIN_AFTER: Duration = Duration::from_micros(400);
/// Between two looks after one that found all workers asleep.
const LOOK_QUIETLY_EVERY: Duration = Duration::from_millis(1);
/// Looks in a row that find all asleep before the watch sleeps, too.
const QUIET_LOOKS: u32 = 16;
/// Looks in a row that find more spares than stuck workers before one is sent away.
const SURPLUS_LOOKS: u32 = 16;

/// Looks in a row that cannot tell what a stuck worker does before the program is told that it burns its processor. One that sleeps may be seen
/// just as it has woken, but hardly ever so often.
const DOUBTFUL_LOOKS: u32 = 8;

/// What the watch has seen of one worker.
#[derive(Clone, Copy)]
struct Seen {
    /// The polls it had begun at the last look.
    begun: u64,
    /// Looks in a row that found it stuck in the last of them.
    stuck_looks: u32,
    /// The processor time it had used at the first of these.
    cpu: Option<Duration>,
    /// When that look was.
    first_look: Instant,
    /// Looks that would have reported it but could not tell what it does.
    doubtful_looks: u32,
    reported: bool,
}

/// What a worker does that is stuck in a poll.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// It waits, in a system call or on a lock.
    Sleeps,
    /// It has used its processor for at least half of the time since the first look that found it stuck.
    Burns,
    /// It has not, but would if others left it one. On a crowded machine that looks like a worker that is blocked, and a spare would only crowd
    /// it more.
    Starves,
}

/// What one look found.
#[derive(Default)]
struct Found {
    stuck: usize,
    /// Those of them that sleep in their poll, and those that use their processor.
    blocked: usize,
    burning: usize,
    /// There is one of whom it is not known yet.
    is_new: bool,
    /// The worker that a spare would stand in for.
    needs_help: Option<usize>,
}

/// What the watch remembers from look to look.
pub(super) struct Looker<'a> {
    handle: &'a Handle,
    bell: &'a Bell,
    shared: &'a Shared,
    seen: Vec<Seen>,
    turns: u64,
    surplus_looks: u32,
    alert_until: Instant,
    reporter: Reporter,
}

impl<'a> Looker<'a> {
    pub(super) fn new(handle: &'a Handle, bell: &'a Bell) -> Self {
        let shared = handle.shared();
        let now = Instant::now();
        let seen = Seen {
            begun: u64::MAX,
            stuck_looks: 0,
            cpu: None,
            first_look: now,
            doubtful_looks: 0,
            reported: false,
        };
        Self {
            handle,
            bell,
            shared,
            seen: vec![seen; shared.workers() + shared.spares.count()],
            turns: u64::MAX,
            surplus_looks: 0,
            alert_until: now + ALERT_AT_FIRST,
            reporter: Reporter::default(),
        }
    }

    pub(super) fn run(&mut self) {
        let bell = self.bell;
        let mut quiet = 0;
        while !bell.is_stopped() {
            if self.shared.idle.all_sleeping(self.shared.spares.active()) {
                quiet += 1;
                self.send_spare_away();
                if quiet >= QUIET_LOOKS && self.shared.spares.active() == 0 {
                    bell.sleep(&self.shared.idle);
                    quiet = 0;
                    continue;
                }
                self.pause(LOOK_QUIETLY_EVERY, None);
            } else {
                quiet = 0;
                if self.look() {
                    self.pause(LOOK_AGAIN_AFTER, None);
                } else if self.is_one_awake() {
                    self.pause(LOOK_AT_ONE_EVERY, None);
                } else {
                    let is_calm = Instant::now() >= self.alert_until;
                    self.pause(LOOK_EVERY, is_calm.then_some(CALM_SLACK));
                }
            }
        }
    }

    /// Pauses between two looks. The system may be late by `slack`, by its default if there is none.
    fn pause(&self, pause: Duration, slack: Option<Duration>) {
        if slack.is_some() {
            thread::set_timer_slack(slack);
        }
        self.bell.pause(pause);
        if slack.is_some() {
            // At once: threads that are begun from here, and code of the program's, would have it, too.
            thread::set_timer_slack(None);
        }
    }

    /// Whether one is awake, and others sleep.
    fn is_one_awake(&self) -> bool {
        let sleeping = self.shared.idle.sleeping();
        sleeping > 0 && sleeping + 1 >= self.shared.workers() + self.shared.spares.active()
    }

    /// One look. Whether the next should come soon.
    fn look(&mut self) -> bool {
        let now = Instant::now();
        let mut found = Found::default();
        for index in 0..self.shared.crew() {
            self.look_at(index, now, &mut found);
        }
        // One that only wants for a processor is no reason.
        if found.blocked + found.burning > 0 {
            self.alert_until = now + ALERT_FOR;
        }
        self.attend_driver(found.stuck > 0);
        self.see_to_spares(&found);
        found.is_new && !self.shared.idle.any_sleeping()
    }

    fn look_at(&mut self, index: usize, now: Instant, found: &mut Found) {
        let shared = self.shared;
        let shard = shared.shard(index);
        let begun = shard.polling.begun();
        let may_be_stuck = shard.polling.is_driven() && !shared.idle.is_sleeping(index);
        let since_us = if may_be_stuck { shard.sight.lasts(begun, shared.micros(now)) } else { None };
        if shard.crowd.stuck.load(Ordering::Relaxed) != since_us.is_some() {
            shard.crowd.stuck.store(since_us.is_some(), Ordering::Relaxed);
        }
        let seen = &mut self.seen[index];
        if since_us.is_none() || seen.begun != begun {
            *seen = Seen { begun, stuck_looks: 0, doubtful_looks: 0, reported: false, ..*seen };
        }
        let Some(since_us) = since_us else { return };
        seen.stuck_looks += 1;
        if seen.stuck_looks == 1 {
            (seen.cpu, seen.first_look) = (shard.polling.cpu_time(), now);
            found.is_new = true;
        }
        found.stuck += 1;
        if index < shared.workers() {
            self.fire_timers(index);
        }
        if shard.has_stealable() {
            shared.notify();
        }
        let seen = &self.seen[index];
        if seen.stuck_looks > 1 {
            let pace = seen.pace(shard, now);
            match pace {
                Pace::Sleeps => found.blocked += 1,
                Pace::Burns => found.burning += 1,
                Pace::Starves => {}
            }
            found.needs_help = found.needs_help.or(self.if_alone(index));
            let elapsed = Duration::from_micros(shared.micros(now).saturating_sub(since_us));
            if elapsed >= shared.config.stuck_after && self.seen[index].is_to_be_told(pace, now) {
                let stuck = Stuck { index, begun, elapsed, burns: pace != Pace::Sleeps };
                self.reporter.report(self.bell, shared, stuck);
            }
        }
    }

    /// The worker that a spare for this one would stand in for, if none does. A spare that is stuck itself needs another.
    fn if_alone(&self, index: usize) -> Option<usize> {
        let spares = &self.shared.spares;
        let has_stand_in =
            (0..spares.used()).any(|spare| spares.is_at_work(spare) && spares.stands_for(spare) == index);
        (!has_stand_in).then(|| self.shared.number_of(index))
    }

    /// Begins a spare, or sends one away.
    fn see_to_spares(&mut self, found: &Found) {
        let shared = self.shared;
        let active = shared.spares.active();
        let all_stuck = found.stuck >= shared.workers() + active;
        let burning = if all_stuck { found.burning.min(shared.workers().div_ceil(2)) } else { 0 };
        let wanted = found.blocked + burning;
        if active > wanted {
            self.surplus_looks += 1;
            if self.surplus_looks >= SURPLUS_LOOKS {
                self.send_spare_away();
            }
            return;
        }
        self.surplus_looks = 0;
        let Some(worker) = found.needs_help else { return };
        if shared.idle.any_sleeping() {
            return;
        }
        let is_waiting =
            all_stuck || shared.has_shared_work() || shared.crew_shards().any(Shard::has_stealable);
        if active < wanted && is_waiting && !shared.spares.call_back() {
            self.begin_spare(worker);
        }
    }

    fn begin_spare(&self, worker: usize) {
        let shared = self.shared;
        // Counted first: who ends the runtime looks which spares are dormant, and must not do so while one of them is about to be given a
        // thread and gets none.
        if !shutdown::spare_begins(shared) {
            return;
        }
        let Some(spare) = shared.spares.begin(worker, shared.workers()) else {
            return shutdown::spare_left(shared);
        };
        let index = shared.spare_index(spare);
        // The system may have no thread for it; then there is one worker less for as long as the other is stuck, as without us.
        if thread::hand_over(self.handle, index).is_err() {
            shared.spares.not_begun(spare);
            shutdown::spare_left(shared);
        }
    }

    fn send_spare_away(&mut self) {
        if let Some(spare) = self.shared.spares.send_away() {
            self.shared.wake(self.shared.spare_index(spare));
        }
        self.surplus_looks = 0;
    }

    /// Fires what is due of a stuck worker's timers. The wakes go to the inject queue, or are code of the program's.
    fn fire_timers(&self, index: usize) {
        let timers = &self.shared.shard(index).timers;
        if timers.next_deadline_ms() != NEVER {
            self.bell.contain(|| _ = timers.advance(self.shared.clock.now_ms()));
        }
    }

    /// Nobody has turned the driver since the last look, and nobody sits in it: have a sleeper do that, or else do it here.
    fn attend_driver(&mut self, stuck_somewhere: bool) {
        let turns = self.shared.driver_turns.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.turns, turns) != turns {
            return;
        }
        let Some(handle) = &self.shared.driver else { return };
        let Some(mut seat) = self.shared.driver_seat.try_lock() else { return };
        if let (Some(driver), true, false) = (&mut *seat, stuck_somewhere, self.shared.idle.any_sleeping()) {
            driver.turn(handle, Some(Duration::ZERO), self.shared.config.events_per_busy_turn);
        }
        drop(seat);
        // SeqCst: pairs with the fence in `Worker::sleep`. Either that worker finds the seat free, or its bit is seen here.
        fence(Ordering::SeqCst);
        // Asked only now: a worker that fell asleep while the seat was ours found it taken, and sleeps beside it. Whoever is woken
        // finds nothing to run, and then goes to sleep in the driver.
        if self.shared.idle.any_sleeping() {
            self.shared.notify();
        }
    }
}

impl Seen {
    /// Whether the program is to be told now of a worker that has been stuck for long enough: once, and when it is known how. A worker that wants
    /// for a processor may have been asleep until just now; and the first look may have come late, and then says little of the poll.
    fn is_to_be_told(&mut self, pace: Pace, now: Instant) -> bool {
        let is_clear = pace != Pace::Starves && now - self.first_look >= LOOK_EVERY;
        self.doubtful_looks += u32::from(!is_clear);
        (is_clear || self.doubtful_looks > DOUBTFUL_LOOKS) && !std::mem::replace(&mut self.reported, true)
    }

    /// Where the system does not say, a stuck worker is taken to burn: fewer spares are begun for those, and one is enough to serve what waits.
    fn pace(&self, shard: &Shard, now: Instant) -> Pace {
        match (self.cpu, shard.polling.cpu_time()) {
            (Some(then), Some(until_now)) if 2 * until_now.saturating_sub(then) < now - self.first_look => {
                if shard.polling.is_runnable() {
                    Pace::Starves
                } else {
                    Pace::Sleeps
                }
            }
            _ => Pace::Burns,
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{DOUBTFUL_LOOKS, Duration, Instant, LOOK_EVERY, Pace, Seen};

    fn seen(first_look: Instant) -> Seen {
        Seen { begun: 1, stuck_looks: 1, cpu: None, first_look, doubtful_looks: 0, reported: false }
    }

    #[test]
    fn a_sleeper_seen_as_it_wakes_is_told_of_at_the_next_look() {
        let began = Instant::now();
        let mut seen = seen(began);
        assert!(!seen.is_to_be_told(Pace::Starves, began + 5 * LOOK_EVERY));
        assert!(seen.is_to_be_told(Pace::Sleeps, began + 6 * LOOK_EVERY));
        assert!(!seen.is_to_be_told(Pace::Sleeps, began + 7 * LOOK_EVERY), "once");
    }

    #[test]
    fn what_a_first_look_that_came_late_says_is_not_told() {
        let began = Instant::now();
        let mut seen = seen(began);
        assert!(!seen.is_to_be_told(Pace::Burns, began + Duration::from_micros(400)));
        assert!(seen.is_to_be_told(Pace::Sleeps, began + LOOK_EVERY));
    }

    #[test]
    fn who_finds_no_processor_is_told_of_in_the_end() {
        let began = Instant::now();
        let mut seen = seen(began);
        let looks = (1..).find(|&look| seen.is_to_be_told(Pace::Starves, began + look * LOOK_EVERY));
        assert_eq!(looks, Some(DOUBTFUL_LOOKS + 1));
    }
}
