//! What sending to and receiving from an mpsc channel can answer.

use std::error::Error;
use std::fmt;

/// The receiver is gone, or was closed; the value comes back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc::{self, error::SendError};
///
/// let (tx, rx) = mpsc::unbounded_channel();
/// drop(rx);
/// assert_eq!(tx.send("squeak"), Err(SendError("squeak")));
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

/// Why something could not be sent at once; it comes back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc::{self, error::TrySendError};
///
/// let (tx, rx) = mpsc::channel(1);
/// tx.try_send(1).unwrap();
/// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
/// drop(rx);
/// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel holds as much as it may.
    Full(T),

    /// The receiver is gone, or was closed.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// What was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Closed(value) => value,
        }
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In quotes, as Tokio has it.
        let text = match self {
            Self::Full(..) => "Full(..)",
            Self::Closed(..) => "Closed(..)",
        };
        fmt::Debug::fmt(text, f)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(..) => "no available capacity",
            Self::Closed(..) => "channel closed",
        })
    }
}

impl<T> Error for TrySendError<T> {}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Closed(error.0)
    }
}

/// Why there is nothing to receive at once.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc::{self, error::TryRecvError};
///
/// let (tx, mut rx) = mpsc::channel::<u8>(1);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing is there, and something may come.
    Empty,

    /// Nothing is there, and nothing will come: every sender is gone, or the receiver was closed.
    Disconnected,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Empty => "receiving on an empty channel",
            Self::Disconnected => "receiving on a closed channel",
        })
    }
}

impl Error for TryRecvError {}

/// Not used: to receive is to get an `Option`.
#[derive(Debug, Clone)]
#[doc(hidden)]
#[deprecated(note = "nothing returns this: receiving returns an `Option`")]
pub struct RecvError(());

#[allow(deprecated)]
impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

#[allow(deprecated)]
impl Error for RecvError {}

/// Why something could not be sent in time; it comes back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc::{self, error::SendTimeoutError};
/// use nezumi::time::Duration;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = mpsc::channel(1);
/// tx.send(1).await.unwrap();
/// assert_eq!(tx.send_timeout(2, Duration::from_millis(1)).await, Err(SendTimeoutError::Timeout(2)));
/// drop(rx);
/// assert_eq!(tx.send_timeout(3, Duration::from_millis(1)).await, Err(SendTimeoutError::Closed(3)));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The channel held as much as it may, all the time.
    Timeout(T),

    /// The receiver is gone, or was closed.
    Closed(T),
}

impl<T> SendTimeoutError<T> {
    /// What was not sent.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(value) | Self::Closed(value) => value,
        }
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In quotes, as Tokio has it.
        let text = match self {
            Self::Timeout(..) => "Timeout(..)",
            Self::Closed(..) => "Closed(..)",
        };
        fmt::Debug::fmt(text, f)
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout(..) => "timed out waiting on send operation",
            Self::Closed(..) => "channel closed",
        })
    }
}

impl<T> Error for SendTimeoutError<T> {}
