//! What sending to and receiving from a broadcast channel can answer.

use std::error::Error;
use std::fmt;

/// There is no receiver; the value comes back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::broadcast::{self, error::SendError};
///
/// let (tx, rx) = broadcast::channel(1);
/// drop(rx);
/// let SendError(unsent) = tx.send("squeak").unwrap_err();
/// assert_eq!(unsent, "squeak");
/// ```
#[derive(Debug)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl<T: fmt::Debug> Error for SendError<T> {}

/// Why [`recv`](super::Receiver::recv) has no value.
///
/// # Examples
///
/// ```
/// use nezumi::sync::broadcast::{self, error::RecvError};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = broadcast::channel(1);
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// drop(tx);
/// // There was room for one, so that the older is gone.
/// assert_eq!(rx.recv().await, Err(RecvError::Lagged(1)));
/// assert_eq!(rx.recv().await, Ok(2));
/// assert_eq!(rx.recv().await, Err(RecvError::Closed));
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecvError {
    /// Every sender is gone, and everything they sent was received.
    Closed,

    /// The receiver was too slow: so many values were overwritten before it came to them. The next call gets the oldest
    /// one that is still there.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("channel closed"),
            Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl Error for RecvError {}

/// Why [`try_recv`](super::Receiver::try_recv) has no value.
///
/// # Examples
///
/// ```
/// use nezumi::sync::broadcast::{self, error::TryRecvError};
///
/// let (tx, mut rx) = broadcast::channel::<u8>(1);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// Everything sent so far was received. More may come.
    Empty,

    /// Every sender is gone, and everything they sent was received.
    Closed,

    /// The receiver was too slow: so many values were overwritten before it came to them. The next call gets the oldest
    /// one that is still there.
    Lagged(u64),
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("channel empty"),
            Self::Closed => f.write_str("channel closed"),
            Self::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl Error for TryRecvError {}
