//! One worker: a machine with a step that never blocks.
//!
//! Called by `thread` (the loop around it) and, re-entrantly, by wakers through `schedule`. A worker is what a thread does for a while; the
//! thread may give it up in the middle of a poll (`block_in_place`), and another thread then makes a new one for the same shard.
//!
//! Promise: everything that is runnable here is stealable, though some of it only while the worker is stuck in a poll: the hot task, those that
//! have yielded and lie on the shelf until the driver's next turn, and others as long as they are few and wait shortly (`crowd`). A hot task
//! runs next, yet never more than three in a row nor past the budget of the poll that woke it. The inject queue, the driver and the timers
//! are looked at every few dozen steps, however busy the ring is.
//!
//! All fields that a waker may touch in the middle of a poll are cells, and no borrow lives across a poll.
//!
//! Tests: `tests/it/scheduler.rs`, `tests/it/hostile.rs` (wakers that panic).

use super::shared::Shared;
use super::upkeep::Upkeep;
use super::yields::Yields;
use super::{Shard, context};
use crate::task::{Priority, Runnable};
use crate::timer::Timers;
use nezumi_prim::FastRand;
use nezumi_queue::{Batch, Ring};
use nezumi_wake::coop::{self, Budget};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

/// How often in a row the hot task goes first.
const HOT_IN_A_ROW: u32 = 3;
/// How often in a row a task of the high lane goes first while others wait.
const HIGH_IN_A_ROW: u32 = 32;

/// What a step has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Ran a task, or looked after something.
    Ran,
    /// There is nothing to do.
    Idle,
    /// The runtime is shutting down.
    Shutdown,
    /// Another thread has this worker now.
    GivenUp,
    /// A spare that was told to leave is about to.
    Leave,
}

/// One worker, on the stack of the thread that drives it.
pub(crate) struct Worker {
    shard: *const Shard,
    /// The number of the worker that this one is, or stands in for.
    stands_for: usize,
    /// The number among the spares, if it is one.
    pub(super) spare: Option<usize>,
    pub(super) rand: FastRand,
    /// Counts steps.
    pub(super) tick: Cell<u32>,
    hot_in_a_row: Cell<u32>,
    high_in_a_row: Cell<u32>,
    /// Counted among the searchers.
    pub(super) searching: Cell<bool>,
    /// Events are being dispatched: what they make runnable is chained up in `gathered` until all are there.
    dispatching: Cell<bool>,
    /// Pushed on the ring in one piece when the dispatch ends.
    pub(super) gathered: RefCell<Batch<Runnable>>,
    pub(super) given_up: Cell<bool>,
    pub(super) yields: Yields,
    pub(super) upkeep: Upkeep,
    /// Woken, and nothing run since.
    pub(super) woken_in_vain: Cell<bool>,
}

impl Worker {
    /// # Safety
    ///
    /// `shard` stays valid, and its owner's part is the caller's thread's, until the worker is dropped or given up.
    pub(super) unsafe fn new(shard: &Shard) -> Self {
        let shared = shard.shared();
        let spare = shard.index().checked_sub(shared.workers());
        Self {
            shard,
            stands_for: spare.map_or(shard.index(), |spare| shared.spares.stands_for(spare)),
            spare,
            rand: FastRand::new(shared.config.seeds.next()),
            tick: Cell::new(0),
            hot_in_a_row: Cell::new(0),
            high_in_a_row: Cell::new(0),
            searching: Cell::new(false),
            dispatching: Cell::new(false),
            gathered: RefCell::default(),
            given_up: Cell::new(false),
            yields: Yields::new(),
            upkeep: Upkeep::new(shard),
            woken_in_vain: Cell::new(false),
        }
    }

    #[inline(always)]
    pub(crate) fn shard(&self) -> &Shard {
        // SAFETY: the contract of `new`.
        unsafe { &*self.shard }
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> &Shared {
        self.shard().shared()
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.shard().index()
    }

    /// The number that the program sees, and whose timers are looked after here.
    #[inline]
    pub(crate) fn stands_for(&self) -> usize {
        self.stands_for
    }

    #[inline]
    pub(super) fn timers(&self) -> &Timers {
        &self.shared().shard(self.stands_for).timers
    }

    /// Does one thing that is to be done, and returns.
    #[inline]
    pub(super) fn step(&self) -> Step {
        let tick = self.tick.get().wrapping_add(1);
        self.tick.set(tick);
        if self.upkeep.is_due(tick) {
            if self.shared().is_shutting_down() {
                return Step::Shutdown;
            }
            self.upkeep.look_after(self);
            if self.is_told_to_leave() {
                return Step::Leave;
            }
        }
        if let Some(runnable) = self.pick(tick) {
            self.found_work();
            return self.run(runnable);
        }
        if self.shared().is_shutting_down() {
            return Step::Shutdown;
        }
        if self.resume_yielded() {
            return Step::Ran;
        }
        if let Some(runnable) = self.steal() {
            self.fresh_budget();
            return self.run(runnable);
        }
        if self.is_told_to_leave() {
            return Step::Leave;
        }
        // Only now that nothing else is runnable, here or with others.
        if let Some(runnable) = self.pick_background() {
            self.found_work();
            self.fresh_budget();
            return self.run(runnable);
        }
        Step::Idle
    }

    pub(super) fn is_told_to_leave(&self) -> bool {
        self.spare.is_some_and(|spare| self.shared().spares.is_told_to_leave(spare))
    }

    /// The next task of this worker's own or of the shared queues. Sets the budget it runs with.
    #[inline]
    fn pick(&self, tick: u32) -> Option<Runnable> {
        let fair = self.upkeep.is_inject_due(tick);
        if fair {
            self.upkeep.inject_done(tick);
            let found = self.take_injected();
            self.fresh_budget();
            if found.is_some() {
                return found;
            }
        }
        if self.shared().lanes_used.load(Ordering::Relaxed) {
            if let Some(runnable) = self.pick_lanes(fair) {
                self.fresh_budget();
                return Some(runnable);
            }
        }
        let ring = &self.shard().ring;
        let hot_in_a_row = self.hot_in_a_row.get();
        if hot_in_a_row < HOT_IN_A_ROW && coop::has_budget_remaining() {
            // SAFETY: this thread owns the shard.
            if let Some(runnable) = unsafe { ring.pop_hot() } {
                self.hot_in_a_row.set(hot_in_a_row + 1);
                return Some(runnable);
            }
        }
        self.fresh_budget();
        // SAFETY: this thread owns the shard.
        if let Some(runnable) = unsafe { ring.pop_front() } {
            return Some(runnable);
        }
        self.refill()
    }

    /// The ring is empty: takes a batch from the relay, or from the inject queue.
    fn refill(&self) -> Option<Runnable> {
        let shared = self.shared();
        if let Some(mut batch) = shared.relay.pop(self.index()) {
            let first = batch.pop_front();
            self.keep(batch);
            return first;
        }
        self.take_injected()
    }

    /// A fair share of what came from outside.
    fn take_injected(&self) -> Option<Runnable> {
        let shared = self.shared();
        let waiting = shared.inject[Priority::Normal as usize].len();
        if waiting == 0 {
            return None;
        }
        // One to run, and no more than half a ring to keep, so that what runs here still has room.
        let share = (waiting / shared.workers() + 1).min(self.shard().ring.room() / 2 + 1);
        let mut batch = shared.take_injected(Priority::Normal, self.index(), share);
        let first = batch.pop_front();
        self.keep(batch);
        first
    }

    /// Puts tasks that came by the batch into the ring; others may take of them.
    pub(super) fn keep(&self, mut batch: Batch<Runnable>) {
        if batch.is_empty() {
            return;
        }
        // SAFETY: this thread owns the shard.
        unsafe { self.shard().ring.push_batch(&mut batch) };
        if !batch.is_empty() {
            self.shared().relay.push(batch, self.index());
            return self.notify();
        }
        self.notify_if_crowded();
    }

    /// Puts tasks that came by the batch where those of their priority are.
    pub(super) fn keep_in_lanes(&self, mut batch: Batch<Runnable>) {
        if !self.shared().lanes_used.load(Ordering::Relaxed) {
            return self.keep(batch);
        }
        let mut normal = Batch::default();
        while let Some(runnable) = batch.pop_front() {
            if runnable.header().priority() == Priority::Normal {
                normal.push_back(runnable);
            } else {
                self.push_lane(runnable);
            }
        }
        self.keep(normal);
    }

    /// A task of the high lane, in runs that are bounded while others wait; in the step that is the fair one, one of the background lane.
    #[cold]
    fn pick_lanes(&self, fair: bool) -> Option<Runnable> {
        if fair {
            if let Some(runnable) = self.pick_background() {
                return Some(runnable);
            }
        }
        let run = self.high_in_a_row.get();
        if run >= HIGH_IN_A_ROW {
            self.high_in_a_row.set(0);
            return None;
        }
        let found = self.pick_lane(Priority::High, &self.shard().high);
        self.high_in_a_row.set(if found.is_some() { run + 1 } else { 0 });
        found
    }

    fn pick_background(&self) -> Option<Runnable> {
        if !self.shared().lanes_used.load(Ordering::Relaxed) {
            return None;
        }
        self.pick_lane(Priority::Background, &self.shard().background)
    }

    fn pick_lane<const N: usize>(&self, priority: Priority, ring: &Ring<Runnable, N>) -> Option<Runnable> {
        // SAFETY: this thread owns the shard.
        unsafe { ring.pop_front() }
            .or_else(|| self.shared().take_injected(priority, self.index(), 1).pop_front())
    }

    #[inline(always)]
    fn fresh_budget(&self) {
        self.hot_in_a_row.set(0);
        coop::replace(Budget::initial());
    }

    /// Something to run: this worker searches no more.
    #[inline]
    pub(super) fn found_work(&self) {
        if self.searching.get() {
            self.stop_searching();
        }
        self.woken_in_vain.set(false);
    }

    #[cold]
    fn stop_searching(&self) {
        self.searching.set(false);
        let shared = self.shared();
        // Pushes during the search trusted us to find them.
        if shared.idle.stop_searching() && (self.shard().has_stealable() || shared.has_work_for(self.index()))
        {
            shared.notify();
        }
    }

    #[inline]
    fn run(&self, runnable: Runnable) -> Step {
        let shard = self.shard();
        shard.polling.begin();
        shard.polling.runs(runnable.as_ptr().as_ptr().cast());
        if self.shared().observes_polls.load(Ordering::Relaxed) {
            self.run_observed(runnable);
        } else {
            runnable.run();
        }
        if self.given_up.get() {
            return Step::GivenUp;
        }
        if self.yields.has_deferred() {
            self.wake_deferred();
        }
        Step::Ran
    }

    /// With hooks around the poll, or with its duration measured.
    #[cold]
    fn run_observed(&self, runnable: Runnable) {
        super::observe::run(self.shared(), self.shard(), runnable);
    }

    /// Adds a task to the ring. Called in the middle of polls.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable, hot: bool) {
        let shard = self.shard();
        shard.counters.scheduled_locally.add(1);
        if runnable.header().priority() != Priority::Normal {
            return self.push_lane(runnable);
        }
        if self.dispatching.get() {
            return self.gathered.borrow_mut().push_back(runnable);
        }
        let hot = hot && !self.shared().config.disable_lifo_slot;
        // SAFETY: this thread owns the shard.
        match unsafe { shard.ring.push_back(runnable, hot) } {
            // The hot task is this worker's next. Should the worker not get to it, or to the few others, the watch sees that.
            Ok(len) if !shard.crowd.is_enough(len - usize::from(hot)) => {}
            Ok(_) => self.notify(),
            Err(runnable) => self.overflow(runnable),
        }
    }

    /// The ring is full: its older half goes to the relay in one piece, where idle workers find it.
    #[cold]
    fn overflow(&self, runnable: Runnable) {
        let shard = self.shard();
        shard.counters.overflowed.add(1);
        // SAFETY: this thread owns the shard.
        let mut batch = unsafe { shard.ring.take_half() }.unwrap_or_default();
        // The newcomer is the youngest of the batch, and is thus behind whatever was there before it. When a thief was copying
        // there is no half to take, and it goes alone.
        batch.push_back(runnable);
        self.shared().relay.push(batch, self.index());
        self.notify();
    }

    #[cold]
    fn push_lane(&self, runnable: Runnable) {
        self.shared().lanes_used.store(true, Ordering::Relaxed);
        let shard = self.shard();
        let priority = runnable.header().priority();
        let ring = if priority == Priority::High { &shard.high } else { &shard.background };
        // SAFETY: this thread owns the shard.
        if let Err(runnable) = unsafe { ring.push_back(runnable, false) } {
            // Refused only in shutdown, which has cancelled the task.
            let _ = self.shared().inject[priority as usize].push(runnable, self.index());
        }
        self.notify();
    }

    fn notify_if_crowded(&self) {
        if self.shard().is_crowded() {
            self.notify();
        }
    }

    #[inline]
    fn notify(&self) {
        if !self.dispatching.get() {
            self.shared().notify();
        }
    }

    /// A spare leaves, unless it has been called back: what is runnable here goes to the queues that all share. Whether it left.
    #[cold]
    pub(super) fn leave(&self) -> bool {
        let shared = self.shared();
        if !self.spare.is_some_and(|spare| shared.spares.leave(spare)) {
            return false;
        }
        self.upkeep.measure(self);
        self.end_yields();
        let shard = self.shard();
        // SAFETY: this thread owns the shard.
        let [normal, high, background] =
            unsafe { [empty(&shard.ring), empty(&shard.high), empty(&shard.background)] };
        if !normal.is_empty() {
            shared.relay.push(normal, self.stands_for);
        }
        for (priority, batch) in [(Priority::High, high), (Priority::Background, background)] {
            // Refused only in shutdown, which has cancelled the tasks.
            let _ = shared.inject[priority as usize].push_batch(batch, self.stands_for);
        }
        // After the tasks are where others find them: pushes during a search trusted this searcher.
        if self.searching.replace(false) {
            let _ = shared.idle.stop_searching();
        }
        shared.notify();
        true
    }

    /// Ends this thread's part as a worker, in the middle of a poll. Another thread may be the shard's owner from now on.
    pub(crate) fn give_up(&self) {
        self.end_yields();
        self.upkeep.measure(self);
        self.given_up.set(true);
        self.shard().polling.is_left();
        context::give_up_worker();
    }

    /// Undoes [`give_up`](Self::give_up), after which nobody took the worker over.
    pub(crate) fn take_back(&self) {
        self.given_up.set(false);
        self.shard().sight.forget();
        self.shard().polling.is_here();
        context::take_back_worker(self, self.shard);
    }

    /// Runs `wake`, which makes tasks runnable here, and wakes another worker at the end if there is enough for two.
    pub(super) fn dispatch(&self, wake: impl FnOnce()) {
        self.gather(wake);
        if self.shard().is_more_than_the_next() || !self.shard().high.is_empty() {
            self.shared().notify();
        }
    }

    /// Runs `wake`, which makes tasks runnable here, without waking anybody.
    pub(super) fn gather(&self, wake: impl FnOnce()) {
        struct Gathered<'a>(&'a Worker);

        impl Drop for Gathered<'_> {
            fn drop(&mut self) {
                self.0.keep(self.0.gathered.take());
                self.0.dispatching.set(false);
            }
        }

        self.dispatching.set(true);
        let _gathered = Gathered(self);
        wake();
    }
}

/// All that is in a ring.
///
/// # Safety
///
/// The caller owns the ring's shard.
unsafe fn empty<const N: usize>(ring: &Ring<Runnable, N>) -> Batch<Runnable> {
    let mut batch = Batch::default();
    // SAFETY: the caller's promise.
    while let Some(runnable) = unsafe { ring.pop_front() } {
        batch.push_back(runnable);
    }
    batch
}
