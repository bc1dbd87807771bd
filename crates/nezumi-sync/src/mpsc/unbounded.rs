//! The face of channels that hold any number of messages.

use super::chan::{Gate, Rx, Tx, Weak, channel};
use super::error::{SendError, TryRecvError};
use super::position::{CLOSED, Position};
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_wake::entered;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Everybody may send, until the flag is set beside the tail.
#[derive(Debug)]
pub(super) struct Open;

impl Gate for Open {
    fn bound(&self) -> Option<usize> {
        None
    }

    #[inline]
    fn received(&self, _count: usize) {}

    fn close(&self, word: &AtomicUsize) -> Option<Position> {
        // A claim is before this, and its message will come; or after, and sees the flag. Release: pairs with the Acquire in `claim` and
        // `is_closed`; who is refused sees what the receiver did.
        Some(Position::of(word.fetch_or(CLOSED, Ordering::Release)))
    }

    fn is_closed(&self, word: &AtomicUsize) -> bool {
        word.load(Ordering::Acquire) & CLOSED != 0
    }

    fn is_idle(&self) -> bool {
        // Never asked: the close settles the end.
        false
    }
}

/// A channel whose first message has the position `start`.
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
pub(super) fn unbounded_at<T>(start: Position) -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (tx, rx) = super::chan::channel_at(start, Open);
    (UnboundedSender { chan: tx }, UnboundedReceiver { chan: rx })
}

/// Makes a channel that holds as many messages as memory does.
///
/// Nothing holds senders back: if the receiver is slower for long, the channel grows without end. Where that may be,
/// prefer [`channel`](super::channel()).
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// tx.send("hello").unwrap();
/// drop(tx);
/// assert_eq!(rx.recv().await, Some("hello"));
/// assert_eq!(rx.recv().await, None);
/// # }
/// ```
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (tx, rx) = channel(Open);
    (UnboundedSender { chan: tx }, UnboundedReceiver { chan: rx })
}

/// The end of an [unbounded channel](unbounded_channel) that sends. Clones of it send to the same receiver.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// // Never waits, and so can be called from anywhere.
/// std::thread::spawn(move || tx.send("squeak").unwrap());
/// assert_eq!(rx.recv().await, Some("squeak"));
/// # }
/// ```
pub struct UnboundedSender<T> {
    chan: Tx<T, Open>,
}

impl<T> UnboundedSender<T> {
    /// Sends `message`, without waiting.
    ///
    /// `Ok` says that the receiver was there, not that it will come to look.
    ///
    /// # Errors
    ///
    /// Gives the message back if the receiver is gone or was closed.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let (at, closed) = self.chan.shared.claim();
        if closed != 0 {
            // Behind the end: nobody looks there.
            return Err(SendError(message));
        }
        // SAFETY: claimed just now.
        unsafe { self.chan.shared.fill(at, message) };
        Ok(())
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
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
    /// nezumi::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # }
    /// ```
    pub async fn closed(&self) {
        self.chan.closed().await;
    }

    /// Whether the receiver is gone or was closed, so that [`send`](Self::send) would fail.
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.chan.shared.is_closed()
    }

    /// Whether both are of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        self.chan.same_channel(&other.chan)
    }

    /// A handle that can become a sender again, and does not keep the channel open.
    #[must_use = "this makes a weak sender and leaves the sender as it is"]
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender { chan: self.chan.downgrade() }
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

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        Self { chan: self.chan.clone() }
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender").field("chan", &self.chan).finish()
    }
}

/// A handle that can become an [`UnboundedSender`] as long as there is one, and does not keep the channel open.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// let (tx, _rx) = mpsc::unbounded_channel::<i32>();
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakUnboundedSender<T> {
    chan: Weak<T, Open>,
}

impl<T> WeakUnboundedSender<T> {
    /// A sender, unless every one is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        self.chan.upgrade().map(|chan| UnboundedSender { chan })
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

impl<T> Clone for WeakUnboundedSender<T> {
    fn clone(&self) -> Self {
        Self { chan: self.chan.clone() }
    }
}

impl<T> fmt::Debug for WeakUnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakUnboundedSender").finish()
    }
}

/// The end of an [unbounded channel](unbounded_channel) that receives.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// tx.send("cat").unwrap();
/// drop(tx);
/// assert_eq!(rx.recv().await, Some("cat"));
/// assert_eq!(rx.recv().await, None);
/// # }
/// ```
pub struct UnboundedReceiver<T> {
    chan: Rx<T, Open>,
}

impl<T> UnboundedReceiver<T> {
    /// Waits for the next message. `None` if every sender is gone, or [`close`](Self::close) was called, and nothing is left.
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
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// nezumi::spawn(async move { tx.send("hello") });
    /// assert_eq!(rx.recv().await, Some("hello"));
    /// assert_eq!(rx.recv().await, None);
    /// # }
    /// ```
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.chan.poll_recv(cx)).await
    }

    /// Waits for messages, and appends as many as there are, but no more than `limit`, to `buffer`. Returns how many these
    /// are: 0 if `limit` is, or if every sender is gone, or [`close`](Self::close) was called, and nothing is left.
    ///
    /// It costs less than as many calls of [`recv`](Self::recv).
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
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// for n in 0..5 {
    ///     tx.send(n).unwrap();
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
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// let thread = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(10).unwrap();
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

    /// Refuses what has not been sent yet. What has can still be received: to lose nothing, close first, and receive until
    /// `None`.
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

    /// How many [`UnboundedSender`]s there are.
    #[must_use]
    pub fn sender_strong_count(&self) -> usize {
        self.chan.shared.strong_count()
    }

    /// How many [`WeakUnboundedSender`]s there are.
    #[must_use]
    pub fn sender_weak_count(&self) -> usize {
        self.chan.shared.weak_count()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
impl<T> UnboundedReceiver<T> {
    pub(super) fn blocks(&self) -> Option<[usize; 3]> {
        self.chan.shared.census()
    }
}

impl<T> fmt::Debug for UnboundedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedReceiver").field("chan", &self.chan).finish()
    }
}
