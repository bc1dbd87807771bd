//! Why a task has no output.

use super::Id;
use std::any::Any;
use std::{fmt, io};

/// Why awaiting a task gave no output: it was cancelled, or it panicked.
///
/// # Examples
///
/// ```
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let task = nezumi::spawn(std::future::pending::<()>());
/// task.abort();
/// assert!(task.await.unwrap_err().is_cancelled());
///
/// let task = nezumi::spawn(async { panic!("squeak") });
/// let error = task.await.unwrap_err();
/// assert!(error.is_panic());
/// assert_eq!(error.into_panic().downcast_ref(), Some(&"squeak"));
/// # }
/// ```
pub struct JoinError {
    cause: Cause,
    id: Id,
}

enum Cause {
    Cancelled,
    Panic(Payload),
}

/// What a task panicked with.
struct Payload(Box<dyn Any + Send>);

// SAFETY: `&Payload` gives no access to what is inside but through `message`, which looks only for `&str` and `String`,
// both of which are `Sync`.
unsafe impl Sync for Payload {}

impl Payload {
    fn message(&self) -> Option<&str> {
        let payload: &(dyn Any + Send) = &*self.0;
        payload.downcast_ref::<&'static str>().copied().or_else(|| payload.downcast_ref().map(String::as_str))
    }
}

impl JoinError {
    pub(crate) fn cancelled(id: Id) -> Self {
        Self { cause: Cause::Cancelled, id }
    }

    pub(crate) fn panic(id: Id, payload: Box<dyn Any + Send>) -> Self {
        Self { cause: Cause::Panic(Payload(payload)), id }
    }

    /// Whether the task was aborted, or its runtime shut down.
    ///
    /// An abort may come too late: the task then completes in the ordinary way.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.cause, Cause::Cancelled)
    }

    /// Whether the task panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let error = nezumi::spawn(async { panic!("boom") }).await.unwrap_err();
    /// assert!(error.is_panic());
    /// # }
    /// ```
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.cause, Cause::Panic(_))
    }

    /// What the task panicked with, for `std::panic::resume_unwind`.
    ///
    /// # Panics
    ///
    /// When the task did not panic. [`try_into_panic`](Self::try_into_panic) does not.
    #[track_caller]
    #[must_use]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        self.try_into_panic().expect("`JoinError` reason is not a panic.")
    }

    /// What the task panicked with.
    ///
    /// # Errors
    ///
    /// The error itself, when the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.cause {
            Cause::Panic(payload) => Ok(payload.0),
            Cause::Cancelled => Err(self),
        }
    }

    /// The id of the task that failed.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    fn message(&self) -> Option<&str> {
        match &self.cause {
            Cause::Cancelled => None,
            Cause::Panic(payload) => payload.message(),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_cancelled(), self.message()) {
            (true, _) => write!(f, "task {} was cancelled", self.id),
            (false, Some(message)) => write!(f, "task {} panicked with message {message:?}", self.id),
            (false, None) => write!(f, "task {} panicked", self.id),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_cancelled(), self.message()) {
            (true, _) => write!(f, "JoinError::Cancelled({:?})", self.id),
            (false, Some(message)) => write!(f, "JoinError::Panic({:?}, {message:?}, ...)", self.id),
            (false, None) => write!(f, "JoinError::Panic({:?}, ...)", self.id),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        io::Error::other(if error.is_cancelled() { "task was cancelled" } else { "task panicked" })
    }
}
