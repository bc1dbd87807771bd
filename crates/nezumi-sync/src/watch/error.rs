//! What sending to and receiving from a watch channel can answer.

use std::error::Error;
use std::fmt;

/// There is no receiver; the value comes back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::watch::{self, error::SendError};
///
/// let (tx, rx) = watch::channel(1);
/// drop(rx);
/// assert_eq!(tx.send(2), Err(SendError(2)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl<T> Error for SendError<T> {}

/// Every sender is gone: the value will not change any more.
///
/// # Examples
///
/// ```
/// use nezumi::sync::watch;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = watch::channel(1);
/// drop(tx);
/// assert!(rx.changed().await.is_err());
/// // The last value is still there.
/// assert_eq!(*rx.borrow(), 1);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RecvError(pub(super) ());

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl Error for RecvError {}
