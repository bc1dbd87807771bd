//! The end of a watch channel that looks at the value.

use super::Ref;
use super::error::RecvError;
use super::shared::{SHARDS, Shared, Snapshot, Version};
use crate::waiters::{Waiter, Waiting};
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::Ordering;
use nezumi_queue::list::LinkedList;
use nezumi_wake::coop::cooperative;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The end of a watch channel that looks at the value and waits for it to change.
///
/// A clone has seen what the original has seen, and goes its own way from there.
///
/// # Examples
///
/// ```
/// use nezumi::sync::watch;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = watch::channel("starting");
/// nezumi::spawn(async move {
///     tx.send("running").unwrap();
///     tx.closed().await;
/// });
/// assert_eq!(*rx.wait_for(|state| *state == "running").await.unwrap(), "running");
/// # }
/// ```
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: Version,
    /// In which list it waits.
    shard: usize,
}

impl<T> Receiver<T> {
    /// The receiver that a channel is made with, and that is counted already.
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        Self { shared, seen: Version::INITIAL, shard: 0 }
    }

    pub(super) fn join(shared: &Arc<Shared<T>>, seen: Version) -> Self {
        // Relaxed: whoever joins holds an end that was counted before. The count before serves to spread the receivers.
        let shard = shared.receivers.fetch_add(1, Ordering::Relaxed) % SHARDS;
        Self { shared: Arc::clone(shared), seen, shard }
    }

    /// Looks at the value, and does not mark it as seen.
    ///
    /// The [`Ref`] holds a read lock, see there for how to keep out of trouble.
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (_tx, rx) = watch::channel("hello");
    /// assert_eq!(*rx.borrow(), "hello");
    /// ```
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.shared.value.read();
        // Versions change under the write lock only: this is the version of what is borrowed.
        let has_changed = self.shared.state().version() != self.seen;
        Ref { value, has_changed }
    }

    /// Looks at the value, and marks it as seen: [`changed`](Self::changed) will wait for the next one.
    ///
    /// The [`Ref`] holds a read lock, see there for how to keep out of trouble.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.value.read();
        // As in `borrow`.
        let version = self.shared.state().version();
        let has_changed = version != self.seen;
        self.seen = version;
        Ref { value, has_changed }
    }

    /// Whether there is a value that this receiver has not seen. Does not mark it.
    ///
    /// # Errors
    ///
    /// When every sender is gone, even if the last value was not seen; [`Ref::has_changed`] tells in that case.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert!(rx.has_changed().unwrap());
    /// assert_eq!(*rx.borrow_and_update(), 2);
    /// assert!(!rx.has_changed().unwrap());
    /// drop(tx);
    /// assert!(rx.has_changed().is_err());
    /// ```
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let now = self.shared.state();
        if now.is_closed() { Err(RecvError(())) } else { Ok(now.version() != self.seen) }
    }

    /// Whether every sender is gone.
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.state().is_closed()
    }

    /// Forgets that the current value was seen: [`changed`](Self::changed) returns at once.
    ///
    /// For a new subscriber that wants to treat the value it finds as its first change.
    pub fn mark_changed(&mut self) {
        self.seen = self.shared.state().version();
        self.seen.step_back();
    }

    /// Takes the current value as seen, without looking at it.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.state().version();
    }

    /// Waits for a value that was not seen, and marks it as seen.
    ///
    /// Returns at once if there is one already.
    ///
    /// # Errors
    ///
    /// When every sender is gone and the last value was seen.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has marked nothing as seen.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = watch::channel("hello");
    /// nezumi::spawn(async move {
    ///     tx.send("goodbye").unwrap();
    /// });
    /// assert!(rx.changed().await.is_ok());
    /// assert_eq!(*rx.borrow_and_update(), "goodbye");
    /// // The sender is gone.
    /// assert!(rx.changed().await.is_err());
    /// # }
    /// ```
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        cooperative(Changed::new(&self.shared, &mut self.seen, self.shard)).await
    }

    /// Waits for a value that `f` says yes to, beginning with the current one, and returns it, borrowed.
    ///
    /// `f` is shown the latest value whenever it has changed; values that are replaced before it gets there are not shown.
    /// What was shown is marked as seen. The [`Ref`] holds a read lock, and so does every call of `f`.
    ///
    /// # Errors
    ///
    /// When every sender is gone and `f` said no to the last value.
    ///
    /// # Panics
    ///
    /// When `f` does. The channel goes on as before.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, every value that it marked as seen is one that `f` said no to.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = watch::channel(0);
    /// nezumi::spawn(async move {
    ///     for n in 1..=10 {
    ///         tx.send(n).unwrap();
    ///     }
    /// });
    /// assert!(*rx.wait_for(|n| *n >= 5).await.unwrap() >= 5);
    /// # }
    /// ```
    pub async fn wait_for(&mut self, f: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, RecvError> {
        cooperative(self.wait_until(f)).await
    }

    async fn wait_until(&mut self, mut f: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, RecvError> {
        loop {
            {
                let value = self.shared.value.read();
                // As in `borrow_and_update`.
                let version = self.shared.state().version();
                let has_changed = version != self.seen;
                self.seen = version;
                if f(&value) {
                    return Ok(Ref { value, has_changed });
                }
            }
            // Fails only when nobody can change the value that was just shown.
            Changed::new(&self.shared, &mut self.seen, self.shard).await?;
        }
    }

    /// Whether both are of one channel.
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (_tx, a) = watch::channel(());
    /// let (_tx, b) = watch::channel(());
    /// assert!(a.same_channel(&a.clone()));
    /// assert!(!a.same_channel(&b));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self::join(&self.shared, self.seen)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.receiver_gone();
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("shared", &self.shared).field("version", &self.seen).finish()
    }
}

pin_project! {
    /// Waits for a version that differs from `seen`, and puts it there.
    struct Changed<'a, T> {
        #[pin]
        waiting: Waiting<'a, LinkedList<Waiter>>,
        shared: &'a Shared<T>,
        seen: &'a mut Version,
        shard: usize,
    }
}

impl<'a, T> Changed<'a, T> {
    fn new(shared: &'a Shared<T>, seen: &'a mut Version, shard: usize) -> Self {
        Self { waiting: shared.waiting(shard), shared, seen, shard }
    }
}

impl<T> Future for Changed<'_, T> {
    type Output = Result<(), RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (shared, shard) = (*this.shared, *this.shard);
        let before: Version = **this.seen;
        let mut now: Snapshot = shared.state();
        if !now.is_news(before) {
            now = ready!(this.waiting.poll(cx.waker(), |_| shared.announce(shard, before)));
        }
        if now.version() == before {
            return Poll::Ready(Err(RecvError(())));
        }
        **this.seen = now.version();
        Poll::Ready(Ok(()))
    }
}
