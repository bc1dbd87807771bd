//! What receiving from a oneshot channel can answer instead of a value.

use std::error::Error;
use std::fmt;

/// The sender is gone, and sent nothing; or the receiver was closed before it did.
///
/// # Examples
///
/// ```
/// use nezumi::sync::oneshot;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = oneshot::channel::<u8>();
/// drop(tx);
/// assert_eq!(rx.await.unwrap_err().to_string(), "channel closed");
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecvError(pub(super) ());

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl Error for RecvError {}

/// Why [`try_recv`](super::Receiver::try_recv) has no value.
///
/// # Examples
///
/// ```
/// use nezumi::sync::oneshot::{self, error::TryRecvError};
///
/// let (tx, mut rx) = oneshot::channel::<u8>();
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing was sent yet; it may still be.
    Empty,

    /// Nothing will come: the sender is gone, the receiver was closed, or the value was received before.
    Closed,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "channel empty",
            Self::Closed => "channel closed",
        })
    }
}

impl Error for TryRecvError {}
