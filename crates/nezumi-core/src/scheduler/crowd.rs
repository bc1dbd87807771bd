//! How many waiting tasks are worth a theft.
//!
//! Called by `worker`, `steal` and `shard` (are there enough), and by `upkeep`, which measures. Knows nothing of rings or tasks.
//!
//! Tasks that talk to each other all the time are fastest on one worker: spread over two, each message moves lines from one cache to the other, and
//! the two hand their tasks to and fro. And whoever is woken for a task needs longer until it runs than its owner needs for dozens of short polls. So what
//! waits for a worker is left to it as long as it will have come to all of it within [`SHORT_NS`], going by what its polls have taken lately; of tasks
//! whose polls take longer than that, a single one is enough. The figures are in `docs/decisions/short-waits.md`.
//!
//! Promise: what waits for longer, as far as its owner can know, is there for everybody, and somebody is woken for it. What turns out to wait for longer,
//! behind a poll that is unlike those before it, is found by the watch or at a glance, just as the hot task is: they mark the worker as stuck, and then
//! all may be taken. So where there is no watch one task is always enough.
//!
//! *The number against sleep.* Pushers and sleepers compare the length of a ring with it, so it is part of what `idle` proves: its owner lowers it, then
//! looks whether there are enough, and then who sleeps; a sleeper sets its bit, and then looks at the number. All of that is SeqCst. Test: the
//! model `enough_falls_while_a_worker_falls_asleep`.

use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What may wait for its owner, in all. At more than twice that, work stays on one worker that two would do in half the time.
const SHORT_NS: u64 = 3000;
/// However short the polls are, half of a ring is enough.
const ALWAYS_ENOUGH: usize = 128;

/// What waits at one worker, as others see it. They read it at each attempt to steal, and hardly anybody ever writes it.
#[derive(Debug)]
pub(super) struct Crowd {
    /// The owner sits in one poll, so that its hot task and those that have yielded may be taken, too. Set by the watch and at a glance, cleared by
    /// the watch.
    pub(super) stuck: AtomicBool,
    /// So many waiting tasks are for everybody. Written by the owner.
    enough: AtomicUsize,
}

impl Crowd {
    /// Of a worker of which nothing is known: one task is enough.
    pub(super) fn new() -> Self {
        Self { stuck: AtomicBool::new(false), enough: AtomicUsize::new(1) }
    }

    /// Whether so many waiting tasks are worth a theft. None never are.
    #[inline]
    pub(super) fn is_enough(&self, waiting: usize) -> bool {
        waiting >= self.enough.load(Ordering::SeqCst)
    }

    /// The owner's polls take so long. It looks afterwards whether there are enough now.
    pub(super) fn tune(&self, poll_ns: u64) {
        let enough = (SHORT_NS / poll_ns.max(1)).clamp(1, ALWAYS_ENOUGH as u64) as usize;
        if self.enough.load(Ordering::Relaxed) != enough {
            self.enough.store(enough, Ordering::SeqCst);
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{ALWAYS_ENOUGH, Crowd, SHORT_NS};

    fn after(poll_ns: u64) -> Crowd {
        let crowd = Crowd::new();
        crowd.tune(poll_ns);
        crowd
    }

    #[test]
    fn what_waits_for_short_polls_is_left_to_its_owner() {
        let crowd = after(SHORT_NS / 10);
        assert!(!crowd.is_enough(9));
        assert!(crowd.is_enough(10));
    }

    #[test]
    fn a_single_task_that_waits_for_long_polls_is_enough() {
        for crowd in [after(SHORT_NS), after(50_000), Crowd::new()] {
            assert!(crowd.is_enough(1));
            assert!(!crowd.is_enough(0));
        }
    }

    #[test]
    fn half_a_ring_is_enough_however_short_the_polls() {
        for crowd in [after(0), after(1), after(15)] {
            assert!(crowd.is_enough(ALWAYS_ENOUGH));
        }
    }
}
