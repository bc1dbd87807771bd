//! The futures that wait for a notification.

use super::Notify;
use super::wait::Wait;
use nezumi_wake::leaf;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

pin_project! {
    /// Waits for a notification. From [`Notify::notified`].
    ///
    /// Once it is ready it stays so.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Notify;
    /// use std::pin::pin;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let notify = Notify::new();
    /// let mut notified = pin!(notify.notified());
    /// // From here on it hears what it is told, before it is first awaited.
    /// notified.as_mut().enable();
    /// notify.notify_waiters();
    /// notified.await;
    /// # }
    /// ```
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Notified<'a> {
        notify: &'a Notify,
        #[pin]
        wait: Wait,
    }

    impl PinnedDrop for Notified<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.wait.leave(this.notify);
        }
    }
}

pin_project! {
    /// Waits for a notification, and keeps the [`Notify`] alive. From [`Notify::notified_owned`].
    ///
    /// Once it is ready it stays so.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Notify;
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let notify = Arc::new(Notify::new());
    /// let waits = nezumi::spawn(notify.clone().notified_owned());
    /// notify.notify_one();
    /// waits.await.unwrap();
    /// # }
    /// ```
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct OwnedNotified {
        notify: Arc<Notify>,
        #[pin]
        wait: Wait,
    }

    impl PinnedDrop for OwnedNotified {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.wait.leave(this.notify);
        }
    }
}

impl<'a> Notified<'a> {
    #[inline]
    pub(super) fn new(notify: &'a Notify) -> Self {
        Self { wait: Wait::new(notify), notify }
    }

    /// Takes a place in the queue without waiting, and returns whether the future is ready already.
    ///
    /// A [`notify_one`](Notify::notify_one) that comes after this reaches the future although it has not been polled. So a
    /// condition can be looked at in between without missing a notification:
    ///
    /// ```
    /// use nezumi::sync::Notify;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// async fn wait_until(flag: &AtomicBool, changed: &Notify) {
    ///     let mut change = std::pin::pin!(changed.notified());
    ///     change.as_mut().enable();
    ///     if !flag.load(Ordering::Acquire) {
    ///         change.await;
    ///     }
    /// }
    /// # #[nezumi::main] async fn main() {
    /// # let (flag, changed) = (AtomicBool::new(false), Notify::new());
    /// # changed.notify_one();
    /// # wait_until(&flag, &changed).await;
    /// # }
    /// ```
    ///
    /// For [`notify_waiters`](Notify::notify_waiters) alone this is not needed: it reaches the future from the moment it was
    /// made. The waker of an earlier poll stays in place.
    pub fn enable(self: Pin<&mut Self>) -> bool {
        let this = self.project();
        this.wait.poll(this.notify, None).is_ready()
    }
}

impl OwnedNotified {
    #[inline]
    pub(super) fn new(notify: Arc<Notify>) -> Self {
        Self { wait: Wait::new(&notify), notify }
    }

    /// Takes a place in the queue without waiting, and returns whether the future is ready already.
    ///
    /// As [`Notified::enable`].
    pub fn enable(self: Pin<&mut Self>) -> bool {
        let this = self.project();
        this.wait.poll(this.notify, None).is_ready()
    }
}

impl Future for Notified<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let polled = this.wait.poll(this.notify, Some(cx.waker()));
        if polled.is_pending() {
            // Spends no budget, and so does not come by where leaves are traced.
            let _ = leaf::poll_leaf(cx);
        }
        polled
    }
}

impl Future for OwnedNotified {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let polled = this.wait.poll(this.notify, Some(cx.waker()));
        if polled.is_pending() {
            // Spends no budget, and so does not come by where leaves are traced.
            let _ = leaf::poll_leaf(cx);
        }
        polled
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notified").field("notify", self.notify).field("state", self.wait.phase()).finish()
    }
}

impl fmt::Debug for OwnedNotified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedNotified")
            .field("notify", &self.notify)
            .field("state", self.wait.phase())
            .finish()
    }
}
