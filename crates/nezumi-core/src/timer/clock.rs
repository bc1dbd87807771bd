//! What time it is, for one runtime.
//!
//! Called by `time::Instant`, by entries (deadlines to ticks) and by the scheduler (now, and how long it may sleep).
//!
//! A clock runs with the system's until it is paused; from then on it stands, until it is advanced by hand, or by a
//! scheduler with nothing to do, or resumed. It counts ticks from the moment when it was made.
//!
//! Promise: as long as no clock of the process was ever paused, the time is the system's, for one relaxed load more. Nothing
//! overflows: a deadline out of range is the last or the first tick.
//!
//! Tests: `a_deadline_is_never_early`, `far_deadlines_saturate`, `stands_while_paused`, `inhibited_clocks_stand_still`.

use super::{LATEST_MS, NEVER};
use crate::scheduler::Home;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use nezumi_prim::time as system;
// Loom's cannot be static; this one is only a shortcut, see `now`.
use std::sync::atomic::AtomicBool as StaticBool;
use std::time::{Duration, Instant};

/// Whether any clock of this process was ever paused.
static EVER_PAUSED: StaticBool = StaticBool::new(false);

/// The time of the runtime that this thread has entered, or the system's.
#[inline]
pub(crate) fn now() -> Instant {
    // Relaxed: a thread that must see another's `pause` has heard of it in a way that orders this, too.
    if EVER_PAUSED.load(Ordering::Relaxed) { runtime_now() } else { Instant::now() }
}

#[cold]
fn runtime_now() -> Instant {
    Home::current().map_or_else(Instant::now, |home| home.clock().now())
}

/// The clock of one runtime.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    may_pause: bool,
    /// Whether `time` says anything that the system's clock does not.
    ever_paused: AtomicBool,
    time: Mutex<Time>,
    /// How many blocking tasks keep a paused clock from advancing by itself.
    inhibitors: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
enum Time {
    /// It was `at` when the system's clock said `since`.
    Runs { at: Instant, since: Instant },
    /// It stands.
    Stands { at: Instant },
}

impl Time {
    fn now(self) -> Instant {
        match self {
            Time::Runs { at, since } => at + since.elapsed(),
            Time::Stands { at } => at,
        }
    }
}

impl Clock {
    /// A clock whose tick 0 is now.
    ///
    /// # Panics
    ///
    /// If it should start paused and may not be.
    #[track_caller]
    #[must_use]
    pub fn new(may_pause: bool, start_paused: bool) -> Self {
        let start = system::now();
        let clock = Self {
            start,
            may_pause,
            ever_paused: AtomicBool::new(false),
            time: Mutex::new(Time::Runs { at: start, since: start }),
            inhibitors: AtomicUsize::new(0),
        };
        if start_paused {
            if let Err(message) = clock.pause() {
                panic!("{message}");
            }
            // Tick 0 is the moment at which it stands, to the nanosecond.
            *clock.time.lock() = Time::Stands { at: start };
        }
        clock
    }

    /// The time. Monotonic as far as the system's clock is.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Instant {
        // Relaxed: as in the free `now`.
        if self.ever_paused.load(Ordering::Relaxed) { self.time.lock().now() } else { system::now() }
    }

    /// The time at tick 0.
    #[must_use]
    pub fn start(&self) -> Instant {
        self.start
    }

    /// The present tick, rounded down.
    #[inline]
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        let (whole, _) = self.ticks(self.now());
        whole
    }

    /// The first tick that is not before `deadline`; 0 for one before the start, [`LATEST_MS`] for one out of range.
    #[inline]
    #[must_use]
    pub fn deadline_ms(&self, deadline: Instant) -> u64 {
        let (whole, rest) = self.ticks(deadline);
        whole.saturating_add(u64::from(rest)).min(LATEST_MS)
    }

    /// How long from now until a tick; `None` for [`NEVER`], and for one past the range of the system's clock.
    #[must_use]
    pub fn until(&self, deadline_ms: u64) -> Option<Duration> {
        if deadline_ms == NEVER {
            return None;
        }
        let deadline = self.start.checked_add(Duration::from_millis(deadline_ms))?;
        Some(deadline.saturating_duration_since(self.now()))
    }

    /// Ticks since the start, and whether there is a rest.
    #[inline]
    fn ticks(&self, at: Instant) -> (u64, bool) {
        let since = at.saturating_duration_since(self.start);
        let nanos = since.subsec_nanos();
        let whole = since.as_secs().saturating_mul(1000).saturating_add(u64::from(nanos / 1_000_000));
        (whole, nanos % 1_000_000 != 0)
    }
}

// Pausing. The messages are those of the functions in `crate::time`, which panic with them.
impl Clock {
    /// Makes the clock stand.
    ///
    /// # Errors
    ///
    /// If this is not the clock of a runtime with a single thread, or if it stands already.
    pub fn pause(&self) -> Result<(), &'static str> {
        if !self.may_pause {
            return Err("`time::pause()` requires the `current_thread` Tokio runtime. \
                        This is the default Runtime used by `#[tokio::test].");
        }
        let mut time = self.time.lock();
        let Time::Runs { .. } = *time else {
            return Err("time is already frozen");
        };
        *time = Time::Stands { at: time.now() };
        // In this order: whoever sees the first asks us, and we answer right either way.
        self.ever_paused.store(true, Ordering::Relaxed);
        EVER_PAUSED.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Makes the clock run on from where it stands.
    ///
    /// # Errors
    ///
    /// If it runs.
    pub fn resume(&self) -> Result<(), &'static str> {
        let mut time = self.time.lock();
        let Time::Stands { at } = *time else {
            return Err("time is not frozen");
        };
        *time = Time::Runs { at, since: Instant::now() };
        Ok(())
    }

    /// Moves a clock that stands.
    ///
    /// # Errors
    ///
    /// If it runs.
    ///
    /// # Panics
    ///
    /// If that is more than the range of the system's clock.
    #[track_caller]
    pub fn advance(&self, by: Duration) -> Result<(), &'static str> {
        let mut time = self.time.lock();
        let Time::Stands { at } = *time else {
            return Err("time is not frozen");
        };
        *time = Time::Stands { at: at + by };
        Ok(())
    }

    /// Whether the clock stands.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.ever_paused.load(Ordering::Relaxed) && matches!(*self.time.lock(), Time::Stands { .. })
    }

    /// Keeps a paused clock from advancing by itself, until [`allow_auto_advance`](Self::allow_auto_advance) was called as often.
    /// A blocking task does so from when it is spawned until it is done.
    pub fn inhibit_auto_advance(&self) {
        self.inhibitors.fetch_add(1, Ordering::Relaxed);
    }

    /// Undoes one [`inhibit_auto_advance`](Self::inhibit_auto_advance).
    pub fn allow_auto_advance(&self) {
        // Release: pairs with the Acquire of `can_auto_advance`. What the blocking task has woken is to be seen first.
        let before = self.inhibitors.fetch_sub(1, Ordering::Release);
        debug_assert!(before > 0, "auto-advance was allowed more often than inhibited");
    }

    /// Whether a scheduler with nothing to do is to move the clock instead of sleeping.
    #[must_use]
    pub fn can_auto_advance(&self) -> bool {
        self.is_paused() && self.inhibitors.load(Ordering::Acquire) == 0
    }

    /// Moves a paused clock to a tick, by whole milliseconds, and returns whether it may be and was not there yet.
    pub fn auto_advance(&self, deadline_ms: u64) -> bool {
        if deadline_ms == NEVER || !self.can_auto_advance() {
            return false;
        }
        let ms = deadline_ms.saturating_sub(self.now_ms());
        // Out of the range of the system's clock: that timer never fires.
        let in_range = self.now().checked_add(Duration::from_millis(ms)).is_some();
        ms > 0 && in_range && self.advance(Duration::from_millis(ms)).is_ok()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_deadline_is_never_early() {
        let clock = Clock::new(true, true);
        let at = |nanos| clock.start() + Duration::from_nanos(nanos);
        for (nanos, ms) in
            [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2), (1_999_999_999, 2000)]
        {
            assert_eq!(clock.deadline_ms(at(nanos)), ms);
        }
        clock.advance(MS - Duration::from_nanos(1)).unwrap();
        assert_eq!(clock.now_ms(), 0);
        clock.advance(Duration::from_nanos(1)).unwrap();
        assert_eq!(clock.now_ms(), 1);
        assert_eq!(clock.deadline_ms(clock.now()), 1);
    }

    #[test]
    fn far_deadlines_saturate() {
        let clock = Clock::new(true, true);
        let mut far = clock.start();
        // The last instant that the system can express.
        for bit in (0..63).rev() {
            far = far.checked_add(Duration::from_secs(1 << bit)).unwrap_or(far);
        }
        assert!(clock.deadline_ms(far) <= LATEST_MS);
        assert!(clock.deadline_ms(far) > 1 << 40);
        if let Some(past) = clock.start().checked_sub(MS) {
            assert_eq!(clock.deadline_ms(past), 0);
        }
        assert_eq!(clock.until(NEVER), None);
        assert!(clock.until(LATEST_MS).is_none_or(|rest| rest > Duration::from_secs(1 << 50)));
        assert!(!clock.auto_advance(NEVER));
    }

    #[test]
    fn stands_while_paused() {
        let clock = Clock::new(true, true);
        assert_eq!((clock.now(), clock.now_ms()), (clock.start(), 0));
        assert_eq!(clock.pause(), Err("time is already frozen"));
        clock.advance(5 * MS).unwrap();
        assert_eq!(clock.now(), clock.start() + 5 * MS);
        assert_eq!(clock.until(7), Some(2 * MS));
        assert_eq!(clock.until(3), Some(Duration::ZERO));
        clock.resume().unwrap();
        assert!(!clock.is_paused());
        assert!(clock.now() >= clock.start() + 5 * MS);
        assert_eq!(clock.resume(), Err("time is not frozen"));
        assert_eq!(clock.advance(MS), Err("time is not frozen"));
        clock.pause().unwrap();
        assert_eq!(clock.now(), clock.now());
    }

    #[test]
    fn only_some_clocks_may_be_paused() {
        let clock = Clock::new(false, false);
        let message = clock.pause().unwrap_err();
        assert!(message.starts_with("`time::pause()` requires the `current_thread` Tokio runtime."));
        assert!(!clock.is_paused());
        assert!(clock.now() >= clock.start());
    }

    #[test]
    fn inhibited_clocks_stand_still() {
        let clock = Clock::new(true, true);
        clock.advance(MS / 2).unwrap();
        clock.inhibit_auto_advance();
        assert!(!clock.auto_advance(10));
        clock.allow_auto_advance();
        assert!(clock.auto_advance(10));
        // By whole milliseconds, so that what was measured before stays a whole number.
        assert_eq!(clock.now(), clock.start() + 10 * MS + MS / 2);
        assert!(!clock.auto_advance(10));
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn advancing_past_the_range_panics() {
        let _ = Clock::new(true, true).advance(Duration::MAX);
    }
}
