//! The face of channels that hold so many messages and no more: making one, and receiving.

use super::Sender;
use super::chan::{Gate, Rx, channel as shared_channel};
use super::error::TryRecvError;
use super::position::Position;
use crate::batch_semaphore::Semaphore;
use nezumi_prim::sync::atomic::AtomicUsize;
use nezumi_wake::entered;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// A permit for each message that there may be. Who has one may claim a position; the receiver gives it back.
#[derive(Debug)]
pub(super) struct Permits {
    pub(super) semaphore: Semaphore,
    pub(super) bound: usize,
}

impl Gate for Permits {
    fn bound(&self) -> Option<usize> {
        Some(self.bound)
    }

    #[inline]
    fn received(&self, count: usize) {
        self.semaphore.release(count);
    }

    fn close(&self, _word: &AtomicUsize) -> Option<Position> {
        self.semaphore.close();
        // Whoever has a permit may still send.
        None
    }

    fn is_closed(&self, _word: &AtomicUsize) -> bool {
        self.semaphore.is_closed()
    }

    fn is_idle(&self) -> bool {
        self.semaphore.available_permits() == self.bound
    }
}

/// Makes a channel that holds up to `buffer` messages. A sender that finds it full waits for room.
///
/// # Panics
///
/// If `buffer` is 0, or more than [`Semaphore::MAX_PERMITS`](crate::Semaphore::MAX_PERMITS).
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::channel(100);
/// nezumi::spawn(async move {
///     for n in 0..10 {
///         if tx.send(n).await.is_err() {
///             return; // the receiver is gone
///         }
///     }
/// });
/// let mut sum = 0;
/// while let Some(n) = rx.recv().await {
///     sum += n;
/// }
/// assert_eq!(sum, 45);
/// # }
/// ```
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    let semaphore = Semaphore::traced(buffer, nezumi_trace::Permits::of_channel());
    let permits = Permits { semaphore, bound: buffer };
    let (tx, rx) = shared_channel(permits);
    (Sender::new(tx), Receiver { chan: rx })
}

/// A channel whose first message has the position `start`.
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
pub(super) fn channel_at<T>(start: Position, buffer: usize) -> (Sender<T>, Receiver<T>) {
    let permits = Permits { semaphore: Semaphore::new(buffer), bound: buffer };
    let (tx, rx) = super::chan::channel_at(start, permits);
    (Sender::new(tx), Receiver { chan: rx })
}

/// The end of a [channel](channel()) that receives.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::channel(8);
/// nezumi::spawn(async move {
///     for number in 1..=3 {
///         tx.send(number).await.unwrap();
///     }
/// });
/// let mut sum = 0;
/// // Ends when every sender is gone.
/// while let Some(number) = rx.recv().await {
///     sum += number;
/// }
/// assert_eq!(sum, 6);
/// # }
/// ```
pub struct Receiver<T> {
    chan: Rx<T, Permits>,
}

impl<T> Receiver<T> {
    /// Waits for the next message. `None` if every sender is gone, or [`close`](Self::close) was called, and nothing is left
    /// to come.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(100);
    /// nezumi::spawn(async move { tx.send("hello").await });
    /// assert_eq!(rx.recv().await, Some("hello"));
    /// assert_eq!(rx.recv().await, None);
    /// # }
    /// ```
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.chan.poll_recv(cx)).await
    }

    /// Waits for messages, and appends as many as there are, but no more than `limit`, to `buffer`. Returns how many these
    /// are: 0 if `limit` is, or if every sender is gone, or [`close`](Self::close) was called, and nothing is left to come.
    ///
    /// It costs less than as many calls of [`recv`](Self::recv), and gives the room back to senders in one go.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(100);
    /// for n in 0..5 {
    ///     tx.send(n).await.unwrap();
    /// }
    /// drop(tx);
    /// let mut buffer = Vec::new();
    /// assert_eq!(rx.recv_many(&mut buffer, 3).await, 3);
    /// assert_eq!(rx.recv_many(&mut buffer, 3).await, 2);
    /// assert_eq!(buffer, [0, 1, 2, 3, 4]);
    /// assert_eq!(rx.recv_many(&mut buffer, 3).await, 0);
    /// # }
    /// ```
    pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        poll_fn(|cx| self.chan.poll_recv_many(cx, buffer, limit)).await
    }

    /// Takes the next message if it is there. No task is woken if it comes later.
    ///
    /// It never misses a message whose send has returned: where a sender is in the middle of sending the message before, it
    /// waits for that.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if nothing is there; [`TryRecvError::Disconnected`] if nothing will come, either.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    /// use nezumi::sync::mpsc::error::TryRecvError;
    ///
    /// let (tx, mut rx) = mpsc::channel(100);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.try_send("hello").unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok("hello"));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.chan.try_recv()
    }

    /// Blocks the thread until there is a message, as [`recv`](Self::recv) waits for it: for code outside a runtime.
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
    /// let (tx, mut rx) = mpsc::channel(10);
    /// let thread = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(10).await.unwrap();
    /// assert_eq!(thread.join().unwrap(), Some(10));
    /// # }
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        entered::assert_may_block();
        nezumi_wake::block_on(self.recv())
    }

    /// Blocks the thread as [`recv_many`](Self::recv_many) waits: for code outside a runtime.
    ///
    /// # Panics
    ///
    /// On a thread that drives tasks.
    #[track_caller]
    pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        entered::assert_may_block();
        nezumi_wake::block_on(self.recv_many(buffer, limit))
    }

    /// Lets nobody begin to send any more. What was sent, and what [permits](super::Permit) are out for, can still be
    /// received: to lose nothing, close first, and receive until `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = mpsc::channel(20);
    /// tx.send(1).await.unwrap();
    /// let permit = tx.reserve().await.unwrap();
    /// rx.close();
    /// assert!(tx.send(3).await.is_err());
    /// permit.send(2);
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert_eq!(rx.recv().await, Some(2));
    /// assert_eq!(rx.recv().await, None);
    /// # }
    /// ```
    pub fn close(&mut self) {
        self.chan.close();
    }

    /// Whether every sender is gone, or [`close`](Self::close) was called. There may still be messages to receive.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.chan.is_closed()
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chan.is_empty()
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chan.len()
    }

    /// For how many more messages there is room. Room that is [reserved](Sender::reserve) does not count, whether it was
    /// used or not.
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(5);
    /// assert_eq!(rx.capacity(), 5);
    /// tx.try_send(1).unwrap();
    /// let permit = tx.try_reserve().unwrap();
    /// assert_eq!(rx.capacity(), 3);
    /// drop(permit);
    /// rx.try_recv().unwrap();
    /// assert_eq!((rx.capacity(), rx.max_capacity()), (5, 5));
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.chan.shared.gate.semaphore.available_permits()
    }

    /// For how many messages there is room when it is empty: what it was made with.
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.chan.shared.gate.bound
    }

    /// [`recv`](Self::recv) for hand-written futures. The task of `cx`, and of the last call only, is woken when it is worth
    /// another try.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.chan.poll_recv(cx)
    }

    /// [`recv_many`](Self::recv_many) for hand-written futures. The task of `cx`, and of the last call only, is woken when it
    /// is worth another try.
    pub fn poll_recv_many(&mut self, cx: &mut Context<'_>, buffer: &mut Vec<T>, limit: usize) -> Poll<usize> {
        self.chan.poll_recv_many(cx, buffer, limit)
    }

    /// How many [`Sender`]s there are.
    #[must_use]
    pub fn sender_strong_count(&self) -> usize {
        self.chan.shared.strong_count()
    }

    /// How many [`WeakSender`](super::WeakSender)s there are.
    #[must_use]
    pub fn sender_weak_count(&self) -> usize {
        self.chan.shared.weak_count()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
impl<T> Receiver<T> {
    pub(super) fn blocks(&self) -> Option<[usize; 3]> {
        self.chan.shared.census()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("chan", &self.chan).finish()
    }
}
