//! How a worker falls asleep, and what it does first when it wakes.
//!
//! Called by `thread`. The order is the sleeper's column of `idle`: bit, then one more look at every queue, at the timers and at the
//! shutdown flag, then sleep, in the driver if nobody sits there, else on the worker's own parker; never past the next timer of its own.

use super::worker::Worker;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

impl Worker {
    /// Sleeps until there is something to do.
    #[cold]
    pub(super) fn park(&self) {
        let shared = self.shared();
        if let Some(hook) = &shared.config.hooks.before_park {
            hook();
            if self.has_own_work() {
                // The hook made something runnable. The driver must have its turn all the same, or a hook that always does so starves it.
                self.upkeep.turn_driver(self);
                self.upkeep.advance_timers(self);
                return self.after_unpark();
            }
        }
        self.upkeep.look_around(self);
        self.timers().settle();
        {
            let _asleep = Asleep::new(self);
            if !shared.has_work_for(self.index())
                && !shared.is_shutting_down()
                && !self.has_own_work()
                && !self.is_told_to_leave()
            {
                self.count_park();
                self.sleep();
                self.shard().counters.parked_unparked.add(1);
            } else {
                // What was seen may be in the hands of another, who is about to take it away.
                nezumi_prim::hint::spin_loop();
            }
            // While the bit is still set: who sees this worker awake must not take its sleep for a long poll.
            self.shard().sight.forget();
        }
        self.upkeep.wake_up();
        shared.watch.worker_woke();
        self.upkeep.advance_timers(self);
        if self.shard().is_more_than_the_next() {
            shared.notify();
        }
        self.after_unpark();
    }

    fn has_own_work(&self) -> bool {
        let shard = self.shard();
        !shard.ring.is_empty() || !shard.high.is_empty() || !shard.background.is_empty()
    }

    fn count_park(&self) {
        let counters = &self.shard().counters;
        counters.parked.add(1);
        counters.parked_unparked.add(1);
        if self.woken_in_vain.replace(false) {
            counters.woken_in_vain.add(1);
        }
    }

    fn after_unpark(&self) {
        if let Some(hook) = &self.shared().config.hooks.after_unpark {
            hook();
        }
    }

    fn sleep(&self) {
        let shared = self.shared();
        let timeout = self.time_to_next_timer();
        if timeout == Some(Duration::ZERO) {
            return;
        }
        let bed = &self.shard().bed;
        // SeqCst: pairs with the fence in `watch`, which holds the seat for a moment and then looks for those who found it taken. A
        // worker that holds it sits down itself before it sleeps.
        fence(Ordering::SeqCst);
        if let (Some(handle), Some(mut seat)) = (&shared.driver, shared.driver_seat.try_lock()) {
            if let Some(driver) = &mut *seat {
                shared.driver_turns.fetch_add(1, Ordering::Relaxed);
                bed.sleep_in_driver(|| {
                    self.gather(|| {
                        driver.turn(handle, timeout, None);
                    });
                });
                drop(seat);
                if shared.config.eager_driver_handoff {
                    shared.notify();
                }
                return;
            }
        }
        bed.sleep_on_parker(timeout);
    }

    /// How long until this worker's next timer; `None` if it has none. Read after the idle bit is set: an earlier timer armed since then
    /// finds the bit, and wakes us.
    fn time_to_next_timer(&self) -> Option<Duration> {
        self.shared().clock.until(self.timers().next_deadline_ms())
    }
}

/// Stands while a worker counts as asleep; also where a waker that it called panics.
struct Asleep<'a>(&'a Worker);

impl<'a> Asleep<'a> {
    fn new(worker: &'a Worker) -> Self {
        worker.shared().idle.fall_asleep(worker.index(), worker.searching.replace(false));
        Self(worker)
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        // A waker that claimed us counted us among the searchers.
        let claimed = self.0.shared().idle.wake_up(self.0.index());
        self.0.searching.set(claimed);
        self.0.woken_in_vain.set(claimed);
    }
}
