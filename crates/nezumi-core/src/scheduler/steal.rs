//! Taking from others when there is nothing of one's own.
//!
//! Called by `worker::step`. One pass over all other workers from a random start; a further one, after a short and growing random pause, only
//! where a ring was seen that another thief was just emptying. At most half of the workers search at once.

use super::Shard;
use super::worker::Worker;
use crate::task::Runnable;
use nezumi_queue::Steal;
use std::sync::atomic::Ordering;

/// Passes over the others at the most.
const PASSES: u32 = 4;
/// The first pause, in spins, doubled from pass to pass.
const PAUSE_SPINS: u32 = 16;

impl Worker {
    /// Something that belongs to another worker, or came to a shared queue meanwhile.
    #[cold]
    pub(super) fn steal(&self) -> Option<Runnable> {
        let shared = self.shared();
        if shared.crew() == 1 {
            return None;
        }
        if !self.searching.get() {
            if !shared.idle.start_searching() {
                return None;
            }
            self.searching.set(true);
        }
        for pass in 0..PASSES {
            let (found, busy) = self.steal_pass();
            if found.is_some() {
                self.found_work();
                return found;
            }
            if !busy {
                return None;
            }
            for _ in 0..self.rand.below(PAUSE_SPINS << pass) {
                nezumi_prim::hint::spin_loop();
            }
        }
        None
    }

    /// One pass. The flag says that something was there and could not be had.
    fn steal_pass(&self) -> (Option<Runnable>, bool) {
        let shared = self.shared();
        let workers = shared.crew();
        let start = self.rand.below(workers as u32) as usize;
        let mut busy = false;
        for victim in (start..workers).chain(0..start) {
            if victim == self.index() {
                continue;
            }
            match self.steal_from(shared.shard(victim)) {
                Steal::Taken { first, more } => {
                    self.count_stolen(1 + more);
                    return (Some(first), false);
                }
                Steal::Busy => busy = true,
                Steal::Empty => {}
            }
        }
        (None, busy)
    }

    /// Puts half of what a stuck worker holds behind what this one has.
    #[cold]
    pub(super) fn take_over_from(&self, victim: &Shard) {
        if let Steal::Taken { first, more } = self.steal_from(victim) {
            self.count_stolen(1 + more);
            self.push(first, false);
        }
    }

    fn count_stolen(&self, tasks: usize) {
        let counters = &self.shard().counters;
        counters.steal_operations.add(1);
        counters.stolen.add(tasks as u64);
    }

    fn steal_from(&self, victim: &Shard) -> Steal<Runnable> {
        let own = self.shard();
        // The others' hot task, and what has yielded to their driver's turn, stays theirs unless they cannot get to it.
        let is_stuck = victim.crowd.stuck.load(Ordering::Relaxed);
        if self.shared().lanes_used.load(Ordering::Relaxed) {
            // SAFETY: this thread owns its shard, and so the destination.
            let taken = unsafe { victim.high.steal_into(&own.high, true) };
            if !matches!(taken, Steal::Empty) {
                return taken;
            }
        }
        let mut taken = Steal::Empty;
        if is_stuck || victim.is_crowded() {
            // SAFETY: as above.
            taken = unsafe { victim.ring.steal_into(&own.ring, is_stuck) };
        }
        if is_stuck {
            if matches!(taken, Steal::Empty) {
                taken = self.steal_yielded(victim);
            }
            if matches!(taken, Steal::Taken { .. }) {
                own.counters.rescued.add(1);
            }
        }
        if !matches!(taken, Steal::Empty) {
            return taken;
        }
        if self.shared().lanes_used.load(Ordering::Relaxed) {
            // SAFETY: as above.
            return unsafe { victim.background.steal_into(&own.background, true) };
        }
        Steal::Empty
    }

    /// Takes all that wait for the driver's turn of a worker that does not get there.
    #[cold]
    fn steal_yielded(&self, victim: &Shard) -> Steal<Runnable> {
        let Ok(mut batch) = victim.yielded.steal() else { return Steal::Busy };
        let Some(first) = batch.pop_front() else { return Steal::Empty };
        let more = batch.len();
        self.keep_in_lanes(batch);
        Steal::Taken { first, more }
    }
}
