//! How long tasks wait from being scheduled to being polled, where the program wants to know.
//!
//! Called by `schedule` and `spawn` (a task becomes runnable) and `observe` (it is about to be polled).
//!
//! The time at which a task was scheduled is not in the task, which would be larger for everybody, but in a table of its home shard, at the
//! task's place in the registry. So nothing is added where nobody asked: there is no table then, and scheduling has one branch, on the line
//! from which it reads the address of the runtime. Where somebody asked, the table grows when more tasks are alive than ever before, and no
//! task allocates.
//!
//! A stamp belongs to whoever holds the task's runnable, as the link in the header does; the queue that hands the runnable on makes it
//! visible.
//!
//! Tests: `tests/it/latency.rs`.

use crate::runtime::Histogram;
use crate::task::{Header, PLACE_CHUNKS, locate_place, places_in_chunk};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One shard's part: the stamps of the tasks whose home it is, and what its worker has seen.
#[derive(Debug)]
pub(crate) struct Waits {
    start: Instant,
    /// In nanoseconds after `start`, by the task's place; 0 for never.
    stamps: [OnceLock<Box<[AtomicU64]>>; PLACE_CHUNKS],
    times: Option<Histogram>,
}

impl Waits {
    pub(super) fn new(times: Option<Histogram>) -> Self {
        Self { start: Instant::now(), stamps: [const { OnceLock::new() }; PLACE_CHUNKS], times }
    }

    fn stamp(&self, task: &Header) -> Option<&AtomicU64> {
        let (chunk, offset) = locate_place(task.place());
        let chunk_of = || (0..places_in_chunk(chunk)).map(|_| AtomicU64::new(0)).collect();
        self.stamps.get(chunk)?.get_or_init(chunk_of).get(offset)
    }

    fn ns_at(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.start).as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    /// The task, whose home this is, has become runnable. The caller holds its runnable.
    #[cold]
    pub(super) fn begin(&self, task: &Header) {
        if let Some(stamp) = self.stamp(task) {
            // Relaxed: see the module's header.
            stamp.store(self.ns_at(Instant::now()), Ordering::Relaxed);
        }
    }

    /// How long the task, whose home this is, has been runnable. The caller holds its runnable.
    pub(super) fn until(&self, now: Instant, task: &Header) -> Option<Duration> {
        match self.stamp(task)?.load(Ordering::Relaxed) {
            0 => None,
            since => Some(Duration::from_nanos(self.ns_at(now).saturating_sub(since))),
        }
    }

    /// Counts a wait that this shard's worker has ended. The caller is that worker.
    pub(super) fn record(&self, waited: Duration) {
        if let Some(times) = &self.times {
            times.record(waited);
        }
    }

    /// What the worker has counted, where the program wants a histogram.
    pub(crate) fn times(&self) -> Option<&Histogram> {
        self.times.as_ref()
    }
}
