use crate::timer;
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::{self as std_time, Duration};

/// A moment of the runtime's clock.
///
/// Wraps [`std::time::Instant`] and is as opaque; the difference is [`now`](Self::now), which follows the clock of the runtime and so
/// stands still when that was [paused](super::pause). Subtraction does not panic: the span to a later instant is zero.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, Instant, advance};
///
/// # #[nezumi::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let start = Instant::now();
/// advance(Duration::from_secs(60)).await;
/// assert_eq!(start.elapsed(), Duration::from_secs(60));
/// # }
/// ```
#[derive(Clone, Copy, Eq, PartialEq, PartialOrd, Ord, Hash)]
pub struct Instant {
    std: std_time::Instant,
}

impl Instant {
    /// The present. Works outside a runtime as well, where it is the system's.
    #[inline]
    pub fn now() -> Instant {
        Instant { std: timer::now() }
    }

    /// Takes over an instant of the standard library.
    #[inline]
    pub fn from_std(std: std_time::Instant) -> Instant {
        Instant { std }
    }

    /// The same moment as an instant of the standard library.
    #[inline]
    pub fn into_std(self) -> std_time::Instant {
        self.std
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    #[inline]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// The time from `earlier` to this instant; `None` if `earlier` is later.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::time::{Duration, Instant};
    ///
    /// let now = Instant::now();
    /// let later = now + Duration::from_secs(1);
    /// assert_eq!(later.checked_duration_since(now), Some(Duration::from_secs(1)));
    /// assert_eq!(now.checked_duration_since(later), None);
    /// ```
    #[inline]
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.std.checked_duration_since(earlier.std)
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    #[inline]
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// The time from this instant until now; zero if it has yet to come.
    #[inline]
    pub fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(*self)
    }

    /// This instant and `duration`, or `None` if that is out of the clock's range.
    #[inline]
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_add(duration).map(Instant::from_std)
    }

    /// This instant less `duration`, or `None` if that is out of the clock's range.
    #[inline]
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.std.checked_sub(duration).map(Instant::from_std)
    }
}

impl From<std_time::Instant> for Instant {
    fn from(std: std_time::Instant) -> Instant {
        Instant::from_std(std)
    }
}

impl From<Instant> for std_time::Instant {
    fn from(instant: Instant) -> std_time::Instant {
        instant.into_std()
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    /// # Panics
    ///
    /// If the sum is out of the clock's range.
    #[inline]
    #[track_caller]
    fn add(self, duration: Duration) -> Instant {
        Instant::from_std(self.std + duration)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    #[track_caller]
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    #[inline]
    fn sub(self, earlier: Instant) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    /// # Panics
    ///
    /// If the difference is out of the clock's range.
    #[inline]
    #[track_caller]
    fn sub(self, duration: Duration) -> Instant {
        Instant::from_std(self.std - duration)
    }
}

impl SubAssign<Duration> for Instant {
    #[inline]
    #[track_caller]
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.std.fmt(f)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_the_standard_library_but_saturates() {
        let std = std_time::Instant::now();
        let (now, second) = (Instant::from(std), Duration::from_secs(1));
        let mut later = now + second;
        assert_eq!(later.into_std(), std + second);
        assert_eq!((later - now, now - later), (second, Duration::ZERO));
        assert_eq!((later.duration_since(now), now.duration_since(later)), (second, Duration::ZERO));
        assert_eq!(now.checked_duration_since(later), None);
        assert_eq!(now.checked_add(Duration::MAX), None);
        later -= second;
        assert_eq!((later, later - Duration::ZERO), (now, now));
        later += second;
        assert!(later > now && later.checked_sub(second) == Some(now));
        assert_eq!(format!("{now:?}"), format!("{std:?}"));
        assert!(now.elapsed() < Duration::from_secs(3600));
    }
}
