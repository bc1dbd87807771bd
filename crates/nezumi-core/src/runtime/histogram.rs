//! How often something took how long.
//!
//! A [`HistogramConfiguration`] says which bucket a time falls into; a [`Histogram`] counts. There is one for each worker,
//! written by that worker alone and read by whoever asks.

mod log;

pub use log::{InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder};

use nezumi_recorder::Counter;
use std::ops::Range;
use std::time::Duration;

/// Whether the buckets of a histogram are equally wide.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Builder, HistogramScale};
///
/// let rt = Builder::new_multi_thread()
///     .enable_metrics_poll_count_histogram()
///     .metrics_poll_count_histogram_scale(HistogramScale::Log)
///     .build()
///     .unwrap();
/// assert!(rt.metrics().poll_time_histogram_enabled());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistogramScale {
    /// All buckets are equally wide.
    Linear,
    /// Each bucket is twice as wide as the one before.
    Log,
}

/// The buckets of a histogram.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{HistogramConfiguration, LogHistogram};
/// use std::time::Duration;
///
/// // Ten buckets of 50 µs: what takes longer than 450 µs is in the last.
/// let linear = HistogramConfiguration::linear(Duration::from_micros(50), 10);
/// // From 100 ns to a minute, to within a quarter.
/// let log = HistogramConfiguration::log(LogHistogram::default());
/// # let _ = (linear, log);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramConfiguration(Buckets);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Buckets {
    /// As wide as each other, or each twice as wide as the one before.
    Plain { scale: HistogramScale, width_ns: u64, count: usize },
    /// As wide as a given error allows.
    Log(LogHistogram),
}

impl HistogramConfiguration {
    /// Buckets that are all `bucket_width` wide; the last one takes everything beyond, too.
    #[must_use]
    pub fn linear(bucket_width: Duration, num_buckets: usize) -> Self {
        Self::plain(HistogramScale::Linear, nanoseconds(bucket_width), num_buckets)
    }

    /// Buckets that grow with what they count, so that the error relative to it stays the same.
    #[must_use]
    pub fn log(configuration: impl Into<LogHistogram>) -> Self {
        Self(Buckets::Log(configuration.into()))
    }

    fn plain(scale: HistogramScale, width_ns: u64, count: usize) -> Self {
        let width_ns = match scale {
            HistogramScale::Linear => width_ns.max(1),
            // Counted by leading zeros.
            HistogramScale::Log => width_ns.max(1).checked_next_power_of_two().unwrap_or(1 << 63),
        };
        Self(Buckets::Plain { scale, width_ns, count: count.max(1) })
    }

    /// The scale, the width of the first bucket and the number of buckets, where those three say it all.
    fn plainly(&self) -> (HistogramScale, u64, usize) {
        match self.0 {
            Buckets::Plain { scale, width_ns, count } => (scale, width_ns, count),
            Buckets::Log(_) => Self::default().plainly(),
        }
    }

    pub(crate) fn set_scale(&mut self, scale: HistogramScale) {
        let (_, width_ns, count) = self.plainly();
        *self = Self::plain(scale, width_ns, count);
    }

    pub(crate) fn set_width(&mut self, width: Duration) {
        let (scale, _, count) = self.plainly();
        *self = Self::plain(scale, nanoseconds(width), count);
    }

    pub(crate) fn set_count(&mut self, count: usize) {
        let (scale, width_ns, _) = self.plainly();
        *self = Self::plain(scale, width_ns, count);
    }

    fn count(&self) -> usize {
        match &self.0 {
            Buckets::Plain { count, .. } => *count,
            Buckets::Log(log) => log.count(),
        }
    }

    fn bucket(&self, ns: u64) -> usize {
        let unbounded = match &self.0 {
            Buckets::Plain { scale: HistogramScale::Linear, width_ns, .. } => ns / width_ns,
            // 0 below the first width, 1 below twice that, 2 below four times …
            Buckets::Plain { scale: HistogramScale::Log, width_ns, .. } => {
                u64::from((ns / width_ns).checked_ilog2().map_or(0, |log| log + 1))
            }
            Buckets::Log(log) => return log.bucket(ns),
        };
        usize::try_from(unbounded).unwrap_or(usize::MAX).min(self.count() - 1)
    }

    /// Where a bucket begins; saturated.
    fn start_ns(&self, bucket: usize) -> u64 {
        match &self.0 {
            Buckets::Plain { scale: HistogramScale::Linear, width_ns, .. } => {
                width_ns.saturating_mul(bucket as u64)
            }
            Buckets::Plain { scale: HistogramScale::Log, width_ns, .. } => match bucket {
                0 => 0,
                _ => u64::try_from(bucket - 1)
                    .ok()
                    .and_then(|doublings| 2_u64.checked_pow(u32::try_from(doublings).ok()?))
                    .map_or(u64::MAX, |times| width_ns.saturating_mul(times)),
            },
            Buckets::Log(log) => log.start_ns(bucket),
        }
    }

    fn range_ns(&self, bucket: usize) -> Range<u64> {
        let is_last = bucket + 1 == self.count();
        self.start_ns(bucket)..if is_last { u64::MAX } else { self.start_ns(bucket + 1) }
    }
}

impl Default for HistogramConfiguration {
    fn default() -> Self {
        Self::plain(HistogramScale::Linear, 100_000, 10)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// One worker's histogram, written by the worker alone.
#[derive(Debug)]
pub(crate) struct Histogram {
    configuration: HistogramConfiguration,
    counts: Box<[Counter]>,
}

impl Histogram {
    pub(crate) fn new(configuration: &HistogramConfiguration) -> Self {
        let counts = (0..configuration.count()).map(|_| Counter::default()).collect();
        Self { configuration: configuration.clone(), counts }
    }

    pub(crate) fn record(&self, duration: Duration) {
        self.counts[self.configuration.bucket(nanoseconds(duration))].add(1);
    }

    pub(crate) fn buckets(&self) -> usize {
        self.counts.len()
    }

    pub(crate) fn count(&self, bucket: usize) -> u64 {
        self.counts[bucket].get()
    }

    pub(crate) fn range(&self, bucket: usize) -> Range<Duration> {
        let ns = self.configuration.range_ns(bucket);
        Duration::from_nanos(ns.start)..Duration::from_nanos(ns.end)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn configurations() -> impl Strategy<Value = HistogramConfiguration> {
        let scale = prop_oneof![Just(HistogramScale::Linear), Just(HistogramScale::Log)];
        prop_oneof![
            (scale, any::<u64>(), 0_usize..100).prop_map(|(scale, width_ns, count)| {
                HistogramConfiguration::plain(scale, width_ns >> (count % 64), count)
            }),
            (1_u64..1 << 34, 1_u64..1 << 40, 0_u32..=10).prop_map(|(min, max, precision)| {
                let mut builder = LogHistogram::builder();
                builder = builder.min_value(Duration::from_nanos(min)).max_value(Duration::from_nanos(max));
                HistogramConfiguration::log(builder.precision_exact(precision))
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

        #[test]
        fn buckets_follow_each_other_and_each_time_is_in_its_bucket(
            configuration in configurations(),
            ns in any::<u64>(),
            shift in 0_u32..64,
        ) {
            let mut end = 0;
            for bucket in 0..configuration.count() {
                let range = configuration.range_ns(bucket);
                prop_assert_eq!(range.start, end);
                end = range.end;
                // Beyond what a u64 can count, buckets are empty.
                if range.start < range.end {
                    prop_assert_eq!(configuration.bucket(range.start), bucket);
                    prop_assert_eq!(configuration.bucket(range.end - 1), bucket);
                }
            }
            prop_assert_eq!(end, u64::MAX);
            let ns = ns >> shift;
            let range = configuration.range_ns(configuration.bucket(ns));
            prop_assert!(range.contains(&ns) || ns == u64::MAX);
        }
    }

    #[test]
    fn each_setting_changes_that_setting_only() {
        let mut configuration = HistogramConfiguration::log(LogHistogram::default());
        configuration.set_count(4);
        configuration.set_width(Duration::from_nanos(900));
        assert_eq!(configuration, HistogramConfiguration::linear(Duration::from_nanos(900), 4));
        configuration.set_scale(HistogramScale::Log);
        let starts: Vec<_> = (0..4).map(|bucket| configuration.start_ns(bucket)).collect();
        assert_eq!(starts, [0, 1024, 2048, 4096]);
    }

    #[test]
    fn what_is_recorded_is_counted_in_its_bucket() {
        let histogram = Histogram::new(&HistogramConfiguration::linear(Duration::from_millis(1), 3));
        for ms in [0, 1, 1, 7] {
            histogram.record(Duration::from_millis(ms));
        }
        assert_eq!(
            (0..histogram.buckets()).map(|bucket| histogram.count(bucket)).collect::<Vec<_>>(),
            [1, 2, 1]
        );
        assert_eq!(histogram.range(1), Duration::from_millis(1)..Duration::from_millis(2));
        assert_eq!(histogram.range(2), Duration::from_millis(2)..Duration::from_nanos(u64::MAX));
    }
}
