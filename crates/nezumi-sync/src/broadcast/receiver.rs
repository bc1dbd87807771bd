//! The end of a broadcast channel that receives.

use super::error::{RecvError, TryRecvError};
use super::loan::{Received, receive};
use super::shared::{Shared, Standing, Tail};
use crate::waiters::{Waiting, wake_all};
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::Ordering;
use nezumi_wake::{FirstPanic, coop, entered};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// The end of a broadcast channel that receives every value sent since it came into being.
///
/// It is not cloned: [`resubscribe`](Self::resubscribe) makes another one that begins at what comes next, and so does
/// [`Sender::subscribe`](super::Sender::subscribe).
///
/// # Examples
///
/// ```
/// use nezumi::sync::broadcast;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut first) = broadcast::channel(8);
/// tx.send("early").unwrap();
/// let mut second = first.resubscribe();
/// tx.send("late").unwrap();
/// assert_eq!(first.recv().await, Ok("early"));
/// assert_eq!(first.recv().await, Ok("late"));
/// assert_eq!(second.recv().await, Ok("late"));
/// # }
/// ```
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position of the value that it gets next.
    next: u64,
}

impl<T> Receiver<T> {
    /// A receiver that is counted already.
    pub(super) fn new(shared: Arc<Shared<T>>, next: u64) -> Self {
        Self { shared, next }
    }

    #[track_caller]
    pub(super) fn join(shared: &Arc<Shared<T>>) -> Self {
        let next = shared.tail.lock().join();
        Self::new(Arc::clone(shared), next)
    }

    /// How many values were sent that this receiver has not got.
    ///
    /// If that is more than the channel keeps, the next call to receive will say how many of them are
    /// [lost](RecvError::Lagged).
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// tx.send(10).unwrap();
    /// tx.send(20).unwrap();
    /// assert_eq!(rx.len(), 2);
    /// rx.try_recv().unwrap();
    /// assert_eq!(rx.len(), 1);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.tail.lock().position.wrapping_sub(self.next) as usize
    }

    /// Whether this receiver has got everything that was sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both are of one channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// How many [`Sender`](super::Sender)s there are.
    #[must_use]
    pub fn sender_strong_count(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }

    /// How many [`WeakSender`](super::WeakSender)s there are.
    #[must_use]
    pub fn sender_weak_count(&self) -> usize {
        self.shared.weak_senders.load(Ordering::Acquire)
    }

    /// Whether every [`Sender`](super::Sender) is gone. There may still be values to receive.
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(10);
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender_strong_count() == 0
    }
}

impl<T: Clone> Receiver<T> {
    /// Another receiver, for what is sent from now on: what this one has not got yet is not shown to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(2);
    /// tx.send(1).unwrap();
    /// let mut other = rx.resubscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(other.try_recv(), Ok(2));
    /// ```
    #[track_caller]
    pub fn resubscribe(&self) -> Self {
        Self::join(&self.shared)
    }

    /// Waits for the next value, and returns a clone of it.
    ///
    /// # Errors
    ///
    /// [`RecvError::Lagged`] if values were overwritten before this receiver came for them: it goes on with the oldest that
    /// is still there. [`RecvError::Closed`] if every sender is gone and there is nothing left.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = broadcast::channel(16);
    /// nezumi::spawn(async move {
    ///     tx.send(10).unwrap();
    ///     tx.send(20).unwrap();
    /// });
    /// assert_eq!(rx.recv().await.unwrap(), 10);
    /// assert_eq!(rx.recv().await.unwrap(), 20);
    /// assert!(rx.recv().await.is_err());
    /// # }
    /// ```
    pub async fn recv(&mut self) -> Result<T, RecvError> {
        let waiting = Waiting::new(&self.shared.tail);
        Recv { waiting, shared: &self.shared, next: &mut self.next }.await
    }

    /// Returns a clone of the next value if it is there. No task is woken if it comes later.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if there is nothing yet, else as [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        loop {
            match receive(&self.shared, &mut self.next) {
                Received::Value(value) => return Ok(value),
                Received::Out => {
                    self.wait_for_loan();
                    continue;
                }
                Received::Nothing => {}
            }
            let standing = self.shared.standing(&self.shared.tail.lock(), &mut self.next);
            match standing {
                Some(Standing::Ahead) => {}
                Some(Standing::Lagged(missed)) => return Err(TryRecvError::Lagged(missed)),
                Some(Standing::Closed) => return Err(TryRecvError::Closed),
                None => return Err(TryRecvError::Empty),
            }
        }
    }

    /// The next value was sent, and another thread is cloning it: to say that there is none would be wrong. The thread waits
    /// until that is done, in the place of a task.
    #[cold]
    fn wait_for_loan(&self) {
        let mut waiting = pin!(Waiting::new(&self.shared.tail));
        let look = |_: &mut Tail| (!self.shared.slot(self.next).want(self.next)).then_some(());
        nezumi_wake::block_on(poll_fn(|cx| waiting.as_mut().poll(cx.waker(), look)));
    }

    /// Blocks the thread until the next value is there: for code outside a runtime.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    ///
    /// On a thread that drives tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// let thread = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(10).unwrap();
    /// assert_eq!(thread.join().unwrap(), Ok(10));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        entered::assert_may_block();
        nezumi_wake::block_on(self.recv())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut tail = self.shared.tail.lock();
        tail.receivers -= 1;
        let (is_last, end) = (tail.receivers == 0, tail.position);
        drop(tail);
        // What is sent from here on does not count us.
        let mut panics = FirstPanic::new();
        self.shared.skip(self.next, end, &mut panics);
        if is_last {
            let closing = &self.shared.closing;
            panics.run(|| wake_all(closing, closing.lock()));
        }
        panics.resume();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broadcast::Receiver")
    }
}

pin_project! {
    /// The future of [`Receiver::recv`].
    struct Recv<'a, T> {
        #[pin]
        waiting: Waiting<'a, Tail>,
        shared: &'a Shared<T>,
        next: &'a mut u64,
    }
}

impl<T: Clone> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let coop = ready!(coop::poll_proceed(cx));
        let mut this = self.project();
        let shared = *this.shared;
        let result = loop {
            if let Received::Value(value) = receive(shared, this.next) {
                break Ok(value);
            }
            let next = **this.next;
            let standing = this.waiting.as_mut().poll(cx.waker(), |tail| {
                let standing = shared.standing(tail, this.next);
                // It is there, but another receiver is cloning it: then that one wakes us.
                standing.filter(|standing| !(standing.is_ahead() && shared.slot(next).want(next)))
            });
            match ready!(standing) {
                Standing::Ahead => {}
                Standing::Lagged(missed) => break Err(RecvError::Lagged(missed)),
                Standing::Closed => break Err(RecvError::Closed),
            }
        };
        coop.made_progress();
        Poll::Ready(result)
    }
}
