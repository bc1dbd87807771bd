//! How often something took how long.

use nezumi_recorder::Counter;
use std::ops::Range;
use std::time::Duration;

/// The buckets of a histogram.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::HistogramConfiguration;
/// use std::time::Duration;
///
/// let ten_of_50_us = HistogramConfiguration::linear(Duration::from_micros(50), 10);
/// # let _ = ten_of_50_us;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramConfiguration {
    width_ns: u64,
    buckets: usize,
}

impl HistogramConfiguration {
    /// Buckets that are all `bucket_width` wide; the last one takes everything beyond, too.
    #[must_use]
    pub fn linear(bucket_width: Duration, num_buckets: usize) -> Self {
        let width_ns = u64::try_from(bucket_width.as_nanos()).unwrap_or(u64::MAX);
        Self { width_ns: width_ns.max(1), buckets: num_buckets.max(1) }
    }
}

impl Default for HistogramConfiguration {
    fn default() -> Self {
        Self { width_ns: 100_000, buckets: 10 }
    }
}

/// One worker's histogram, written by the worker alone.
#[derive(Debug)]
pub(crate) struct Histogram {
    configuration: HistogramConfiguration,
    counts: Box<[Counter]>,
}

impl Histogram {
    pub(crate) fn new(configuration: &HistogramConfiguration) -> Self {
        let counts = (0..configuration.buckets).map(|_| Counter::default()).collect();
        Self { configuration: configuration.clone(), counts }
    }

    pub(crate) fn record(&self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = (ns / self.configuration.width_ns).min(self.counts.len() as u64 - 1);
        self.counts[bucket as usize].add(1);
    }

    pub(crate) fn buckets(&self) -> usize {
        self.counts.len()
    }

    pub(crate) fn count(&self, bucket: usize) -> u64 {
        self.counts[bucket].get()
    }

    pub(crate) fn range(&self, bucket: usize) -> Range<Duration> {
        let width_ns = self.configuration.width_ns;
        let start = Duration::from_nanos(width_ns.saturating_mul(bucket as u64));
        let is_last = bucket + 1 == self.counts.len();
        let end_ns = if is_last { u64::MAX } else { width_ns.saturating_mul(bucket as u64 + 1) };
        start..Duration::from_nanos(end_ns)
    }
}
