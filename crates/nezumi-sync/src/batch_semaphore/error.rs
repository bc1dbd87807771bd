//! Why there are no permits.

use std::error::Error;
use std::fmt;

/// Says that a [`Semaphore`](crate::Semaphore) was closed while, or before, permits were asked of it.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Semaphore;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let semaphore = Semaphore::new(1);
/// semaphore.close();
/// assert!(semaphore.acquire().await.is_err());
/// # }
/// ```
#[derive(Debug)]
pub struct AcquireError(());

/// Why permits could not be had at once.
///
/// # Examples
///
/// ```
/// use nezumi::sync::{Semaphore, TryAcquireError};
///
/// let semaphore = Semaphore::new(0);
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
/// semaphore.close();
/// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is [closed](crate::Semaphore::close) and gives out no more permits.
    Closed,

    /// There are not enough permits, or others have been waiting for longer.
    NoPermits,
}

impl AcquireError {
    pub(super) const fn new() -> Self {
        Self(())
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl Error for AcquireError {}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl Error for TryAcquireError {}

/// For a lock, whose semaphore is never closed.
#[inline]
pub(crate) fn granted(acquired: Result<(), AcquireError>) {
    #[cold]
    fn closed() -> ! {
        unreachable!("the semaphore of a lock is never closed")
    }

    if acquired.is_err() {
        closed();
    }
}
