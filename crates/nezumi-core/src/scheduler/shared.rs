//! What all threads of one runtime share.
//!
//! Called by everything in `scheduler`, `runtime` and `spawn`. One allocation, counted by runtime, handles and shards. Nearly all of it is
//! only read; what is written (the idle words, inject, relay) stands on lines of its own.

use super::current_thread::Seat;
use super::idle::Idle;
use super::spares::Spares;
use super::watch::Watch;
use super::{Shard, home};
use crate::blocking;
use crate::driver::{self, Driver};
use crate::dump::Dumps;
use crate::runtime::{self, Config, Handle};
use crate::spawn::BlockingJob;
use crate::task::{Priority, Runnable};
use crate::timer::{Clock, Timers};
use nezumi_prim::CachePadded;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use nezumi_queue::{Batch, Inject, Relay};
use std::cell::Cell;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// How many shards outside threads share among them.
const OUTSIDE_SHARDS: usize = 4;

/// One runtime.
pub(crate) struct Shared {
    this: Weak<Shared>,
    pub(crate) id: runtime::Id,
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    /// The shared side of the I/O driver; `None` when I/O is not enabled.
    pub(crate) driver: Option<driver::Handle>,
    /// The driver, held by whoever turns it. What a turn writes lies apart from what all workers read at every step.
    pub(super) driver_seat: CachePadded<Mutex<Option<Driver>>>,
    /// The driver listens to the pipe by which signals come.
    pub(crate) signals_attached: Mutex<bool>,
    pub(crate) blocking: blocking::Pool<BlockingJob, Handle>,
    /// The workers' shards first, then those of spares, then those of outside threads.
    shards: Box<[CachePadded<Shard>]>,
    pub(super) idle: Idle,
    pub(crate) spares: Spares,
    pub(super) inject: [Inject<Runnable>; 3],
    pub(super) relay: Relay<Runnable>,
    /// A task with another priority than normal was spawned once: the other lanes are looked at.
    pub(super) lanes_used: AtomicBool,
    /// Somebody wants to see each poll: a hook or a histogram, always, or a dump, for a while.
    pub(crate) observes_polls: AtomicBool,
    pub(crate) dumps: Dumps,
    shutdown: AtomicBool,
    /// Workers that have not ended.
    pub(super) workers_left: AtomicUsize,
    pub(super) watch: Watch,
    /// Turns of the driver, counted by whoever held it.
    pub(super) driver_turns: CachePadded<AtomicU64>,
    /// Polls that were found to last longer than [`Builder::stuck_after`](runtime::Builder::stuck_after). Written by the watch.
    pub(crate) stuck_polls: AtomicU64,
    /// The single-threaded scheduler's core, when no thread has it.
    pub(super) seat: Seat,
    /// A task panicked, and the runtime was told to shut down on that.
    pub(super) panic_shutdown: AtomicBool,
    /// Tasks that came from outside. Written by outside threads.
    pub(super) remote_schedules: CachePadded<AtomicU64>,
    pub(super) outside_spawned: CachePadded<AtomicU64>,
    pub(super) outside_completed: CachePadded<AtomicU64>,
}

nezumi_prim::thread_local! {
    /// The number by which this thread is spread over shards, one more than it; 0 is none yet.
    static HINT: Cell<usize> = Cell::new(0);
}

/// How many threads have a number.
static NUMBERED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// As if no thread had a number yet, so that a schedule is the same whatever was run before it.
#[cfg(all(test, nezumi_shuttle))]
pub(super) fn number_threads_anew() {
    NUMBERED.store(0, Ordering::Relaxed);
}

/// This thread's number: sticky, so that what one thread pushes stays in order.
pub(super) fn thread_hint() -> usize {
    HINT.with(|hint| {
        if hint.get() == 0 {
            hint.set(NUMBERED.fetch_add(1, Ordering::Relaxed) + 1);
        }
        hint.get() - 1
    })
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        driver: Option<(Driver, driver::Handle)>,
        blocking: blocking::Pool<BlockingJob, Handle>,
    ) -> Arc<Self> {
        let (workers, spares) = (config.workers, config.max_spare_workers);
        let (seat, handle) = driver.unzip();
        let shared = Arc::new_cyclic(|weak| Shared {
            this: Weak::clone(weak),
            id: runtime::Id::next(),
            clock: Clock::new(!config.is_multi_thread(), config.start_paused),
            driver: handle,
            driver_seat: CachePadded::new(Mutex::new(seat)),
            signals_attached: Mutex::new(false),
            blocking,
            shards: (0..workers + spares + OUTSIDE_SHARDS)
                .map(|index| CachePadded::new(Shard::new(weak.as_ptr(), index, &config)))
                .collect(),
            idle: Idle::new(workers, spares),
            spares: Spares::new(spares),
            inject: std::array::from_fn(|_| Inject::new(workers)),
            relay: Relay::new(workers),
            lanes_used: AtomicBool::new(false),
            observes_polls: AtomicBool::new(config.observes_polls),
            dumps: Dumps::new(),
            shutdown: AtomicBool::new(false),
            workers_left: AtomicUsize::new(workers),
            watch: Watch::new(),
            driver_turns: CachePadded::default(),
            stuck_polls: AtomicU64::new(0),
            seat: Seat::new(),
            panic_shutdown: AtomicBool::new(false),
            remote_schedules: CachePadded::default(),
            outside_spawned: CachePadded::default(),
            outside_completed: CachePadded::default(),
            config,
        });
        for _ in shared.shards.iter() {
            home::keep(&shared);
        }
        shared
    }

    pub(crate) fn is_multi_thread(&self) -> bool {
        self.config.is_multi_thread()
    }

    pub(crate) fn workers(&self) -> usize {
        self.config.workers
    }

    pub(crate) fn shard(&self, index: usize) -> &Shard {
        &self.shards[index]
    }

    /// The number that the program knows a worker by: for a spare, that of the worker it stands in for.
    pub(crate) fn number_of(&self, index: usize) -> usize {
        match index.checked_sub(self.workers()) {
            Some(spare) => self.spares.stands_for(spare),
            None => index,
        }
    }

    /// The number of the first spare's shard, as seen from the spare's own number.
    #[inline]
    pub(crate) fn spare_index(&self, spare: usize) -> usize {
        self.workers() + spare
    }

    /// The workers, and those spares that were ever at work: the numbers of their shards are below this.
    #[inline]
    pub(super) fn crew(&self) -> usize {
        self.workers() + self.spares.used()
    }

    /// The shards of the workers and, after them, of those spares that were ever at work.
    pub(crate) fn crew_shards(&self) -> impl ExactSizeIterator<Item = &Shard> {
        self.shards[..self.crew()].iter().map(|shard| &**shard)
    }

    /// All of them, also those of spares that never were at work, and those of outside threads.
    #[cfg_attr(any(nezumi_loom, nezumi_shuttle), allow(dead_code))]
    pub(super) fn all_shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().map(|shard| &**shard)
    }

    pub(super) fn spare_shards(&self) -> impl Iterator<Item = (usize, &Shard)> {
        let shards = &self.shards[self.workers()..self.workers() + self.spares.count()];
        shards.iter().map(|shard| &**shard).enumerate()
    }

    pub(super) fn outside_shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards[self.workers() + self.spares.count()..].iter().map(|shard| &**shard)
    }

    /// The shard of threads that are no workers, for this one.
    pub(crate) fn outside_shard(&self) -> &Shard {
        self.shard(self.workers() + self.spares.count() + thread_hint() % OUTSIDE_SHARDS)
    }

    /// The shard that a thread which enters this runtime belongs to.
    pub(crate) fn shard_to_enter(&self) -> &Shard {
        self.outside_shard()
    }

    /// Whose worker looks after the timers of `shard`: its own, or, for a shard that is no worker's, one that it is assigned to for good.
    fn timer_keeper(&self, shard: &Shard) -> usize {
        shard.index() % self.workers()
    }

    #[inline]
    pub(super) fn timers_of<'a>(&'a self, shard: &'a Shard) -> &'a Timers {
        // Most are workers' own, and found without a division.
        if shard.index() < self.workers() {
            &shard.timers
        } else {
            &self.shard(self.timer_keeper(shard)).timers
        }
    }

    /// A timer was armed from another thread than the keeper's, and is now its earliest.
    pub(super) fn timer_armed(&self, shard: &Shard, _deadline_ms: u64) {
        let keeper = self.timer_keeper(shard);
        // Awake, it looks at its timers before it sleeps: its bit is set first (two columns in `timer`).
        if self.idle.is_sleeping(keeper) || !self.is_multi_thread() {
            self.wake(keeper);
        }
    }

    /// Ends the sleep of a worker.
    pub(super) fn wake(&self, worker: usize) {
        self.shard(worker).bed.wake(self.driver.as_ref());
    }

    /// Ends the sleep of all workers.
    #[cfg_attr(any(nezumi_loom, nezumi_shuttle), allow(dead_code))]
    pub(crate) fn wake_all(&self) {
        (0..self.crew()).for_each(|worker| self.wake(worker));
    }

    /// Something became runnable that a sleeper could take.
    #[inline]
    pub(super) fn notify(&self) {
        if let Some(worker) = self.idle.claim(|| self.in_driver()) {
            self.wake(worker);
            self.watch.work_appeared();
        }
    }

    /// Microseconds from the start of this runtime to `now`.
    pub(super) fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.clock.start()).as_micros() as u64
    }

    /// Who sleeps in the driver: woken last, so that the driver stays attended.
    fn in_driver(&self) -> Option<usize> {
        self.crew_shards().position(|shard| shard.bed.is_in_driver())
    }

    /// Takes a runnable from a thread that is no worker of this runtime.
    pub(super) fn inject(&self, runnable: Runnable) {
        let lane = runnable.header().priority() as usize;
        if lane != Priority::Normal as usize {
            self.lanes_used.store(true, Ordering::Relaxed);
        }
        self.remote_schedules.fetch_add(1, Ordering::Relaxed);
        // Closed: the runtime is shutting down and has cancelled the task, or is about to. The runnable is dropped.
        if self.inject[lane].push(runnable, thread_hint()).is_ok() {
            if self.is_multi_thread() {
                self.notify();
            } else {
                self.wake(0);
            }
        }
    }

    /// Takes what has come from outside, at most `max`, for a worker, which is awake. What it leaves was in its hands for a moment, where whoever fell
    /// asleep did not see it: it wakes another for that, as if it had pushed it (`nezumi_queue::Inject`).
    pub(super) fn take_injected(&self, priority: Priority, worker: usize, max: usize) -> Batch<Runnable> {
        let queue = &self.inject[priority as usize];
        let batch = queue.take(worker, max);
        if !batch.is_empty() && !queue.is_empty() {
            self.notify();
        }
        batch
    }

    /// How many tasks wait in the queues that all share.
    pub(crate) fn shared_depth(&self) -> usize {
        self.inject.iter().map(Inject::len).sum::<usize>() + self.relay.len()
    }

    /// Tasks spawned, and completed, on threads that are no workers.
    pub(crate) fn outside_counts(&self) -> (u64, u64) {
        let completed = self.outside_completed.load(Ordering::Acquire);
        (self.outside_spawned.load(Ordering::Relaxed), completed)
    }

    pub(crate) fn remote_schedule_count(&self) -> u64 {
        self.remote_schedules.load(Ordering::Relaxed)
    }

    /// Ends the sleep of a single-threaded scheduler.
    pub(crate) fn wake_core(&self) {
        self.wake(0);
    }

    /// Whether there is anything in the queues that all share.
    #[inline]
    pub(super) fn has_shared_work(&self) -> bool {
        !self.inject[Priority::Normal as usize].is_empty()
            || !self.relay.is_empty()
            || (self.lanes_used.load(Ordering::Relaxed)
                && (!self.inject[Priority::High as usize].is_empty()
                    || !self.inject[Priority::Background as usize].is_empty()))
    }

    /// Whether a worker would find something that is not its own.
    pub(super) fn has_work_for(&self, worker: usize) -> bool {
        self.has_shared_work()
            || self.crew_shards().any(|shard| shard.index() != worker && shard.has_stealable())
    }

    #[inline]
    pub(crate) fn is_shutting_down(&self) -> bool {
        // SeqCst: part of the sleeper's last look, like a queue.
        self.shutdown.load(Ordering::SeqCst)
    }

    /// Begins the shutdown. Whether this call did.
    pub(super) fn set_shutting_down(&self) -> bool {
        !self.shutdown.swap(true, Ordering::SeqCst)
    }

    /// A task panicked: some runtimes are told to end on that.
    pub(super) fn task_panicked(&self) {
        if self.config.shutdown_on_panic {
            self.panic_shutdown.store(true, Ordering::SeqCst);
        }
    }

    /// The counted reference to this.
    pub(crate) fn arc(&self) -> Arc<Self> {
        self.this.upgrade().expect("whoever reaches the shared part holds it")
    }

    /// A handle, for a thread that must enter this runtime.
    pub(crate) fn handle(&self) -> Handle {
        Handle::new(self.arc())
    }
}
