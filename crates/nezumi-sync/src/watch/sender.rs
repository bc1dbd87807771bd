//! The end of a watch channel that changes the value.

use super::error::SendError;
use super::shared::Shared;
use super::{Receiver, Ref};
use crate::waiters::Waiting;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::Ordering;
use nezumi_wake::coop::cooperative;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::pin;

/// The end of a watch channel that changes the value. Clones of it change the same value.
///
/// # Examples
///
/// ```
/// use nezumi::sync::watch;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let tx = watch::Sender::new(vec![1]);
/// let mut rx = tx.subscribe();
/// tx.send_modify(|list| list.push(2));
/// rx.changed().await.unwrap();
/// assert_eq!(*rx.borrow_and_update(), [1, 2]);
/// # }
/// ```
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// A channel without a receiver, whose value is `init`. Receivers come by [`subscribe`](Self::subscribe).
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let tx = watch::Sender::new(0);
    /// assert!(tx.send(1).is_err());
    /// let rx = tx.subscribe();
    /// assert!(tx.send(2).is_ok());
    /// assert_eq!(*rx.borrow(), 2);
    /// ```
    #[must_use]
    pub fn new(init: T) -> Self {
        Self::new_sharing(Arc::new(Shared::new(init, 0)))
    }

    /// The sender that a channel is made with, and that is counted already.
    pub(super) fn new_sharing(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    /// Replaces the value, and wakes all receivers.
    ///
    /// The value of before is dropped. To change it whether or not anybody listens, use
    /// [`send_replace`](Self::send_replace) or [`send_modify`](Self::send_modify).
    ///
    /// # Errors
    ///
    /// Gives `value` back, and changes nothing, if there is no receiver.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Lets `modify` change the value in place, and wakes all receivers, if there are any.
    ///
    /// No other sender and no [`Ref`] exists while `modify` runs: it must not use this channel itself.
    ///
    /// # Panics
    ///
    /// When `modify` does. What it changed up to there stays, and wakes nobody.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(vec![1]);
    /// tx.send_modify(|list| list.push(2));
    /// assert_eq!(*rx.borrow(), [1, 2]);
    /// ```
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Lets `modify` change the value in place, and wakes all receivers if it says that it did. Returns what it said.
    ///
    /// A change that it keeps to itself can be looked at, but makes no new version.
    ///
    /// No other sender and no [`Ref`] exists while `modify` runs: it must not use this channel itself.
    ///
    /// # Panics
    ///
    /// When `modify` does. What it changed up to there stays, and wakes nobody.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(3);
    /// let raise_to = |floor| {
    ///     tx.send_if_modified(|value: &mut i32| {
    ///         let raises = *value < floor;
    ///         *value = floor.max(*value);
    ///         raises
    ///     })
    /// };
    /// assert!(!raise_to(2));
    /// assert!(!rx.has_changed().unwrap());
    /// assert!(raise_to(4));
    /// assert!(rx.has_changed().unwrap());
    /// ```
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let mut value = self.shared.value.write();
        if !modify(&mut value) {
            return false;
        }
        let waiting = self.shared.bump();
        drop(value);
        self.shared.wake(waiting);
        true
    }

    /// Replaces the value, wakes all receivers, if there are any, and returns the value of before.
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, _rx) = watch::channel(1);
    /// assert_eq!(tx.send_replace(2), 1);
    /// assert_eq!(tx.send_replace(3), 2);
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|place| mem::swap(place, &mut value));
        value
    }

    /// Looks at the value.
    ///
    /// The [`Ref`] holds a read lock, see there for how to keep out of trouble.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.shared.value.read(), has_changed: false }
    }

    /// Whether there is no receiver.
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
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
    /// use nezumi::sync::watch;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, rx) = watch::channel("hello");
    /// nezumi::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # }
    /// ```
    pub async fn closed(&self) {
        cooperative(self.last_receiver_gone()).await;
    }

    async fn last_receiver_gone(&self) {
        if self.is_closed() {
            return;
        }
        let mut waiting = pin!(Waiting::new(&self.shared.closing));
        poll_fn(|cx| {
            // The last receiver counts itself out, and takes this lock after: it finds us, or we see the count.
            waiting.as_mut().poll(cx.waker(), |_| self.is_closed().then_some(()))
        })
        .await;
    }

    /// A new receiver, which has seen the current value. Opens the channel again if there was none.
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, _) = watch::channel(0);
    /// let rx = tx.subscribe();
    /// assert!(!rx.has_changed().unwrap());
    /// tx.send(1).unwrap();
    /// assert!(rx.has_changed().unwrap());
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::join(&self.shared, self.shared.state().version())
    }

    /// How many receivers there are.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        // Acquire: pairs with the Release of a receiver that goes.
        self.shared.receivers.load(Ordering::Acquire)
    }

    /// How many senders there are.
    #[must_use]
    pub fn sender_count(&self) -> usize {
        self.shared.senders.load(Ordering::Relaxed)
    }

    /// Whether both are of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Relaxed: the one that is cloned is counted.
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // AcqRel: the last one closes after whatever the others did.
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.close();
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("shared", &self.shared).finish()
    }
}
