//! The ends of a broadcast channel that send, and that could.

use super::Receiver;
use super::error::SendError;
use super::shared::Shared;
use crate::waiters::{Waiting, wake_all};
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::Ordering;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;

/// The end of a broadcast channel that sends. Clones of it send to the same receivers.
///
/// # Examples
///
/// ```
/// use nezumi::sync::broadcast;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let tx = broadcast::Sender::new(8);
/// // Nobody would hear it.
/// assert!(tx.send("one").is_err());
/// let mut rx = tx.subscribe();
/// // Told how many will.
/// assert_eq!(tx.send("two").unwrap(), 1);
/// assert_eq!(rx.recv().await, Ok("two"));
/// # }
/// ```
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// A channel without a receiver, that keeps the last `capacity` values, rounded up to a power of two. Receivers come by
    /// [`subscribe`](Self::subscribe).
    ///
    /// # Panics
    ///
    /// If `capacity` is 0 or more than `usize::MAX / 2`.
    #[track_caller]
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self::first(Arc::new(Shared::new(capacity, 0)))
    }

    /// The sender that a channel is made with, and that is counted already.
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Sends `value` to every receiver there is, without waiting. Returns how many these are.
    ///
    /// That is no promise that they will come to look: they may be dropped, or lag so far that the value is overwritten.
    ///
    /// # Errors
    ///
    /// Gives the value back if there is no receiver. A later call may succeed, since receivers can
    /// [`subscribe`](Self::subscribe).
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(4);
    /// assert_eq!(tx.send("hello").unwrap(), 1);
    /// drop(rx);
    /// assert_eq!(tx.send("hello").unwrap_err().0, "hello");
    /// ```
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let mut tail = self.shared.tail.lock();
        let receivers = tail.receivers;
        if receivers == 0 {
            drop(tail);
            return Err(SendError(value));
        }
        let position = tail.position;
        tail.position = position.wrapping_add(1);
        // SAFETY: the tail's lock is held, and every receiver that it counts begins at this position or before.
        let overwritten = unsafe { self.shared.slot(position).put(position, receivers, value) };
        // Releases the lock.
        wake_all(&self.shared.tail, tail);
        drop(overwritten);
        Ok(receivers)
    }

    /// A new receiver, for what is sent from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel(4);
    /// tx.send("too early").unwrap();
    /// let mut rx = tx.subscribe();
    /// tx.send("in time").unwrap();
    /// assert_eq!(rx.try_recv(), Ok("in time"));
    /// ```
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::join(&self.shared)
    }

    /// A handle that can become a sender again, and does not keep the channel open.
    #[must_use = "this makes a `WeakSender` and leaves the sender as it is"]
    pub fn downgrade(&self) -> WeakSender<T> {
        // Relaxed: a count for those who ask.
        self.shared.weak_senders.fetch_add(1, Ordering::Relaxed);
        WeakSender { shared: Arc::clone(&self.shared) }
    }

    /// How many values some receiver has not got yet.
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// let (tx, mut a) = broadcast::channel(16);
    /// let mut b = tx.subscribe();
    /// tx.send(10).unwrap();
    /// tx.send(20).unwrap();
    /// a.try_recv().unwrap();
    /// assert_eq!(tx.len(), 2);
    /// b.try_recv().unwrap();
    /// assert_eq!(tx.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether every receiver has got everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// How many receivers there are.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared.tail.lock().receivers
    }

    /// Whether both are of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until there is no receiver.
    ///
    /// If one comes by [`subscribe`](Self::subscribe) soon after the last one went, this may return or wait on.
    ///
    /// # Cancel safety
    ///
    /// Dropped early, it has changed nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, rx) = broadcast::channel::<u8>(16);
    /// nezumi::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # }
    /// ```
    pub async fn closed(&self) {
        let mut waiting = pin!(Waiting::new(&self.shared.closing));
        // The last receiver counts itself out first, and takes this lock then: it finds us, or we see the count.
        poll_fn(|cx| waiting.as_mut().poll(cx.waker(), |_| (self.receiver_count() == 0).then_some(()))).await;
    }

    /// How many senders there are.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }

    /// How many [`WeakSender`]s there are.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.shared.weak_senders.load(Ordering::Acquire)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Relaxed: the one that is cloned is counted.
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // AcqRel: the last one closes after whatever the others did.
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut tail = self.shared.tail.lock();
            tail.senders_gone = true;
            wake_all(&self.shared.tail, tail);
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broadcast::Sender")
    }
}

/// A handle that can become a [`Sender`] as long as there is one, and does not keep the channel open.
///
/// # Examples
///
/// ```
/// use nezumi::sync::broadcast;
///
/// let (tx, _rx) = broadcast::channel::<i32>(16);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> WeakSender<T> {
    /// A sender, unless every one is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let mut senders = self.shared.senders.load(Ordering::Acquire);
        while senders != 0 {
            // Relaxed: as for a clone, from one that is counted. Once the count was 0 it stays there.
            match self.shared.senders.compare_exchange_weak(
                senders,
                senders + 1,
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(Sender { shared: Arc::clone(&self.shared) }),
                Err(found) => senders = found,
            }
        }
        None
    }

    /// How many senders there are.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }

    /// How many weak senders there are.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.shared.weak_senders.load(Ordering::Acquire)
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        self.shared.weak_senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        // Release: who is told of fewer sees what this one did.
        self.shared.weak_senders.fetch_sub(1, Ordering::Release);
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broadcast::WeakSender")
    }
}
