//! Who is asleep, and whom to wake.
//!
//! Called by `schedule` (work appeared), `park` (nothing left to do) and `watch` (somebody is stuck). Knows nothing of tasks, queues or
//! the driver: it deals in numbers of workers.
//!
//! Promise: work pushed while the last worker falls asleep is found; one wake at a time is under way, so that a storm of pushes does not
//! wake everybody; a worker that has work writes nothing here.
//!
//! A bit per sleeping worker, as many words as are needed, and the number of *searchers*: workers that look for work, or that have been
//! woken to do so. While there is a searcher nobody is woken: the searcher will find what was pushed.
//!
//! ```text
//! pusher                               sleeper
//! P1 push                (SeqCst RMW)  S1 set my bit                   (SeqCst RMW)
//! P2 searchers > 0? done (SeqCst load) S2 stop searching, if I was     (SeqCst RMW)
//! P3 a bit set?          (SeqCst load) S3 look in every queue once more (SeqCst loads)
//! P4 claim: searchers 0 -> 1, clear the bit, unpark
//! ```
//!
//! All of these are in the one total order of SeqCst. If P2 sees a searcher, that one's S2 (or its last look before it found other work,
//! see `stop_searching`) comes after P1, so its S3 finds the task. If P3 sees no bit of a sleeper, its S1 comes after P1, and so does S3. In P4 a
//! waker that took the token but found nobody to wake gives it back and looks at the bits again: a push that trusted the token in
//! between is thereby covered. Under loom, which takes SeqCst accesses for AcqRel, a `fence(SeqCst)` stands at each step.
//!
//! Tests: the models `push_races_last_sleeper_of_1`, `push_races_last_sleeper_of_2`, `push_races_last_sleeper_of_3`,
//! `push_races_the_sleeper_of_another_word`, `a_token_without_a_sleeper_is_given_back`, `who_gives_the_token_back_finds_who_lay_down_meanwhile`,
//! `what_was_pushed_during_a_search_wakes_another` and `what_is_for_one_worker_is_seen_by_it_or_wakes_it`;
//! on real threads `no_push_is_slept_through`; of whole runtimes `two_tasks_that_block_for_each_other_have_a_worker_each` in `shuttled`.

use nezumi_prim::CachePadded;
use nezumi_prim::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Under loom alone, which takes SeqCst accesses for AcqRel.
#[inline(always)]
pub(super) fn loom_fence() {
    #[cfg(nezumi_loom)]
    nezumi_prim::sync::atomic::fence(Ordering::SeqCst);
}

/// Who is asleep and how many search.
#[derive(Debug)]
pub(crate) struct Idle {
    line: CachePadded<Line>,
    workers: usize,
}

/// What every push reads: few words, written only when a worker falls asleep, wakes or searches.
#[derive(Debug)]
struct Line {
    searchers: AtomicUsize,
    /// The first 64 workers.
    first: AtomicU64,
    /// The others.
    rest: Box<[AtomicU64]>,
}

impl Idle {
    /// For so many workers, and so many more who may stand in for them, and have the numbers after theirs.
    pub(crate) fn new(workers: usize, spares: usize) -> Self {
        let rest = (1..(workers + spares).div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self {
            line: CachePadded::new(Line { searchers: AtomicUsize::new(0), first: AtomicU64::new(0), rest }),
            workers,
        }
    }

    fn word(&self, worker: usize) -> &AtomicU64 {
        match worker / 64 {
            0 => &self.line.first,
            word => &self.line.rest[word - 1],
        }
    }

    fn words(&self) -> impl Iterator<Item = (usize, &AtomicU64)> {
        std::iter::once(&self.line.first).chain(&self.line.rest).enumerate()
    }

    /// Picks a sleeper to wake, unless somebody searches already. `spared` is passed over while another sleeps. The sleeper that is
    /// returned counts as a searcher from now on, and the caller owes it the wake.
    #[inline]
    pub(crate) fn claim(&self, spared: impl Fn() -> Option<usize>) -> Option<usize> {
        loom_fence();
        // The usual case: everybody is awake. Two loads of a line that is seldom written.
        if self.line.searchers.load(Ordering::SeqCst) > 0 || !self.any_sleeping() {
            return None;
        }
        self.claim_slow(spared)
    }

    #[cold]
    fn claim_slow(&self, spared: impl Fn() -> Option<usize>) -> Option<usize> {
        loop {
            if self.line.searchers.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                return None;
            }
            if let Some(worker) = self.take_sleeper(spared()) {
                return Some(worker);
            }
            self.line.searchers.fetch_sub(1, Ordering::SeqCst);
            loom_fence();
            // A push may have trusted the token in the meantime, and a worker may have gone to sleep.
            if !self.any_sleeping() {
                return None;
            }
        }
    }

    /// Clears the bit of one sleeper and returns who it was.
    fn take_sleeper(&self, spared: Option<usize>) -> Option<usize> {
        let spare = |word: usize, bits: u64| match spared {
            Some(spared) if spared / 64 == word => bits & !(1 << (spared % 64)),
            _ => bits,
        };
        let pick = |mask: &dyn Fn(usize, u64) -> u64| {
            self.words().find_map(|(index, word)| {
                let mut bits = mask(index, word.load(Ordering::SeqCst));
                while bits != 0 {
                    let bit = 1 << bits.trailing_zeros();
                    if word.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
                        return Some(index * 64 + bit.trailing_zeros() as usize);
                    }
                    bits &= !bit;
                }
                None
            })
        };
        pick(&spare).or_else(|| pick(&|_, bits| bits))
    }

    /// S1 and S2: this worker is about to sleep. It looks in every queue once more after this.
    pub(crate) fn fall_asleep(&self, worker: usize, searching: bool) {
        let bit = 1 << (worker % 64);
        let before = self.word(worker).fetch_or(bit, Ordering::SeqCst);
        debug_assert_eq!(before & bit, 0, "a worker sleeps once");
        if searching {
            self.line.searchers.fetch_sub(1, Ordering::SeqCst);
        }
        loom_fence();
    }

    /// The worker is awake. Whether it was claimed by a waker, and so counts as a searcher; otherwise it woke by itself.
    pub(crate) fn wake_up(&self, worker: usize) -> bool {
        let bit = 1 << (worker % 64);
        self.word(worker).fetch_and(!bit, Ordering::SeqCst) & bit == 0
    }

    /// Whether one more worker may search: at most half of them do at once.
    pub(crate) fn start_searching(&self) -> bool {
        // Relaxed load: a limit that may be missed by a little.
        if 2 * self.line.searchers.load(Ordering::Relaxed) >= self.workers {
            return false;
        }
        self.line.searchers.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// The worker found work. Whether it was the last searcher: pushes during its search woke nobody, so the caller looks whether there is
    /// more, and if so wakes another.
    #[must_use]
    pub(crate) fn stop_searching(&self) -> bool {
        let last = self.line.searchers.fetch_sub(1, Ordering::SeqCst) == 1;
        loom_fence();
        last
    }

    /// How many search, or have been woken to.
    pub(crate) fn searchers(&self) -> usize {
        self.line.searchers.load(Ordering::Relaxed)
    }

    /// Whether any worker sleeps.
    #[inline]
    pub(crate) fn any_sleeping(&self) -> bool {
        self.line.first.load(Ordering::SeqCst) != 0
            || self.line.rest.iter().any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// Whether all workers sleep, and `spares` of those who stand in for them.
    pub(crate) fn all_sleeping(&self, spares: usize) -> bool {
        self.sleeping() == self.workers + spares
    }

    /// How many sleep.
    pub(crate) fn sleeping(&self) -> usize {
        self.words().map(|(_, word)| word.load(Ordering::SeqCst).count_ones() as usize).sum()
    }

    /// Whether this worker sleeps.
    #[inline]
    pub(crate) fn is_sleeping(&self, worker: usize) -> bool {
        loom_fence();
        self.word(worker).load(Ordering::SeqCst) & (1 << (worker % 64)) != 0
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::scheduler::reduced::Reduced;
    use nezumi_prim::sync::Arc;
    use std::thread;

    /// A push that nobody finds is a worker that oversleeps, or, under Miri, a deadlock.
    #[test]
    fn no_push_is_slept_through() {
        let (rounds, tasks) = if cfg!(miri) { (3, 2) } else { (300, 20) };
        for round in 0..rounds {
            let workers = 1 + round % 3;
            let reduced = Reduced::new(workers, 2 * tasks);
            let work = (0..workers).map(|worker| {
                let reduced = Arc::clone(&reduced);
                thread::spawn(move || reduced.work(worker))
            });
            let mut threads: Vec<_> = work.collect();
            threads.extend((0..2).map(|_| {
                let reduced = Arc::clone(&reduced);
                thread::spawn(move || (0..tasks).for_each(|_| reduced.push()))
            }));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(!reduced.idle.any_sleeping(), "a bit was left set");
        }
    }
}
