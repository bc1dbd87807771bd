//! The clock by which the scheduler measures its own work.
//!
//! Under shuttle each step of a schedule takes a microsecond: what depends on the time depends on the schedule alone, and the same seed finds the
//! same again. Test: `a_seed_chooses_the_same_schedules_again`, in `nezumi-core`.

use std::time::Instant;

/// The time.
#[cfg(not(nezumi_shuttle))]
#[inline(always)]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// The time, as far as the schedule has come.
#[cfg(nezumi_shuttle)]
#[must_use]
pub fn now() -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let steps = shuttle::current::context_switches() as u64;
    *START.get_or_init(Instant::now) + std::time::Duration::from_micros(steps)
}
