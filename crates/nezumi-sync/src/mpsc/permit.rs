//! Room in a bounded channel that was reserved.

use super::Sender;
use super::bounded::Permits;
use super::chan::{Gate, Tx};
use std::fmt;
use std::iter::FusedIterator;
use std::mem;

/// Room for one message, reserved by [`Sender::reserve`] or [`Sender::try_reserve`]. Dropped, it gives the room back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::channel(1);
/// let permit = tx.reserve().await.unwrap();
/// // The only room is taken, although nothing was sent yet.
/// assert!(tx.try_send(1).is_err());
/// permit.send(2);
/// assert_eq!(rx.recv().await, Some(2));
/// # }
/// ```
pub struct Permit<'a, T> {
    chan: &'a Tx<T, Permits>,
}

impl<'a, T> Permit<'a, T> {
    /// The caller has acquired a permit.
    #[inline]
    pub(super) fn new(chan: &'a Tx<T, Permits>) -> Self {
        Self { chan }
    }

    /// Sends `value`, without waiting. That cannot fail, not even if the receiver was closed meanwhile; if it is gone, the
    /// value is dropped with the channel.
    #[inline]
    pub fn send(self, value: T) {
        let shared = &self.chan.shared;
        // The permit goes with the message, and the receiver gives it back.
        mem::forget(self);
        let (at, _) = shared.claim();
        // SAFETY: claimed just now.
        unsafe { shared.fill(at, value) };
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        give_back(self.chan, 1);
    }
}

#[cold]
fn give_back<T>(chan: &Tx<T, Permits>, permits: usize) {
    chan.shared.gate.received(permits);
    chan.shared.gave_up();
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("chan", self.chan).finish()
    }
}

/// Room for several messages, reserved by [`Sender::reserve_many`] or [`Sender::try_reserve_many`], handed out one
/// [`Permit`] at a time. Dropped, it gives back what is left.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::channel(4);
/// for (permit, number) in tx.reserve_many(2).await.unwrap().zip([1, 2]) {
///     permit.send(number);
/// }
/// assert_eq!((rx.recv().await, rx.recv().await), (Some(1), Some(2)));
/// # }
/// ```
pub struct PermitIterator<'a, T> {
    chan: &'a Tx<T, Permits>,
    left: usize,
}

impl<'a, T> PermitIterator<'a, T> {
    /// The caller has acquired so many permits.
    pub(super) fn new(chan: &'a Tx<T, Permits>, permits: usize) -> Self {
        Self { chan, left: permits }
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit::new(self.chan))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.left > 0 {
            give_back(self.chan, self.left);
        }
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator").field("chan", self.chan).field("capacity", &self.left).finish()
    }
}

/// Room for one message, and the [`Sender`] to send it, from [`Sender::reserve_owned`] or [`Sender::try_reserve_owned`].
/// Dropped, it gives the room back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::channel(1);
/// let permit = tx.reserve_owned().await.unwrap();
/// // Sending gives the sender back.
/// let tx = nezumi::spawn(async move { permit.send("squeak") }).await.unwrap();
/// assert_eq!(rx.recv().await, Some("squeak"));
/// # drop(tx);
/// # }
/// ```
pub struct OwnedPermit<T> {
    // `None` once it was used.
    sender: Option<Sender<T>>,
}

impl<T> OwnedPermit<T> {
    /// The caller has acquired a permit.
    pub(super) fn new(sender: Sender<T>) -> Self {
        Self { sender: Some(sender) }
    }

    fn into_sender(mut self) -> Sender<T> {
        match self.sender.take() {
            Some(sender) => sender,
            None => unreachable!("a permit is consumed when it is used"),
        }
    }

    /// Sends `value`, without waiting, and returns the sender. That cannot fail, not even if the receiver was closed
    /// meanwhile; if it is gone, the value is dropped with the channel.
    pub fn send(self, value: T) -> Sender<T> {
        let sender = self.into_sender();
        Permit::new(sender.chan()).send(value);
        sender
    }

    /// Gives the room back, and returns the sender.
    ///
    /// ```
    /// use nezumi::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<i32>(1);
    /// let permit = tx.try_reserve_owned().unwrap();
    /// let tx = permit.release();
    /// assert_eq!(tx.capacity(), 1);
    /// ```
    pub fn release(self) -> Sender<T> {
        let sender = self.into_sender();
        drop(Permit::new(sender.chan()));
        sender
    }

    /// Whether both are of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        other.sender.as_ref().is_some_and(|sender| self.same_channel_as_sender(sender))
    }

    /// Whether this is a permit of the channel of `sender`.
    #[must_use]
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.sender.as_ref().is_some_and(|own| own.same_channel(sender))
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            drop(Permit::new(sender.chan()));
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").field("chan", &self.sender.as_ref().map(Sender::chan)).finish()
    }
}
