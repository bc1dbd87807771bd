//! The face of channels that hold so many messages and no more: sending.

use super::bounded::Permits;
use super::chan::{Shared, Tx, Weak};
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::timeout::within;
use crate::TryAcquireError;
use nezumi_wake::entered;
use std::fmt;
use std::mem;
use std::time::Duration;

/// The end of a [channel](super::channel()) that sends. Clones of it send to the same receiver.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::channel(1);
/// for name in ["cat", "mouse"] {
///     let tx = tx.clone();
///     // Waits while the channel is full.
///     nezumi::spawn(async move { tx.send(name).await });
/// }
/// drop(tx);
/// let mut names = Vec::new();
/// while let Some(name) = rx.recv().await {
///     names.push(name);
/// }
/// names.sort();
/// assert_eq!(names, ["cat", "mouse"]);
/// # }
/// ```
pub struct Sender<T> {
    chan: Tx<T, Permits>,
}

impl<T> Sender<T> {
    pub(super) fn new(chan: Tx<T, Permits>) -> Self {
        Self { chan }
    }

    pub(super) fn chan(&self) -> &Tx<T, Permits> {
        &self.chan
    }

    /// Sends `value`, once there is room for it. Who waits for longest gets room first.
    ///
    /// `Ok` says that the receiver was there, not that it will come to look.
    ///
    /// # Errors
    ///
    /// Gives the value back if the receiver is gone or was closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has sent nothing, and the value is dropped with it, as is the place in the queue. To
    /// keep the value, [`reserve`](Self::reserve) first.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// nezumi::spawn(async move {
    ///     for n in 0..3 {
    ///         tx.send(n).await.unwrap();
    ///     }
    /// });
    /// assert_eq!((rx.recv().await, rx.recv().await, rx.recv().await), (Some(0), Some(1), Some(2)));
    /// # }
    /// ```
    pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
        match self.reserve().await {
            Ok(permit) => {
                permit.send(value);
                Ok(())
            }
            Err(SendError(())) => Err(SendError(value)),
        }
    }

    /// Waits until the receiver is gone or closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped early, it has changed nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// nezumi::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # }
    /// ```
    pub async fn closed(&self) {
        self.chan.closed().await;
    }

    /// Sends `message` if there is room for it now, and nobody has been waiting for that.
    ///
    /// # Errors
    ///
    /// Gives the message back: [`TrySendError::Full`] if there is no room, [`TrySendError::Closed`] if the receiver is gone
    /// or was closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    /// use nezumi::sync::mpsc::error::TrySendError;
    ///
    /// let (tx, rx) = mpsc::channel(1);
    /// assert_eq!(tx.try_send(1), Ok(()));
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// drop(rx);
    /// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.try_acquire(1, ()) {
            Ok(()) => {
                Permit::new(&self.chan).send(message);
                Ok(())
            }
            Err(TrySendError::Full(())) => Err(TrySendError::Full(message)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends `value`, if there is room for it within `timeout`.
    ///
    /// # Errors
    ///
    /// Gives the value back: [`SendTimeoutError::Timeout`] if the time ran out, [`SendTimeoutError::Closed`] if the receiver
    /// is gone or was closed.
    ///
    /// # Panics
    ///
    /// If it is polled outside a runtime with time enabled, even if there is room.
    ///
    /// # Cancel safety
    ///
    /// As [`send`](Self::send).
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    /// use nezumi::sync::mpsc::error::SendTimeoutError;
    /// use std::time::Duration;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, _rx) = mpsc::channel(1);
    /// tx.send_timeout(1, Duration::from_millis(1)).await.unwrap();
    /// let full = tx.send_timeout(2, Duration::from_millis(1)).await;
    /// assert_eq!(full, Err(SendTimeoutError::Timeout(2)));
    /// # }
    /// ```
    pub async fn send_timeout(&self, value: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        match within(timeout, self.reserve()).await {
            Some(Ok(permit)) => {
                permit.send(value);
                Ok(())
            }
            Some(Err(SendError(()))) => Err(SendTimeoutError::Closed(value)),
            None => Err(SendTimeoutError::Timeout(value)),
        }
    }

    /// Blocks the thread until there is room for `value`, as [`send`](Self::send) waits for it: for code outside a runtime.
    ///
    /// # Errors
    ///
    /// Gives the value back if the receiver is gone or was closed.
    ///
    /// # Panics
    ///
    /// On a thread that drives tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let thread = std::thread::spawn(move || tx.blocking_send(10));
    /// assert_eq!(rx.recv().await, Some(10));
    /// thread.join().unwrap().unwrap();
    /// # }
    /// ```
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        entered::assert_may_block();
        nezumi_wake::block_on(self.send(value))
    }

    /// Whether the receiver is gone or was closed, so that nothing can be sent.
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.chan.shared.is_closed()
    }

    /// Waits for room for one message, and returns the permit to use it. Who waits for longest gets room first.
    ///
    /// A permit that is dropped gives the room back.
    ///
    /// # Errors
    ///
    /// If the receiver is gone or was closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has reserved nothing, and has lost its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve().await.unwrap();
    /// assert!(tx.try_send(1).is_err());
    /// permit.send(2);
    /// assert_eq!(rx.recv().await, Some(2));
    /// # }
    /// ```
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        acquire(&self.chan.shared, 1).await?;
        Ok(Permit::new(&self.chan))
    }

    /// Waits for room for `n` messages at once, and returns the permits one by one.
    ///
    /// Permits that are not taken out, or not used, give the room back when they are dropped.
    ///
    /// # Errors
    ///
    /// If the receiver is gone or was closed, or if `n` is more than [`max_capacity`](Self::max_capacity).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has reserved nothing, and has lost its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(2);
    /// for (n, permit) in tx.reserve_many(2).await.unwrap().enumerate() {
    ///     permit.send(n);
    /// }
    /// assert_eq!(rx.recv().await, Some(0));
    /// assert_eq!(rx.recv().await, Some(1));
    /// # }
    /// ```
    pub async fn reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        acquire(&self.chan.shared, n).await?;
        Ok(PermitIterator::new(&self.chan, n))
    }

    /// Waits for room for one message, and returns a permit that holds this sender. Clone the sender first to keep one.
    ///
    /// # Errors
    ///
    /// If the receiver is gone or was closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has reserved nothing, and the sender is dropped with it.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve_owned().await.unwrap();
    /// let tx = permit.send(1);
    /// assert!(tx.try_send(2).is_err());
    /// assert_eq!(rx.recv().await, Some(1));
    /// # }
    /// ```
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        acquire(&self.chan.shared, 1).await?;
        Ok(OwnedPermit::new(self))
    }

    /// Reserves room for one message, if there is room now, and nobody has been waiting for that.
    ///
    /// # Errors
    ///
    /// [`TrySendError::Full`] if there is no room, [`TrySendError::Closed`] if the receiver is gone or was closed.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.try_acquire(1, ())?;
        Ok(Permit::new(&self.chan))
    }

    /// Reserves room for `n` messages, if there is room now, and nobody has been waiting for that.
    ///
    /// # Errors
    ///
    /// [`TrySendError::Full`] if there is not so much room, or never will be; [`TrySendError::Closed`] if the receiver is gone
    /// or was closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(2);
    /// let mut permits = tx.try_reserve_many(2).unwrap();
    /// assert!(tx.try_send(1).is_err());
    /// permits.next().unwrap().send(2);
    /// drop(permits);
    /// assert_eq!((tx.capacity(), rx.try_recv()), (1, Ok(2)));
    /// ```
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        self.try_acquire(n, ())?;
        Ok(PermitIterator::new(&self.chan, n))
    }

    /// Reserves room for one message, if there is room now, and nobody has been waiting for that. The permit holds this
    /// sender.
    ///
    /// # Errors
    ///
    /// Gives the sender back: [`TrySendError::Full`] if there is no room, [`TrySendError::Closed`] if the receiver is gone or
    /// was closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.clone().try_reserve_owned().unwrap();
    /// assert!(tx.try_reserve_owned().is_err());
    /// permit.send(1);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.try_acquire(1, ()) {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    #[inline]
    fn try_acquire<E>(&self, n: usize, error: E) -> Result<(), TrySendError<E>> {
        let permits = &self.chan.shared.gate;
        if n > permits.bound {
            return Err(TrySendError::Full(error));
        }
        permits.semaphore.try_acquire(n).map_err(|why| match why {
            TryAcquireError::Closed => TrySendError::Closed(error),
            TryAcquireError::NoPermits => TrySendError::Full(error),
        })
    }

    /// Whether both are of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        self.chan.same_channel(&other.chan)
    }

    /// For how many more messages there is room. Room that is [reserved](Self::reserve) does not count, whether it was used
    /// or not.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.chan.shared.gate.semaphore.available_permits()
    }

    /// A handle that can become a sender again, and does not keep the channel open.
    #[must_use = "this makes a weak sender and leaves the sender as it is"]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender { chan: self.chan.downgrade() }
    }

    /// For how many messages there is room when it is empty: what it was made with.
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.chan.shared.gate.bound
    }

    /// How many senders there are.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.chan.shared.strong_count()
    }

    /// How many weak senders there are.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.chan.shared.weak_count()
    }
}

/// Waits for `n` permits.
async fn acquire<T>(shared: &Shared<T, Permits>, n: usize) -> Result<(), SendError<()>> {
    if n > shared.gate.bound {
        return Err(SendError(()));
    }
    // Permits that were granted, but came too late, go back as the `Acquire` is dropped: the receiver of a closed channel
    // may be waiting for just that.
    let tell = TellReceiver(shared);
    let acquired = shared.gate.semaphore.acquire(n).await;
    if acquired.is_ok() {
        mem::forget(tell);
    }
    acquired.map_err(|_| SendError(()))
}

struct TellReceiver<'a, T>(&'a Shared<T, Permits>);

impl<T> Drop for TellReceiver<'_, T> {
    fn drop(&mut self) {
        self.0.gave_up();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { chan: self.chan.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("chan", &self.chan).finish()
    }
}

/// A handle that can become a [`Sender`] as long as there is one, and does not keep the channel open.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// let (tx, _rx) = mpsc::channel::<i32>(15);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    chan: Weak<T, Permits>,
}

impl<T> WeakSender<T> {
    /// A sender, unless every one is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.chan.upgrade().map(Sender::new)
    }

    /// How many senders there are.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.chan.shared.strong_count()
    }

    /// How many weak senders there are.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.chan.shared.weak_count()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self { chan: self.chan.clone() }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish()
    }
}
