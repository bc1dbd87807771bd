//! Spare workers: who stands in when workers are blocked and nobody is left to take over.
//!
//! Called by `watch` (starts them, sends them away), `thread` and `worker` (a spare that leaves), `shutdown`. A spare is a worker with a shard
//! of its own, which lies dormant as long as nobody needs it. It looks after the timers of the worker that it stands in for, and answers
//! to that worker's number; its queue is open to thieves as any other.
//!
//! ```text
//!            watch: begin            watch: send_away           spare: leave            spare: is_gone
//! DORMANT ──────────────▶ ACTIVE ──────────────▶ LEAVING ──────────────▶ GONE_SOON ──────────────▶ DORMANT
//!                            ▲   watch: call_back   │
//!                            └──────────────────────┘
//! ```
//!
//! and from `ACTIVE` and `LEAVING` to `ENDED`, by the spare, when the runtime shuts down.
//!
//! Promise: a shard has one owner at a time. The watch, of which there is one, is the only one that begins a spare; it may do so when it sees
//! `DORMANT`, which the last owner writes when it is done with the shard. A spare that leaves has emptied its queues into those
//! that all share before it is seen to be gone.
//!
//! Tests: the models `a_spare_that_leaves_takes_nothing_with_it`, `a_spare_is_called_back_or_gone`, `a_dormant_spare_has_left_its_shard` and
//! `a_spare_that_has_left_is_not_among_the_sleepers`;
//! `tests/it/spares.rs`.

use nezumi_prim::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

const DORMANT: u8 = 0;
const ACTIVE: u8 = 1;
const LEAVING: u8 = 2;
const GONE_SOON: u8 = 3;
const ENDED: u8 = 4;

/// All spares of one runtime.
#[derive(Debug)]
pub(crate) struct Spares {
    /// As many of them as were ever begun are looked at by thieves.
    used: AtomicUsize,
    /// Those that are neither dormant nor about to be.
    active: AtomicUsize,
    /// How often one was begun, and was given a thread.
    begun: AtomicU64,
    spares: Box<[Spare]>,
}

#[derive(Debug)]
struct Spare {
    state: AtomicU8,
    /// The worker whose timers and number it has.
    stands_for: AtomicUsize,
}

impl Spares {
    pub(crate) fn new(count: usize) -> Self {
        let spare = || Spare { state: AtomicU8::new(DORMANT), stands_for: AtomicUsize::new(0) };
        Self {
            used: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            begun: AtomicU64::new(0),
            spares: (0..count).map(|_| spare()).collect(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.spares.len()
    }

    /// How many, from the first on, have ever been at work.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        // Relaxed: who does not see a new one yet will find its tasks by way of the notification that follows their push.
        self.used.load(Ordering::Relaxed)
    }

    /// How many are at work.
    pub(crate) fn active(&self) -> usize {
        // Acquire: pairs with the Release in `leave`; one that is not counted any more is not found asleep, either (`watch`).
        self.active.load(Ordering::Acquire)
    }

    /// How often one was begun, and was given a thread.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn stands_for(&self, spare: usize) -> usize {
        // Relaxed: written before the spare's thread was given the job.
        self.spares[spare].stands_for.load(Ordering::Relaxed)
    }

    /// Whether this one is at work.
    pub(crate) fn is_at_work(&self, spare: usize) -> bool {
        matches!(self.spares[spare].state.load(Ordering::Relaxed), ACTIVE | LEAVING)
    }

    /// For the watch: makes a dormant spare the stand-in for `worker`, if there is one. It must then be given a thread, or
    /// [`is_gone`](Self::is_gone). One whose own timers lie with that worker is taken first.
    pub(crate) fn begin(&self, worker: usize, workers: usize) -> Option<usize> {
        // Acquire: pairs with the Release in `is_gone`, which ends the last owner's part.
        let dormant = |spare: &usize| self.spares[*spare].state.load(Ordering::Acquire) == DORMANT;
        let spare = (0..self.spares.len())
            .filter(|spare| spare % workers == worker)
            .find(dormant)
            .or_else(|| (0..self.spares.len()).find(dormant))?;
        self.spares[spare].stands_for.store(worker, Ordering::Relaxed);
        self.spares[spare].state.store(ACTIVE, Ordering::Relaxed);
        // Relaxed, here and below: the watch alone asks for these, or they are counts for those who ask.
        self.active.fetch_add(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        // A maximum by hand: there is one watch.
        if self.used() <= spare {
            self.used.store(spare + 1, Ordering::Relaxed);
        }
        Some(spare)
    }

    /// For the watch: tells one that is at work to leave. Whether there was one; it must be woken.
    pub(crate) fn send_away(&self) -> Option<usize> {
        (0..self.used()).rev().find(|&spare| {
            self.spares[spare]
                .state
                .compare_exchange(ACTIVE, LEAVING, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        })
    }

    /// For the watch: keeps one that was told to leave and has not yet begun to. Whether there was one.
    pub(crate) fn call_back(&self) -> bool {
        (0..self.used()).any(|spare| {
            self.spares[spare]
                .state
                .compare_exchange(LEAVING, ACTIVE, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        })
    }

    /// For the spare itself: whether it is to leave.
    #[inline]
    pub(crate) fn is_told_to_leave(&self, spare: usize) -> bool {
        self.spares[spare].state.load(Ordering::Relaxed) == LEAVING
    }

    /// For the spare itself: leaves from now on, unless it has been called back.
    pub(crate) fn leave(&self, spare: usize) -> bool {
        let left = self.spares[spare]
            .state
            .compare_exchange(LEAVING, GONE_SOON, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if left {
            // Release: pairs with the Acquire in `active`; its bit among the sleepers was cleared before.
            self.active.fetch_sub(1, Ordering::Release);
        }
        left
    }

    /// For the spare itself, which has left, and is done with its shard.
    pub(crate) fn is_gone(&self, spare: usize) {
        // Release: pairs with the Acquire in `begin`, and in `is_dormant`.
        self.spares[spare].state.store(DORMANT, Ordering::Release);
    }

    /// For the watch: the spare could not be given a thread.
    pub(crate) fn not_begun(&self, spare: usize) {
        // Relaxed: as in `begin`.
        self.active.fetch_sub(1, Ordering::Relaxed);
        self.begun.fetch_sub(1, Ordering::Relaxed);
        self.is_gone(spare);
    }

    /// For the spare itself: the runtime shuts down, and it has ended the part of its shard, too.
    pub(crate) fn ended(&self, spare: usize) {
        // Relaxed: nobody takes the shard over from it, and whoever ends the runtime comes after it by the count of those who have left.
        self.spares[spare].state.store(ENDED, Ordering::Relaxed);
    }

    /// For whoever ends the runtime, when no thread runs a worker any more: whether this spare's shard is still to be ended.
    pub(crate) fn is_dormant(&self, spare: usize) -> bool {
        self.spares[spare].state.load(Ordering::Acquire) == DORMANT
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Spares;

    #[test]
    fn a_spare_stands_for_the_worker_that_keeps_its_timers_where_it_can() {
        let spares = Spares::new(2);
        assert_eq!((spares.begin(1, 2), spares.used(), spares.active()), (Some(1), 2, 1));
        assert_eq!((spares.begin(1, 2), spares.active()), (Some(0), 2), "another, since its own is taken");
        assert_eq!(spares.stands_for(0), 1);
        assert_eq!(spares.begin(0, 2), None, "there are no more");
    }

    #[test]
    fn one_that_gets_no_thread_was_never_begun() {
        let spares = Spares::new(1);
        let spare = spares.begin(0, 4).unwrap();
        spares.not_begun(spare);
        assert_eq!((spares.active(), spares.begun()), (0, 0), "or the watch would never sleep again");
        assert!(spares.is_dormant(spare) && !spares.is_at_work(spare));
        assert_eq!(spares.begin(0, 4), Some(spare));
    }

    #[test]
    fn one_that_was_sent_away_can_be_called_back_until_it_leaves() {
        let spares = Spares::new(1);
        assert_eq!(spares.send_away(), None);
        assert_eq!(spares.begin(0, 4), Some(0));
        assert!(!spares.leave(0), "nobody told it to");
        assert_eq!(spares.send_away(), Some(0));
        assert!(spares.is_told_to_leave(0) && spares.call_back() && !spares.leave(0));
        assert_eq!(spares.send_away(), Some(0));
        assert!(spares.leave(0) && !spares.call_back());
        assert_eq!((spares.begin(0, 4), spares.active()), (None, 0), "it is not gone yet");
        spares.is_gone(0);
        assert_eq!(spares.begin(0, 4), Some(0));
    }
}
