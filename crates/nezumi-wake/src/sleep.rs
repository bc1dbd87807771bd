//! How to sleep, for those who know no runtime.
//!
//! A send that gives up after a time needs a clock, and clocks belong to runtimes. The first runtime that is built with time
//! leaves here how to sleep in it; the future it makes finds the runtime of the task that it runs in.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

/// A future that completes when a time has passed.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

struct Clock {
    sleep: fn(Duration) -> Sleep,
    assert_may_sleep: fn(),
}

static CLOCK: OnceLock<Clock> = OnceLock::new();

/// Says how to sleep, and how to panic where one may not. The first call counts.
pub fn set_sleep(sleep: fn(Duration) -> Sleep, assert_may_sleep: fn()) {
    // Later ones say the same: there is one kind of runtime.
    let _ = CLOCK.set(Clock { sleep, assert_may_sleep });
}

/// Panics where [`sleep`] would, and makes no timer: for those who may not need one.
///
/// # Panics
///
/// As [`sleep`].
#[track_caller]
pub fn assert_may_sleep() {
    (clock().assert_may_sleep)();
}

/// Completes when `duration` has passed.
///
/// # Panics
///
/// When no runtime with time was ever built, and as the runtime's own sleep does.
#[track_caller]
#[must_use]
pub fn sleep(duration: Duration) -> Sleep {
    (clock().sleep)(duration)
}

#[track_caller]
fn clock() -> &'static Clock {
    match CLOCK.get() {
        Some(clock) => clock,
        None => panic!(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime: build a runtime with time \
             enabled, and call this inside it"
        ),
    }
}
