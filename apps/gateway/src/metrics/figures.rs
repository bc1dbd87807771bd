//! Counters, gauges and histograms, each beside what it counts.
//!
//! All updates are relaxed: a figure says how often something happened, never that something else is visible.

use http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that others add to.
#[derive(Debug, Default)]
pub(crate) struct Figure(AtomicU64);

impl Figure {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn sub(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper limits of the buckets that durations are counted in.
pub(super) const BUCKETS_MS: [u64; 14] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000];

/// Durations, counted by length.
#[derive(Debug, Default)]
pub(crate) struct Durations {
    pub(super) buckets: [Figure; BUCKETS_MS.len()],
    pub(super) longer: Figure,
    pub(super) sum_us: Figure,
}

impl Durations {
    fn note(&self, duration: Duration) {
        let fits = BUCKETS_MS.iter().position(|limit_ms| duration <= Duration::from_millis(*limit_ms));
        fits.map_or(&self.longer, |index| &self.buckets[index]).add(1);
        self.sum_us.add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }
}

/// The codes that are counted one by one: all there can be.
const FIRST_STATUS: u16 = 100;
const LAST_STATUS: u16 = 999;

/// What stands for the status of an exchange whose client left before there was one.
const CLIENT_LEFT: u16 = 499;

/// What is counted of a route.
#[derive(Debug)]
pub(crate) struct RouteFigures {
    /// Exchanges that are over, by status.
    statuses: Box<[Figure]>,
    pub(crate) in_flight: Figure,
    pub(super) bytes_in: Figure,
    pub(super) bytes_out: Figure,
    pub(super) durations: Durations,
}

impl Default for RouteFigures {
    fn default() -> Self {
        Self {
            statuses: (FIRST_STATUS..=LAST_STATUS).map(|_| Figure::default()).collect(),
            in_flight: Figure::default(),
            bytes_in: Figure::default(),
            bytes_out: Figure::default(),
            durations: Durations::default(),
        }
    }
}

impl RouteFigures {
    /// An exchange is over.
    pub(crate) fn note(&self, status: Option<StatusCode>, took: Duration, bytes_in: u64, bytes_out: u64) {
        let status = status.map_or(CLIENT_LEFT, |status| status.as_u16());
        self.statuses[usize::from(status.clamp(FIRST_STATUS, LAST_STATUS) - FIRST_STATUS)].add(1);
        self.durations.note(took);
        self.bytes_in.add(bytes_in);
        self.bytes_out.add(bytes_out);
    }

    /// Every status that occurred, and how often.
    pub(super) fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        (FIRST_STATUS..).zip(self.statuses.iter().map(Figure::get)).filter(|(_, count)| *count > 0)
    }
}

/// What is counted of a member.
#[derive(Debug, Default)]
pub(crate) struct MemberFigures {
    pub(crate) requests: Figure,
    pub(crate) connects: Figure,
    pub(crate) connects_failed: Figure,
    /// Connections open now.
    pub(crate) links: Figure,
}

/// What is counted of a listener.
#[derive(Debug, Default)]
pub(crate) struct ListenerFigures {
    pub(crate) accepted: Figure,
    /// Connections open now.
    pub(crate) open: Figure,
    pub(crate) accept_errors: Figure,
    /// Connections closed because what came was not HTTP.
    pub(crate) malformed: Figure,
    /// Connections closed within a request head that did not come in time.
    pub(crate) header_timeouts: Figure,
    /// Connections cut because an exchange could not end by itself.
    pub(crate) stuck: Figure,
    /// Connections that broke for another reason.
    pub(crate) broken: Figure,
}
