//! What the runtime counts itself, read at one moment.
//!
//! Used by the metrics page, and by the demonstration for what happened between two moments.

use super::text::Page;
use serde::Serialize;
use tokio::runtime::Handle;

/// What one worker has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WorkerFigures {
    /// Polls of tasks.
    pub polls: u64,
    /// Tasks taken from other workers.
    pub steals: u64,
    /// Times it took any.
    pub steal_operations: u64,
    /// Times it went to sleep.
    pub parks: u64,
    /// Times it woke up and found nothing to do.
    pub noops: u64,
    /// Tasks scheduled from this worker itself.
    pub local_schedules: u64,
    /// Times its queue was full.
    pub overflows: u64,
    /// Times it took over what another worker had left behind in a long poll.
    pub rescues: u64,
    /// Time spent not asleep, in microseconds.
    pub busy_us: u64,
    /// Tasks in its queue.
    pub queue_depth: u64,
    /// Mean length of a poll, in nanoseconds.
    pub mean_poll_ns: u64,
}

/// What a runtime has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuntimeFigures {
    /// By worker.
    pub workers: Vec<WorkerFigures>,
    /// Tasks that are not done.
    pub tasks: u64,
    /// Tasks ever spawned.
    pub spawned: u64,
    /// Tasks in the queue of the runtime.
    pub global_queue_depth: u64,
    /// Tasks scheduled from outside the workers.
    pub remote_schedules: u64,
    /// Times a task was made to give way.
    pub forced_yields: u64,
    /// Spare workers that stand in for stuck ones.
    pub spares: u64,
    /// Times one was begun.
    pub spares_begun: u64,
    /// Threads for blocking work.
    pub blocking_threads: u64,
    /// Those of them that are idle.
    pub idle_blocking_threads: u64,
    /// Blocking work not begun.
    pub blocking_queue_depth: u64,
}

impl RuntimeFigures {
    /// The figures of the runtime behind `handle`, now.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    /// let figures = gateway::metrics::RuntimeFigures::read(runtime.handle());
    /// assert_eq!(figures.workers.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn read(handle: &Handle) -> Self {
        let runtime = handle.metrics();
        let worker = |index| WorkerFigures {
            polls: runtime.worker_poll_count(index),
            steals: runtime.worker_steal_count(index),
            steal_operations: runtime.worker_steal_operations(index),
            parks: runtime.worker_park_count(index),
            noops: runtime.worker_noop_count(index),
            local_schedules: runtime.worker_local_schedule_count(index),
            overflows: runtime.worker_overflow_count(index),
            rescues: runtime.worker_rescue_count(index),
            busy_us: u64::try_from(runtime.worker_total_busy_duration(index).as_micros()).unwrap_or(u64::MAX),
            queue_depth: runtime.worker_local_queue_depth(index) as u64,
            mean_poll_ns: u64::try_from(runtime.worker_mean_poll_time(index).as_nanos()).unwrap_or(u64::MAX),
        };
        Self {
            workers: (0..runtime.num_workers()).map(worker).collect(),
            tasks: runtime.num_alive_tasks() as u64,
            spawned: runtime.spawned_tasks_count(),
            global_queue_depth: runtime.global_queue_depth() as u64,
            remote_schedules: runtime.remote_schedule_count(),
            forced_yields: runtime.budget_forced_yield_count(),
            spares: runtime.num_spare_workers() as u64,
            spares_begun: runtime.spare_workers_begun_count(),
            blocking_threads: runtime.num_blocking_threads() as u64,
            idle_blocking_threads: runtime.num_idle_blocking_threads() as u64,
            blocking_queue_depth: runtime.blocking_queue_depth() as u64,
        }
    }

    /// What happened since `before`: counts subtracted, depths and means as they are now.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        for (now, before) in self.workers.iter_mut().zip(&before.workers) {
            now.polls -= before.polls;
            now.steals -= before.steals;
            now.steal_operations -= before.steal_operations;
            now.parks -= before.parks;
            now.noops -= before.noops;
            now.local_schedules -= before.local_schedules;
            now.overflows -= before.overflows;
            now.rescues -= before.rescues;
            now.busy_us -= before.busy_us;
        }
        self.spawned -= before.spawned;
        self.remote_schedules -= before.remote_schedules;
        self.forced_yields -= before.forced_yields;
        self.spares_begun -= before.spares_begun;
        self
    }

    /// Writes all of them.
    pub(super) fn write(&self, page: &mut Page) {
        self.write_workers(page);
        let mut one = |kind: fn(&mut Page, _, _), name, help, value: u64| {
            kind(page, name, help);
            page.sample(&[], value);
        };
        one(Page::gauge, "runtime_workers", "Worker threads.", self.workers.len() as u64);
        one(Page::gauge, "runtime_tasks", "Tasks that are not done.", self.tasks);
        one(Page::counter, "runtime_tasks_spawned_total", "Tasks ever spawned.", self.spawned);
        one(
            Page::gauge,
            "runtime_global_queue_depth",
            "Tasks in the runtime's own queue.",
            self.global_queue_depth,
        );
        one(
            Page::counter,
            "runtime_remote_schedules_total",
            "Tasks scheduled from outside the workers.",
            self.remote_schedules,
        );
        one(
            Page::counter,
            "runtime_forced_yields_total",
            "Times a task was made to give way.",
            self.forced_yields,
        );
        one(
            Page::gauge,
            "runtime_spare_workers",
            "Spare workers that stand in for workers stuck in a poll.",
            self.spares,
        );
        one(
            Page::counter,
            "runtime_spare_workers_begun_total",
            "Times a spare worker was begun.",
            self.spares_begun,
        );
        one(Page::gauge, "runtime_blocking_threads", "Threads for blocking work.", self.blocking_threads);
        one(
            Page::gauge,
            "runtime_blocking_threads_idle",
            "Threads for blocking work that have none.",
            self.idle_blocking_threads,
        );
        one(
            Page::gauge,
            "runtime_blocking_queue_depth",
            "Blocking work not begun.",
            self.blocking_queue_depth,
        );
    }

    fn write_workers(&self, page: &mut Page) {
        let mut each = |kind: fn(&mut Page, _, _), name, help, value: fn(&WorkerFigures) -> f64| {
            kind(page, name, help);
            for (index, worker) in self.workers.iter().enumerate() {
                page.sample(&[("worker", &index)], value(worker));
            }
        };
        each(Page::counter, "runtime_worker_polls_total", "Polls of tasks.", |worker| worker.polls as f64);
        each(Page::counter, "runtime_worker_steals_total", "Tasks taken from other workers.", |worker| {
            worker.steals as f64
        });
        each(Page::counter, "runtime_worker_steal_operations_total", "Times tasks were taken.", |worker| {
            worker.steal_operations as f64
        });
        each(Page::counter, "runtime_worker_parks_total", "Times it went to sleep.", |worker| {
            worker.parks as f64
        });
        each(Page::counter, "runtime_worker_noops_total", "Times it woke up for nothing.", |worker| {
            worker.noops as f64
        });
        each(
            Page::counter,
            "runtime_worker_local_schedules_total",
            "Tasks scheduled on it by itself.",
            |worker| worker.local_schedules as f64,
        );
        each(Page::counter, "runtime_worker_overflows_total", "Times its queue was full.", |worker| {
            worker.overflows as f64
        });
        each(
            Page::counter,
            "runtime_worker_rescues_total",
            "Times it took over what another worker had left behind in a long poll.",
            |worker| worker.rescues as f64,
        );
        each(Page::counter, "runtime_worker_busy_seconds_total", "Time not asleep.", |worker| {
            worker.busy_us as f64 / 1e6
        });
        each(Page::gauge, "runtime_worker_queue_depth", "Tasks in its queue.", |worker| {
            worker.queue_depth as f64
        });
        each(Page::gauge, "runtime_worker_poll_seconds_mean", "Mean length of a poll.", |worker| {
            worker.mean_poll_ns as f64 / 1e9
        });
    }
}
