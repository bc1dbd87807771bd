//! What a runtime tells about itself.
//!
//! Read from the counters that each worker keeps for itself; a sum is what could be seen while summing, not one moment's truth.

use super::{Handle, Histogram};
use crate::scheduler::Shard;
use nezumi_recorder::Counters;
use std::fmt;
use std::ops::Range;
use std::thread::ThreadId;
use std::time::Duration;

/// The figures of one runtime. Cheap to get; each method reads anew.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// let metrics = nezumi::runtime::Handle::current().metrics();
/// println!("{} workers, {} tasks alive", metrics.num_workers(), metrics.num_alive_tasks());
/// # }
/// ```
#[derive(Clone)]
pub struct RuntimeMetrics {
    handle: Handle,
}

impl RuntimeMetrics {
    pub(super) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    #[track_caller]
    fn shard(&self, worker: usize) -> &Shard {
        let workers = self.num_workers();
        assert!(worker < workers, "there is no worker {worker}: the runtime has {workers}, counted from 0");
        self.handle.shared().shard(worker)
    }

    /// What the worker has counted, and the spares that belong to it: each spare to one worker, for good, so that no count ever goes back.
    #[track_caller]
    fn total(&self, worker: usize, pick: impl Fn(&Shard) -> u64) -> u64 {
        let spares = self.handle.shared().crew_shards().skip(worker).step_by(self.num_workers()).skip(1);
        pick(self.shard(worker)) + spares.map(pick).sum::<u64>()
    }

    fn sum(&self, pick: impl Fn(&Counters) -> u64) -> u64 {
        self.handle.shared().crew_shards().map(|shard| pick(shard.counters())).sum()
    }

    /// How many workers there are; 1 on a current-thread runtime.
    #[must_use]
    pub fn num_workers(&self) -> usize {
        self.handle.shared().workers()
    }

    /// How many tasks have been spawned and have not ended.
    #[must_use]
    pub fn num_alive_tasks(&self) -> usize {
        let (spawned, completed) = self.handle.shared().outside_counts();
        // Completions are read first, so that a task that ends meanwhile is not counted twice.
        let completed = completed + self.sum(|counters| counters.completed.get());
        let spawned = spawned + self.sum(|counters| counters.spawned.get());
        spawned.saturating_sub(completed) as usize
    }

    /// The old name of [`num_alive_tasks`](Self::num_alive_tasks).
    #[must_use]
    pub fn active_tasks_count(&self) -> usize {
        self.num_alive_tasks()
    }

    /// How many tasks have been spawned, ever.
    #[must_use]
    pub fn spawned_tasks_count(&self) -> u64 {
        self.handle.shared().outside_counts().0 + self.sum(|counters| counters.spawned.get())
    }

    /// How many tasks wait in the queues that all workers share.
    #[must_use]
    pub fn global_queue_depth(&self) -> usize {
        self.handle.shared().shared_depth()
    }

    /// The old name of [`global_queue_depth`](Self::global_queue_depth).
    #[must_use]
    pub fn injection_queue_depth(&self) -> usize {
        self.global_queue_depth()
    }

    /// How often a task was scheduled from outside the runtime's workers.
    #[must_use]
    pub fn remote_schedule_count(&self) -> u64 {
        self.handle.shared().remote_schedule_count()
    }

    /// How often a task had to yield since its budget was used up.
    #[must_use]
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.sum(|counters| counters.forced_yields.get())
    }

    /// How long a worker has been awake, and spares that stood in for it: more than the time that has passed, if both worked at once.
    ///
    /// # Panics
    ///
    /// When there is no such worker; so do all methods that take a worker's number.
    #[track_caller]
    #[must_use]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.total(worker, |shard| shard.counters().busy_ns.get()))
    }

    /// How often a worker went to sleep.
    #[track_caller]
    #[must_use]
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().parked.get())
    }

    /// How often a worker went to sleep and how often it woke: odd while it sleeps.
    #[track_caller]
    #[must_use]
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().parked_unparked.get())
    }

    /// How often a worker was woken, found nothing, and went to sleep again.
    #[track_caller]
    #[must_use]
    pub fn worker_noop_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().woken_in_vain.get())
    }

    /// How many tasks a worker took from others.
    #[track_caller]
    #[must_use]
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().stolen.get())
    }

    /// How many batches a worker took from others.
    #[track_caller]
    #[must_use]
    pub fn worker_steal_operations(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().steal_operations.get())
    }

    /// How many polls a worker has begun.
    #[track_caller]
    #[must_use]
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.polling.begun())
    }

    /// How many tasks a worker pushed on its own ring.
    #[track_caller]
    #[must_use]
    pub fn worker_local_schedule_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().scheduled_locally.get())
    }

    /// How often a worker's ring was full.
    #[track_caller]
    #[must_use]
    pub fn worker_overflow_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().overflowed.get())
    }

    /// How many tasks wait in a worker's own queue, without the one that is next in any case.
    #[track_caller]
    #[must_use]
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        self.total(worker, |shard| shard.queue_depth() as u64) as usize
    }

    /// The moving average of the time that a poll takes on a worker.
    #[track_caller]
    #[must_use]
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.shard(worker).counters().mean_poll_ns.get())
    }

    /// How often other workers took over what a worker left behind in a long poll, counted at those who took.
    #[track_caller]
    #[must_use]
    pub fn worker_rescue_count(&self, worker: usize) -> u64 {
        self.total(worker, |shard| shard.counters().rescued.get())
    }

    /// How many polls have lasted longer than [`Builder::stuck_after`](super::Builder::stuck_after), or do so now. Seen by the watch, and so 0 without it.
    #[must_use]
    pub fn stuck_poll_count(&self) -> u64 {
        self.handle.shared().stuck_polls.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// How many spare workers stand in for workers that are stuck. See
    /// [`Builder::max_spare_workers`](super::Builder::max_spare_workers).
    #[must_use]
    pub fn num_spare_workers(&self) -> usize {
        self.handle.shared().spares.active()
    }

    /// How often a spare worker was begun.
    #[must_use]
    pub fn spare_workers_begun_count(&self) -> u64 {
        self.handle.shared().spares.begun()
    }

    /// How many threads the pool has for blocking work, without the workers.
    #[must_use]
    pub fn num_blocking_threads(&self) -> usize {
        let shared = self.handle.shared();
        let workers = if shared.is_multi_thread() { shared.workers() + shared.spares.active() } else { 0 };
        shared.blocking.threads().saturating_sub(workers)
    }

    /// How many threads of the pool have nothing to do.
    #[must_use]
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.shared().blocking.idle_threads()
    }

    /// The thread that a worker runs on, or ran on last. `None` before it has started.
    ///
    /// Another thread takes over when a task calls `block_in_place`. For what else is known of a thread, collect it in
    /// [`on_thread_start`](super::Builder::on_thread_start), by this id.
    ///
    /// # Panics
    ///
    /// When there is no such worker.
    #[track_caller]
    #[must_use]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        self.shard(worker).thread()
    }

    /// How many blocking tasks wait for a thread.
    #[must_use]
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.shared().blocking.queue_depth()
    }

    /// Whether the time of each poll is measured.
    #[must_use]
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.handle.shared().config.poll_time_histogram.is_some()
    }

    /// How many buckets the histogram of poll times has; 0 when it is not enabled.
    #[must_use]
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        self.shard(0).poll_times().map_or(0, Histogram::buckets)
    }

    /// Which times a bucket counts; none, where there is no such bucket.
    #[track_caller]
    #[must_use]
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        range_of(self.shard(0).poll_times(), bucket)
    }

    /// How many polls of a worker fell into a bucket.
    #[track_caller]
    #[must_use]
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.total(worker, |shard| shard.poll_times().map_or(0, |times| times.count(bucket)))
    }

    /// Whether it is counted how long tasks wait between being scheduled and being polled. See
    /// [`Builder::enable_metrics_schedule_latency_histogram`](super::Builder::enable_metrics_schedule_latency_histogram).
    #[must_use]
    pub fn schedule_latency_histogram_enabled(&self) -> bool {
        self.handle.shared().config.schedule_latency_histogram.is_some()
    }

    /// How many buckets the histogram of these waits has; 0 when it is not enabled.
    #[must_use]
    pub fn schedule_latency_histogram_num_buckets(&self) -> usize {
        waits_of(self.shard(0)).map_or(0, Histogram::buckets)
    }

    /// Which waits a bucket counts; none, where there is no such bucket.
    #[track_caller]
    #[must_use]
    pub fn schedule_latency_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        range_of(waits_of(self.shard(0)), bucket)
    }

    /// How many waits that a worker ended fell into a bucket.
    ///
    /// # Panics
    ///
    /// When there is no such worker, or no such bucket.
    #[track_caller]
    #[must_use]
    pub fn schedule_latency_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.total(worker, |shard| waits_of(shard).map_or(0, |times| times.count(bucket)))
    }

    #[doc(hidden)]
    #[deprecated = "renamed to `poll_time_histogram_enabled`"]
    #[must_use]
    pub fn poll_count_histogram_enabled(&self) -> bool {
        self.poll_time_histogram_enabled()
    }

    #[doc(hidden)]
    #[deprecated = "renamed to `poll_time_histogram_num_buckets`"]
    #[must_use]
    pub fn poll_count_histogram_num_buckets(&self) -> usize {
        self.poll_time_histogram_num_buckets()
    }

    #[doc(hidden)]
    #[deprecated = "renamed to `poll_time_histogram_bucket_range`"]
    #[track_caller]
    #[must_use]
    pub fn poll_count_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.poll_time_histogram_bucket_range(bucket)
    }

    #[doc(hidden)]
    #[deprecated = "renamed to `poll_time_histogram_bucket_count`"]
    #[track_caller]
    #[must_use]
    pub fn poll_count_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.poll_time_histogram_bucket_count(worker, bucket)
    }

    /// How many descriptors have been registered with the I/O driver.
    #[must_use]
    pub fn io_driver_fd_registered_count(&self) -> u64 {
        self.handle.shared().driver.as_ref().map_or(0, crate::driver::Handle::registered_count)
    }

    /// How many descriptors have been deregistered.
    #[must_use]
    pub fn io_driver_fd_deregistered_count(&self) -> u64 {
        self.handle.shared().driver.as_ref().map_or(0, crate::driver::Handle::deregistered_count)
    }

    /// How many events the I/O driver has dispatched.
    #[must_use]
    pub fn io_driver_ready_count(&self) -> u64 {
        self.handle.shared().driver.as_ref().map_or(0, crate::driver::Handle::ready_event_count)
    }
}

fn waits_of(shard: &Shard) -> Option<&Histogram> {
    shard.waits()?.times()
}

fn range_of(histogram: Option<&Histogram>, bucket: usize) -> Range<Duration> {
    match histogram {
        Some(times) if bucket < times.buckets() => times.range(bucket),
        _ => Duration::ZERO..Duration::ZERO,
    }
}

impl fmt::Debug for RuntimeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeMetrics")
            .field("num_workers", &self.num_workers())
            .field("num_alive_tasks", &self.num_alive_tasks())
            .field("global_queue_depth", &self.global_queue_depth())
            .finish_non_exhaustive()
    }
}
