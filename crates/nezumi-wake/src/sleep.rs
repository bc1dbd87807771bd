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

static SLEEP: OnceLock<fn(Duration) -> Sleep> = OnceLock::new();

/// Says how to sleep. The first call counts.
pub fn set_sleep(sleep: fn(Duration) -> Sleep) {
    // Later ones say the same: there is one kind of runtime.
    let _ = SLEEP.set(sleep);
}

/// Completes when `duration` has passed.
///
/// # Panics
///
/// When no runtime with time was ever built, and as the runtime's own sleep does.
#[track_caller]
#[must_use]
pub fn sleep(duration: Duration) -> Sleep {
    match SLEEP.get() {
        Some(sleep) => sleep(duration),
        None => panic!(
            "there is no timer running, must be called from the context of a Tokio 1.x runtime: build a runtime with time \
             enabled, and call this inside it"
        ),
    }
}
