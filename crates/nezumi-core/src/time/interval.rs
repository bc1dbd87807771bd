use super::{Instant, LONGEST, Sleep};
use nezumi_trace::Resource;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// What is later than this counts as a missed tick.
const TOLERANCE: Duration = Duration::from_millis(5);

/// Ticks now, and then once every `period`.
///
/// Unlike a [`sleep`](super::sleep) in a loop, an interval counts in the time that the loop itself takes. What becomes of
/// ticks that the loop was too slow for says [`MissedTickBehavior`].
///
/// # Panics
///
/// If `period` is zero; outside a runtime, and inside one that was built without time.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, interval};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut interval = interval(Duration::from_millis(10));
/// interval.tick().await; // at once
/// interval.tick().await; // after 10 ms
/// interval.tick().await; // after 20 ms
/// # }
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero.");
    Interval::new(Instant::now(), period)
}

/// Ticks at `start`, and then once every `period`.
///
/// # Panics
///
/// If `period` is zero; outside a runtime, and inside one that was built without time.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, Instant, interval_at};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let start = Instant::now() + Duration::from_millis(50);
/// let mut interval = interval_at(start, Duration::from_millis(10));
/// interval.tick().await; // after 50 ms
/// interval.tick().await; // after 60 ms
/// # }
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero.");
    Interval::new(start, period)
}

/// What an [`Interval`] does about ticks that nobody waited for in time.
///
/// A tick counts as missed when it is taken more than 5 ms late. Say that the period is 10 ms, that the ticks at 0 and 10
/// were taken in time, and that the third, due at 20, is only taken at 47:
///
/// | | the tick taken at 47 is that of | the next ones are due at |
/// |---|---|---|
/// | [`Burst`](Self::Burst) | 20 | 30, 40 (both at once), 50, 60, … |
/// | [`Delay`](Self::Delay) | 20 | 57, 67, 77, … |
/// | [`Skip`](Self::Skip) | 20 | 50, 60, 70, … |
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, MissedTickBehavior, advance, interval};
///
/// # #[nezumi::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut interval = interval(Duration::from_millis(10));
/// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
/// let start = interval.tick().await;
///
/// advance(Duration::from_millis(27)).await;
/// assert_eq!(interval.tick().await - start, Duration::from_millis(10));
/// assert_eq!(interval.tick().await - start, Duration::from_millis(30));
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissedTickBehavior {
    /// All of them follow, as fast as they are taken, until the interval has caught up. The default.
    ///
    /// The number of ticks is right in the long run; the distance between two is not.
    #[default]
    Burst,

    /// They are forgotten, and the interval starts anew: the next tick is one period after the late one was taken.
    ///
    /// The distance between two ticks is never less than the period.
    Delay,

    /// They are forgotten, and the interval keeps step: the next tick is the next multiple of the period.
    ///
    /// Every tick is at a multiple of the period after the start.
    Skip,
}

impl MissedTickBehavior {
    /// When the next tick is due, after the one of `due` was taken at `now`, too late.
    fn next_tick(self, due: Instant, now: Instant, period: Duration) -> Instant {
        match self {
            Self::Burst => due + period,
            Self::Delay => now + period,
            Self::Skip => {
                let since = (now - due).as_nanos() % period.as_nanos();
                // Less than the period, which is less than 2^64 ns, for it is at most `LONGEST`.
                let since = Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX));
                now + (period - since)
            }
        }
    }
}

/// Ticks, one period apart. Made by [`interval`] and [`interval_at`].
///
/// Ticks for ever; dropping it is all there is to stopping it.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, Instant, MissedTickBehavior, interval};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let began = Instant::now();
/// let mut beats = interval(Duration::from_millis(10));
/// beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
/// beats.tick().await; // at once
/// beats.tick().await;
/// assert!(began.elapsed() >= Duration::from_millis(10));
/// # }
/// ```
#[derive(Debug)]
pub struct Interval {
    /// Completes at the next tick.
    delay: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTickBehavior,
    resource: Resource,
}

impl Interval {
    #[track_caller]
    fn new(start: Instant, period: Duration) -> Interval {
        let resource = Resource::interval();
        Interval {
            resource,
            delay: Box::pin(Sleep::new(start)),
            period: period.min(LONGEST),
            missed: MissedTickBehavior::default(),
        }
    }

    /// Waits for the next tick, and returns the instant at which it was due.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has taken no tick.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::time::{Duration, interval};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_millis(10));
    /// let first = interval.tick().await;
    /// assert_eq!(interval.tick().await - first, Duration::from_millis(10));
    /// # }
    /// ```
    pub async fn tick(&mut self) -> Instant {
        let resource = self.resource.clone();
        resource.operation("Interval::tick", "poll_tick", || poll_fn(|cx| self.poll_tick(cx))).await
    }

    /// Takes the next tick if it is due, and returns the instant at which it was.
    ///
    /// When it is pending, the task of the latest call is woken at the next tick. When it is ready, nothing is
    /// woken: call it again to be.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.delay.as_mut().poll(cx));
        let due = self.delay.deadline();
        let now = Instant::now();
        let next = if now > due + TOLERANCE {
            self.missed.next_tick(due, now, self.period)
        } else {
            due + self.period
        };
        // Armed by the next poll, if there is one.
        self.delay.as_mut().set_deadline(next);
        Poll::Ready(due)
    }

    /// Makes the next tick due one period from now.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::time::{Duration, interval, sleep};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_millis(100));
    /// interval.tick().await;
    /// sleep(Duration::from_millis(50)).await;
    /// interval.reset();
    /// interval.tick().await; // about 150 ms after the first
    /// # }
    /// ```
    pub fn reset(&mut self) {
        self.reset_at(Instant::now() + self.period);
    }

    /// Makes the next tick due now.
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// Makes the next tick due in `after`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::time::{Duration, interval};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_millis(100));
    /// interval.tick().await;
    /// interval.reset_after(Duration::from_millis(20));
    /// interval.tick().await; // after 20 ms
    /// interval.tick().await; // after 100 ms more
    /// # }
    /// ```
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now() + after.min(LONGEST));
    }

    /// Makes the next tick due at `deadline`, and the others follow from there.
    ///
    /// Ticks that were missed before are forgotten. A deadline in the past is itself a missed tick.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.delay.as_mut().reset(deadline);
    }

    /// What is done about missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Says what to do about missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// The time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_missed_ticks() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let next =
            |behavior: MissedTickBehavior| behavior.next_tick(ms(20), ms(47), Duration::from_millis(10));
        assert_eq!(next(MissedTickBehavior::Burst), ms(30));
        assert_eq!(next(MissedTickBehavior::Delay), ms(57));
        assert_eq!(next(MissedTickBehavior::Skip), ms(50));
    }
}
