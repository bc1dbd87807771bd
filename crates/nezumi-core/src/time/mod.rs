//! Waiting for time to pass.
//!
//! - [`sleep`] and [`sleep_until`]: a future that completes at an [`Instant`].
//! - [`interval`] and [`interval_at`]: one tick after another, a period apart.
//! - [`timeout`] and [`timeout_at`]: a limit to how long another future may take.
//!
//! They need a runtime with time enabled: one made by `#[nezumi::main]`, or by a `Builder` on which `enable_time` or
//! `enable_all` was called. The resolution is one millisecond; what waits is never woken early.
//!
//! Tests need not wait: on a runtime with a single thread the clock can be stopped with [`pause`] and moved with [`advance`], and
//! moves by itself to the next deadline when there is nothing else to do.
//!
//! # Examples
//!
//! ```
//! use nezumi::time::{Duration, interval, sleep, timeout};
//!
//! # #[nezumi::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let mut beat = interval(Duration::from_secs(1));
//! beat.tick().await; // the first tick is at once
//! beat.tick().await; // this one a second later
//!
//! let slow = sleep(Duration::from_secs(60));
//! assert!(timeout(Duration::from_secs(5), slow).await.is_err());
//! # }
//! ```

pub mod error;

mod instant;
mod interval;
mod pause;
mod sleep;
mod timeout;

pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use pause::{advance, pause, resume};
pub(crate) use sleep::assert_may_sleep;
pub use sleep::{Sleep, sleep, sleep_until};
#[doc(no_inline)]
pub use std::time::Duration;
#[doc(inline)]
pub use timeout::{Timeout, timeout, timeout_at};

/// The longest wait that is told from an endless one: thirty years. So a far deadline is an instant like any other, on
/// every platform, and a period can be added to it.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
