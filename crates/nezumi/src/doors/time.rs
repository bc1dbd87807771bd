//! Sleeping, repeating, and giving up in time.
//!
//! | to | use |
//! |---|---|
//! | wait for a while, or until then | [`sleep`], [`sleep_until`] |
//! | do something again and again | [`interval`], [`interval_at`] |
//! | bound how long a future may take | [`timeout`], [`timeout_at`] |
//! | stop the clock in a test | [`pause`], [`advance`], [`resume`] |
//!
//! All of it counts in milliseconds, rounds up, and never fires early.

#[doc(inline)]
pub use nezumi_core::time::{
    Instant, Interval, MissedTickBehavior, Sleep, Timeout, error, interval, interval_at, sleep, sleep_until,
    timeout, timeout_at,
};

#[cfg(feature = "test-util")]
#[doc(inline)]
pub use nezumi_core::time::{advance, pause, resume};

#[doc(no_inline)]
pub use std::time::Duration;
