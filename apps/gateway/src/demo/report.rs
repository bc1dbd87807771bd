//! What came out of a demonstration, as a table and as JSON.

use super::client::Tally;
use crate::metrics::{RuntimeFigures, WorkerFigures};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What came out of a demonstration.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Requests that succeeded.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that succeeded, for each second.
    pub rps: f64,
    /// Half of them took no longer than this, in microseconds.
    pub p50_us: u64,
    /// Nine in ten.
    pub p90_us: u64,
    /// 99 in 100.
    pub p99_us: u64,
    /// 999 in 1000.
    pub p999_us: u64,
    /// The slowest.
    pub max_us: u64,
    /// How long the load lasted.
    pub seconds: f64,
    /// Clients at once.
    pub connections: u32,
    /// What each worker did meanwhile.
    pub workers: Vec<WorkerFigures>,
    /// Tasks spawned meanwhile.
    pub spawned: u64,
    /// Tasks scheduled from outside the workers meanwhile.
    pub remote_schedules: u64,
}

impl Report {
    pub(super) fn new(connections: u32, elapsed: Duration, tally: &Tally, runtime: RuntimeFigures) -> Self {
        let seconds = elapsed.as_secs_f64();
        let quantile = |quantile| tally.latency_us.value_at_quantile(quantile);
        Self {
            requests: tally.requests,
            errors: tally.errors,
            rps: (tally.requests as f64 / seconds * 10.0).round() / 10.0,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: tally.latency_us.max(),
            seconds,
            connections,
            workers: runtime.workers,
            spawned: runtime.spawned,
            remote_schedules: runtime.remote_schedules,
        }
    }

    /// Whether something was asked and all of it was answered.
    #[must_use]
    pub fn is_flawless(&self) -> bool {
        self.errors == 0 && self.requests > 0
    }

    fn total(&self) -> WorkerFigures {
        self.workers.iter().fold(WorkerFigures::default(), |sum, worker| WorkerFigures {
            polls: sum.polls + worker.polls,
            steals: sum.steals + worker.steals,
            steal_operations: sum.steal_operations + worker.steal_operations,
            parks: sum.parks + worker.parks,
            noops: sum.noops + worker.noops,
            local_schedules: sum.local_schedules + worker.local_schedules,
            overflows: sum.overflows + worker.overflows,
            busy_us: sum.busy_us + worker.busy_us,
            ..sum
        })
    }

    fn write_worker(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        worker: &WorkerFigures,
        cores: f64,
    ) -> fmt::Result {
        writeln!(
            f,
            "{name:<7}{:>12}{:>10}{:>12}{:>10}{:>9}{:>13}{:>10}{:>8.1}",
            worker.polls,
            worker.steals,
            worker.steal_operations,
            worker.parks,
            worker.noops,
            worker.local_schedules,
            worker.overflows,
            worker.busy_us as f64 / 1e4 / self.seconds / cores,
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |us: u64| us as f64 / 1e3;
        writeln!(
            f,
            "two servers, the gateway and {} clients in this process, on loopback",
            self.connections
        )?;
        writeln!(f)?;
        writeln!(f, "requests    {:>12}  in {:.1} s", self.requests, self.seconds)?;
        writeln!(f, "errors      {:>12}", self.errors)?;
        writeln!(f, "requests/s  {:>12.0}", self.rps)?;
        writeln!(
            f,
            "latency     p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, max {:.2} ms",
            ms(self.p50_us),
            ms(self.p90_us),
            ms(self.p99_us),
            ms(self.p999_us),
            ms(self.max_us)
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "{:<7}{:>12}{:>10}{:>12}{:>10}{:>9}{:>13}{:>10}{:>8}",
            "worker", "polls", "steals", "steal ops", "parks", "noops", "local sched", "overflow", "busy %"
        )?;
        for (index, worker) in self.workers.iter().enumerate() {
            self.write_worker(f, &index.to_string(), worker, 1.0)?;
        }
        self.write_worker(f, "all", &self.total(), self.workers.len().max(1) as f64)?;
        write!(
            f,
            "\ntasks spawned {}, scheduled from outside the workers {}",
            self.spawned, self.remote_schedules
        )
    }
}
