//! Buckets that are as wide as a given relative error allows.
//!
//! Every power of two is split into 2^`precision` buckets of one width, and below 2^`precision` each number has its own. So
//! the number of a bucket is a shift and a sum, and where it begins is the same backwards. Of that endless row, a histogram
//! keeps those from `first` on: all that is less goes into its first bucket, all that is more into its last.

use super::nanoseconds;
use std::error::Error;
use std::fmt;
use std::time::Duration;

const MIN: Duration = Duration::from_nanos(100);
const MAX: Duration = Duration::from_secs(60);
const PRECISION: u32 = 2;
const MAX_PRECISION: u32 = 10;

/// The number of the bucket in the endless row.
fn number(ns: u64, precision: u32) -> u64 {
    let shift = ns.checked_ilog2().unwrap_or(0).saturating_sub(precision);
    (u64::from(shift) << precision) + (ns >> shift)
}

/// The least time in the bucket with this number; `None` beyond what can be counted.
fn start(number: u64, precision: u32) -> Option<u64> {
    // The first two powers have no shift.
    let shift = (number >> precision).saturating_sub(1);
    let steps = number - (shift << precision);
    let shift = u32::try_from(shift).ok()?;
    (shift <= steps.leading_zeros()).then(|| steps << shift)
}

/// A histogram whose buckets grow with the times that they count, by [`builder`](Self::builder).
///
/// # Examples
///
/// ```
/// use nezumi::runtime::LogHistogram;
/// use std::time::Duration;
///
/// let histogram = LogHistogram::builder()
///     .min_value(Duration::from_micros(1))
///     .max_value(Duration::from_secs(10))
///     .max_error(0.1)
///     .build();
/// assert!(histogram.max_value() >= 10_000_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHistogram {
    precision: u32,
    first: u64,
    count: usize,
}

impl LogHistogram {
    /// From 100 ns to a minute with an error of a quarter, unless told otherwise.
    pub fn builder() -> LogHistogramBuilder {
        LogHistogramBuilder::default()
    }

    /// Where the last bucket begins, in nanoseconds: longer times than this are not told apart.
    #[must_use]
    pub fn max_value(&self) -> u64 {
        self.start_ns(self.count - 1)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn bucket(&self, ns: u64) -> usize {
        let bucket = number(ns, self.precision).saturating_sub(self.first);
        usize::try_from(bucket).unwrap_or(usize::MAX).min(self.count - 1)
    }

    pub(super) fn start_ns(&self, bucket: usize) -> u64 {
        match bucket {
            0 => 0,
            _ => start(self.first + bucket as u64, self.precision).unwrap_or(u64::MAX),
        }
    }
}

impl Default for LogHistogram {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl From<LogHistogramBuilder> for LogHistogram {
    fn from(builder: LogHistogramBuilder) -> Self {
        builder.build()
    }
}

/// Says what a [`LogHistogram`] must tell apart.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::LogHistogram;
/// use std::time::Duration;
///
/// // From 10 µs to 10 s, and at most a quarter off.
/// let histogram = LogHistogram::builder()
///     .min_value(Duration::from_micros(10))
///     .max_value(Duration::from_secs(10))
///     .max_error(0.25)
///     .build();
/// assert!(histogram.max_value() >= 10_000_000_000);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "a builder does nothing until it builds"]
pub struct LogHistogramBuilder {
    min: Option<Duration>,
    max: Option<Duration>,
    precision: Option<u32>,
}

impl LogHistogramBuilder {
    /// How far a time may be from another in the same bucket, relative to it: 0.25 for a quarter. Not less than about a
    /// thousandth.
    ///
    /// # Panics
    ///
    /// Unless it is between 0 and 1.
    #[track_caller]
    pub fn max_error(mut self, max_error: f64) -> Self {
        assert!(max_error > 0.0, "max_error must be greater than 0");
        assert!(max_error < 1.0, "max_error must be less than 1");
        let enough = |precision: &u32| (-f64::from(*precision)).exp2() <= max_error;
        self.precision = Some((PRECISION..MAX_PRECISION).find(enough).unwrap_or(MAX_PRECISION));
        self
    }

    /// Splits every power of two into 2^`precision` buckets: the error is 2^-`precision`.
    ///
    /// # Panics
    ///
    /// When it is more than 10.
    #[track_caller]
    pub fn precision_exact(mut self, precision: u32) -> Self {
        assert!(precision <= MAX_PRECISION, "precision must be <= {MAX_PRECISION}");
        self.precision = Some(precision);
        self
    }

    /// Shorter times than this need not be told apart.
    pub fn min_value(mut self, duration: Duration) -> Self {
        self.min = Some(duration);
        self
    }

    /// Longer times than this need not be told apart.
    ///
    /// # Panics
    ///
    /// When it is zero.
    #[track_caller]
    pub fn max_value(mut self, duration: Duration) -> Self {
        assert!(!duration.is_zero(), "max value must be greater than 0");
        self.max = Some(duration);
        self
    }

    /// Builds it, if it takes no more than `max_buckets`.
    ///
    /// # Errors
    ///
    /// Says how many it would take, if that is more.
    pub fn max_buckets(&mut self, max_buckets: usize) -> Result<LogHistogram, InvalidHistogramConfiguration> {
        let histogram = self.build();
        if histogram.count > max_buckets {
            let required_bucket_count = histogram.count;
            return Err(InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count });
        }
        Ok(histogram)
    }

    /// Builds it.
    #[must_use]
    pub fn build(&self) -> LogHistogram {
        let precision = self.precision.unwrap_or(PRECISION);
        let min_ns = nanoseconds(self.min.unwrap_or(MIN));
        let max_ns = nanoseconds(self.max.unwrap_or(MAX));
        // The first bucket ends where that of the least time begins, and the last begins at the greatest or after it.
        let first = number(min_ns, precision).saturating_sub(1);
        let of_max = number(max_ns, precision);
        let is_start = start(of_max, precision) == Some(max_ns);
        let last = if is_start { of_max } else { of_max + 1 };
        let count = last.saturating_sub(first).max(1) + 1;
        LogHistogram { precision, first, count: usize::try_from(count).unwrap_or(usize::MAX) }
    }
}

/// A histogram that cannot be.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{InvalidHistogramConfiguration, LogHistogram};
///
/// let Err(InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count }) =
///     LogHistogram::builder().precision_exact(10).max_buckets(100)
/// else {
///     panic!("so fine a histogram does not fit");
/// };
/// assert!(required_bucket_count > 100);
/// ```
#[derive(Debug)]
pub enum InvalidHistogramConfiguration {
    /// It takes more buckets than were allowed.
    TooManyBuckets {
        /// How many it takes.
        required_bucket_count: usize,
    },
}

impl fmt::Display for InvalidHistogramConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyBuckets { required_bucket_count } => write!(
                f,
                "The configuration for this histogram would have required {required_bucket_count} buckets; \
                 allow more, or a larger error"
            ),
        }
    }
}

impl Error for InvalidHistogramConfiguration {}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_as_wide_as_the_error_allows() {
        for precision in [0, 2, 5] {
            for number_of in 1..500 {
                let (Some(begin), Some(end)) = (start(number_of, precision), start(number_of + 1, precision))
                else {
                    break;
                };
                assert_eq!(number(begin, precision), number_of);
                assert_eq!(number(end - 1, precision), number_of);
                assert!((end - 1 - begin) << precision <= begin);
            }
        }
    }

    #[test]
    fn the_ends_are_where_they_were_asked_for() {
        let histogram = LogHistogram::builder()
            .min_value(Duration::from_nanos(100))
            .max_value(Duration::from_nanos(5000))
            .build();
        assert!(histogram.start_ns(1) <= 100);
        assert!(histogram.start_ns(2) > 96);
        assert!(histogram.max_value() >= 5000);
        assert!(histogram.start_ns(histogram.count() - 2) < 5000);
    }

    #[test]
    fn too_many_buckets_are_an_error_that_says_how_many() {
        let error = LogHistogram::builder().max_error(0.001).max_buckets(5).unwrap_err();
        let InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count } = error;
        assert!(LogHistogram::builder().max_error(0.001).max_buckets(required_bucket_count).is_ok());
        assert_eq!(LogHistogram::builder().max_error(0.001).build().count(), required_bucket_count);
    }

    #[test]
    fn settings_that_make_no_sense_still_build() {
        let backwards =
            LogHistogram::builder().min_value(Duration::MAX).max_value(Duration::from_nanos(1)).build();
        assert_eq!(backwards.count(), 2);
        assert_eq!(LogHistogram::builder().max_value(Duration::MAX).build().bucket(u64::MAX) + 1, {
            LogHistogram::builder().max_value(Duration::MAX).build().count() - 1
        });
    }
}
