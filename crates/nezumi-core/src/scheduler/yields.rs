//! Yielding: a task that gives way goes on only after all that is runnable and a turn of the driver.
//!
//! Called by `nezumi_wake::defer` in the middle of polls, by `schedule` at the end of the poll of a task that yielded, and by `worker::step` and
//! `upkeep` once the driver has had its turn. What has yielded lies on the shard's shelf meanwhile: no other worker cares for it, since this one is
//! about to come back to it, unless this one is stuck in the poll of another task.
//!
//! Tests: `a_task_that_has_yielded_is_taken_over_from_a_stuck_worker`, `whoever_yields_by_a_waker_of_its_own_is_taken_over_too`,
//! `a_background_task_that_yields_stays_in_the_background`; in `shuttled`: `what_has_yielded_is_taken_from_a_stuck_worker`.

use super::worker::Worker;
use crate::task::Runnable;
use nezumi_wake::defer::Host;
use nezumi_wake::{contain, drop_each};
use std::cell::{Cell, RefCell};
use std::ptr;
use std::task::Waker;

/// What a poll leaves behind when it yields.
pub(super) struct Yields {
    /// The task that asked, during its poll, to go on only after a driver turn.
    yielded: Cell<*const ()>,
    /// The wakers that are not the running task's by which the poll yielded: woken when it ends.
    deferred: RefCell<Vec<Waker>>,
    /// There are such.
    has_deferred: Cell<bool>,
}

impl Yields {
    pub(super) fn new() -> Self {
        Self {
            yielded: Cell::new(ptr::null()),
            deferred: RefCell::new(Vec::new()),
            has_deferred: Cell::new(false),
        }
    }

    /// Whether wakers are to be woken.
    #[inline(always)]
    pub(super) fn has_deferred(&self) -> bool {
        self.has_deferred.get()
    }
}

impl Worker {
    /// Adds a task that was woken during its own poll. If it yielded, it waits for the driver's turn, and nobody is woken for it: should this
    /// worker not get there, the watch sees that.
    #[inline]
    pub(super) fn push_again(&self, runnable: Runnable) {
        let task: *const () = runnable.as_ptr().as_ptr().cast();
        if ptr::eq(self.yields.yielded.get(), task) && !self.given_up.get() {
            self.yields.yielded.set(ptr::null());
            let shard = self.shard();
            // SAFETY: this thread owns the shard.
            match unsafe { shard.yielded.push(runnable) } {
                Ok(()) => shard.counters.scheduled_locally.add(1),
                // So many have yielded since the driver's last turn that this one is no busy loop.
                Err(runnable) => self.push(runnable, false),
            }
            return;
        }
        self.push(runnable, false);
    }

    /// Lets the driver have a look, then goes on with those who asked to wait for that. Whether there were any.
    pub(super) fn resume_yielded(&self) -> bool {
        // Wakers are left only where somebody yielded outside of polls, in a waker that polls.
        let has_deferred = self.yields.has_deferred();
        if !has_deferred && self.shard().yielded.is_empty() {
            return false;
        }
        if !self.upkeep.turn_driver(self) {
            self.upkeep.make_way(self.shared());
        }
        if has_deferred {
            self.wake_deferred();
        }
        self.dispatch(|| self.keep_yielded());
        true
    }

    /// The driver has had its turn: those who have waited for that come after all that is runnable.
    pub(super) fn keep_yielded(&self) {
        // SAFETY: this thread owns the shard.
        self.keep_in_lanes(unsafe { self.shard().yielded.take_all() });
    }

    /// Wakes those by whose wakers the poll that has just ended yielded. What this makes runnable here waits for the driver's turn.
    #[cold]
    pub(super) fn wake_deferred(&self) {
        self.gather(|| {
            self.wake_all_deferred();
            let mut woken = self.gathered.take();
            while let Some(runnable) = woken.pop_front() {
                // SAFETY: this thread owns the shard.
                if let Err(runnable) = unsafe { self.shard().yielded.push(runnable) } {
                    self.gathered.borrow_mut().push_back(runnable);
                }
            }
        });
    }

    fn wake_all_deferred(&self) {
        self.yields.has_deferred.set(false);
        // Taken out whole: a waker is user code and may defer again.
        let mut wakers = std::mem::take(&mut *self.yields.deferred.borrow_mut());
        nezumi_wake::wake_each(&mut wakers);
        let mut slot = self.yields.deferred.borrow_mut();
        if slot.is_empty() {
            *slot = wakers;
        }
    }

    /// Nobody who has yielded waits for this thread any more.
    pub(super) fn end_yields(&self) {
        self.dispatch(|| {
            // A waker that panics must not keep this thread from ending its part. The panic has been reported.
            contain(|| self.wake_all_deferred());
            self.keep_yielded();
        });
    }

    /// Drops the wakers that nobody will wake any more. For shutdown.
    pub(super) fn drop_deferred(&self) {
        // Wakers are user code: those whose drops panic must not keep the worker from ending.
        contain(|| drop_each(self.yields.deferred.take().into_iter().map(Some)));
    }
}

impl Host for Worker {
    fn defer(&self, waker: &Waker) {
        if self.given_up.get() {
            return waker.wake_by_ref();
        }
        // The usual case: the task that is running, by its own waker. It is marked as woken, and comes back by way of `push_again` when its
        // poll ends: no clone, and one push for all who yield.
        let running = self.shard().polling.running();
        if crate::task::is_waker_of(waker, running) {
            self.yields.yielded.set(running);
            return waker.wake_by_ref();
        }
        // A task that yields in several branches of one poll is woken once.
        if self.yields.deferred.borrow().last().is_some_and(|last| last.will_wake(waker)) {
            return;
        }
        // A clone is user code: no borrow stands while it runs.
        let waker = waker.clone();
        self.yields.deferred.borrow_mut().push(waker);
        self.yields.has_deferred.set(true);
    }

    fn forced_yield(&self, waker: &Waker) {
        // Another branch of the same poll may have yielded before.
        let running = self.shard().polling.running();
        let has_yielded = if crate::task::is_waker_of(waker, running) {
            ptr::eq(self.yields.yielded.get(), running)
        } else {
            self.yields.deferred.borrow().last().is_some_and(|last| last.will_wake(waker))
        };
        if !has_yielded {
            self.shard().counters.forced_yields.add(1);
        }
    }
}
