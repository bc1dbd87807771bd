//! What can go wrong with time.

use std::{fmt, io};

/// A timer could not do its work.
///
/// - *Shut down*: its runtime is gone, and no timer of it will ever fire.
/// - *At capacity*: there were too many timers at once. Trying again later may help.
/// - *Invalid*: the duration was longer than the timer can measure.
///
/// The timers of this runtime have neither a capacity nor a longest duration: the last two are there for programs that make
/// or match such errors.
///
/// # Examples
///
/// ```
/// use nezumi::time::error::Error;
///
/// assert!(Error::shutdown().is_shutdown());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Error(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// The error of a timer whose runtime was shut down.
    #[must_use]
    pub fn shutdown() -> Error {
        Error(Kind::Shutdown)
    }

    /// Whether the runtime of the timer was shut down.
    #[must_use]
    pub fn is_shutdown(&self) -> bool {
        self.0 == Kind::Shutdown
    }

    /// The error of a timer that found no room.
    #[must_use]
    pub fn at_capacity() -> Error {
        Error(Kind::AtCapacity)
    }

    /// Whether there was no room for the timer.
    #[must_use]
    pub fn is_at_capacity(&self) -> bool {
        self.0 == Kind::AtCapacity
    }

    /// The error of a timer with an impossible duration.
    #[must_use]
    pub fn invalid() -> Error {
        Error(Kind::Invalid)
    }

    /// Whether the duration was impossible.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.0 == Kind::Invalid
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shutdown => "the timer is shutdown, must be called from the context of Tokio runtime",
            Kind::AtCapacity => "timer is at capacity and cannot create a new entry",
            Kind::Invalid => "timer duration exceeds maximum duration",
        })
    }
}

/// A [`timeout`](crate::time::timeout) ran out before its future was done.
///
/// # Examples
///
/// ```
/// use nezumi::time::{Duration, timeout};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let late = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
/// assert_eq!(late.unwrap_err().to_string(), "deadline has elapsed");
/// // It becomes an I/O error with `?`.
/// fn as_io(elapsed: nezumi::time::error::Elapsed) -> std::io::ErrorKind {
///     std::io::Error::from(elapsed).kind()
/// }
/// # let late = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
/// assert_eq!(as_io(late.unwrap_err()), std::io::ErrorKind::TimedOut);
/// # }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl Elapsed {
    pub(super) fn new() -> Self {
        Elapsed(())
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        "deadline has elapsed".fmt(f)
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(_: Elapsed) -> io::Error {
        io::ErrorKind::TimedOut.into()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn each_kind_knows_itself() {
        let kinds = |error: Error| (error.is_shutdown(), error.is_at_capacity(), error.is_invalid());
        assert_eq!(kinds(Error::shutdown()), (true, false, false));
        assert_eq!(kinds(Error::at_capacity()), (false, true, false));
        assert_eq!(kinds(Error::invalid()), (false, false, true));
        assert_eq!(format!("{:?}", Error::shutdown()), "Error(Shutdown)");
    }

    #[test]
    fn elapsed_is_a_timed_out_io_error() {
        assert_eq!(io::Error::from(Elapsed::new()).kind(), io::ErrorKind::TimedOut);
        assert_eq!(format!("{:>22}", Elapsed::new()), "  deadline has elapsed");
    }
}
