//! Stopping and moving the clock, for tests.

use crate::scheduler::Home;
use crate::spawn::yield_now;
use crate::timer::Clock;
use std::time::Duration;

/// Stops the clock of this runtime.
///
/// [`Instant::now`](super::Instant::now) stands still from now on; the clock of the standard library does not. A stopped clock
/// moves in two ways:
///
/// - [`advance`] moves it by hand;
/// - *auto-advance*: when the runtime has nothing to do but to wait, it moves the clock to the next deadline instead of
///   sleeping. So `sleep(Duration::from_secs(3600)).await` takes no time, and what it measures is an hour. While a task of
///   `spawn_blocking` is about, the clock stays where it is.
///
/// Only a runtime with a single thread has a clock that can be stopped. `start_paused` of its builder, or of the attribute
/// macros, starts it that way.
///
/// # Panics
///
/// Outside a runtime, on a runtime with several threads, and when the clock stands already.
///
/// # Examples
///
/// ```
/// use nezumi::time::{self, Duration, Instant};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// time::pause();
/// let start = Instant::now();
/// time::sleep(Duration::from_secs(3600)).await;
/// assert!(start.elapsed() >= Duration::from_secs(3600));
/// # }
/// ```
#[track_caller]
pub fn pause() {
    with_clock(Clock::pause);
}

/// Makes the clock of this runtime run again, from where it stands.
///
/// # Panics
///
/// Outside a runtime, and when the clock runs.
///
/// # Examples
///
/// ```
/// use nezumi::time::{self, Duration, Instant};
///
/// # #[nezumi::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// time::resume();
/// let start = Instant::now();
/// std::thread::sleep(Duration::from_millis(2));
/// assert!(start.elapsed() >= Duration::from_millis(2));
/// # }
/// ```
#[track_caller]
pub fn resume() {
    with_clock(Clock::resume);
}

/// Moves the stopped clock of this runtime forward by `duration`, in one jump, and yields once.
///
/// All timers that the jump passes are due at the same moment, and their tasks run in any order. This function does not wait
/// for them: to see what a program does as time goes by, [`sleep`](super::sleep) through it instead, and leave the moves
/// to auto-advance (see [`pause`]).
///
/// # Panics
///
/// Outside a runtime, when the clock runs, and when the clock cannot express the sum.
///
/// # Cancel safety
///
/// The clock is moved at the first poll. Dropped after it, the future has done all but yield.
///
/// # Examples
///
/// ```
/// use nezumi::time::{self, Duration, Instant};
///
/// # #[nezumi::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let start = Instant::now();
/// time::advance(Duration::from_millis(1500)).await;
/// assert_eq!(start.elapsed(), Duration::from_millis(1500));
/// # }
/// ```
pub async fn advance(duration: Duration) {
    with_clock(|clock| clock.advance(duration));
    // The timers are looked at in the driver's turn, so that is what to wait for.
    yield_now().await;
}

#[track_caller]
fn with_clock(f: impl FnOnce(&Clock) -> Result<(), &'static str>) {
    let done = match Home::current() {
        Some(home) => f(home.clock()),
        None => Err("time cannot be frozen from outside the Tokio runtime"),
    };
    if let Err(message) = done {
        panic!("{message}");
    }
}
