//! A channel for one value, from one sender to one receiver.
//!
//! The [`Sender`] sends at most once and does not wait for it; the [`Receiver`] is a future of the value. Either end may
//! go away early, and the other one can learn of it: the receiver gets an error, the sender can wait for
//! [`closed`](Sender::closed).
//!
//! # Examples
//!
//! ```
//! use nezumi::sync::oneshot;
//!
//! # #[nezumi::main]
//! # async fn main() {
//! let (tx, rx) = oneshot::channel();
//! nezumi::spawn(async move { tx.send(6 * 7) });
//! assert_eq!(rx.await, Ok(42));
//! # }
//! ```
//!
//! Several tasks may each hold one end of a channel of their own and report back through it, which is how a request over
//! an [`mpsc`](crate::mpsc) channel gets its reply.

// How it works.
//
// One allocation, without a reference count: the state word says which ends are gone, and the second one frees it. The
// moves are pure functions in `state`; the cells and the waiting are in `cell`; this file is the two ends.
//
// Promise: the value, and each waker, has exactly one owner at any time; a side that waits is woken if the other one ends
// or goes; a value that was sent without a waiting receiver costs one read-modify-write in all (the sender's), and one
// load of the receiver.
//
//     cell       sender may touch it                       receiver may touch it
//     value      until it sets ENDED                       once ENDED and VALUE are set
//     rx_waker   when it cleared RX_WAITS (setting ENDED)  while RX_WAITS is clear; reads it while it is set
//     tx_waker   while TX_WAITS is clear; reads it while   when it cleared TX_WAITS (setting CLOSED)
//                it is set
//     all        nothing once TX_GONE is set               nothing once RX_GONE is set
//
// A side's last word (ENDED or CLOSED) takes the published wakers of both sides with it: its own to drop, the other's to
// wake. ENDED and CLOSED never stand together; who comes second sees the first and undoes its own part.
//
//     sender                                    receiver
//     T1 write value                            R1 write rx_waker
//     T2 CAS ENDED|VALUE, take RX_WAITS         R2 CAS RX_WAITS
//
// Both are read-modify-writes of one word: if T2 is first, R2 sees ENDED and takes the value; if R2 is first, T2 sees
// the waker and wakes it.
//
// Tests: `a_value_is_dropped_exactly_once_on_every_path`, `only_the_last_task_that_polled_is_woken`,
// `both_ends_let_go_of_their_wakers_in_any_order`, `threads_hand_values_over_without_loss`. Loom, of the two columns:
// `models::a_sent_value_ends_the_wait`, `a_dropped_sender_ends_the_wait`, `drop_of_the_receiver_wakes_a_sender_that_waits`; of who owns
// what when both end: `send_races_close`, `send_races_drop_of_the_receiver`, `send_races_drop_of_a_receiver_that_waits`,
// `a_receiver_that_changes_its_task_is_woken_in_the_new_one`.

mod cell;
pub mod error;
mod state;

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

use cell::Channel;
use error::{RecvError, TryRecvError};
use nezumi_trace::{Resource, Waiting};
use nezumi_wake::{coop, entered, wake_and_drop};
use state::{CLOSED, ENDED, OnEnd, Side, Snapshot, VALUE};
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, ready};

/// Makes a channel for one value.
///
/// # Examples
///
/// ```
/// use nezumi::sync::oneshot;
///
/// let (tx, mut rx) = oneshot::channel();
/// assert_eq!(tx.send("hello"), Ok(()));
/// assert_eq!(rx.try_recv(), Ok("hello"));
/// ```
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let resource = Resource::oneshot();
    let waiting = resource.receive();
    let of_sender = resource.clone();
    let channel = Channel::allocate();
    (Sender { channel, resource: of_sender }, Receiver { channel: Some(channel), resource, waiting })
}

/// The end of a oneshot channel that sends.
///
/// [`send`](Self::send) consumes it and never waits, so it can be called from synchronous code as well. Dropped without
/// sending, it makes the receiver's wait end with an error.
///
/// # Examples
///
/// A type whose destructor sends keeps the sender in an `Option`:
///
/// ```
/// use nezumi::sync::oneshot;
///
/// struct Goodbye(Option<oneshot::Sender<&'static str>>);
///
/// impl Drop for Goodbye {
///     fn drop(&mut self) {
///         if let Some(tx) = self.0.take() {
///             let _ = tx.send("goodbye");
///         }
///     }
/// }
///
/// # #[nezumi::main]
/// # async fn main() {
/// let (tx, rx) = oneshot::channel();
/// drop(Goodbye(Some(tx)));
/// assert_eq!(rx.await, Ok("goodbye"));
/// # }
/// ```
pub struct Sender<T> {
    // Valid until this side leaves, which consumes or drops it.
    channel: NonNull<Channel<T>>,
    resource: Resource,
}

// SAFETY: the ends hand the value over from one thread to another, which `T: Send` allows. `&Sender` only reads the state.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Sender<T> {}

impl<T> Sender<T> {
    fn channel(&self) -> &Channel<T> {
        // SAFETY: we have not left, so the channel is not freed.
        unsafe { self.channel.as_ref() }
    }

    /// Sends `value`, without waiting.
    ///
    /// `Ok` says that the receiver was there, not that it will look at the value: it may be dropped before it does.
    ///
    /// # Errors
    ///
    /// Gives the value back if the receiver was closed or dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send(5), Err(5));
    /// ```
    pub fn send(self, value: T) -> Result<(), T> {
        // From here on this function leaves by itself, and does not run `drop`.
        let this = ManuallyDrop::new(self);
        let channel = this.channel;
        // SAFETY: `this` is not used again, nor dropped.
        let resource = unsafe { ptr::read(&this.resource) };
        // SAFETY: we have not left.
        let shared = unsafe { channel.as_ref() };
        // SAFETY: we are the sender and have not ended.
        unsafe { shared.put_value(value) };
        match shared.state().send() {
            OnEnd::Left => {
                resource.value_sent();
                Ok(())
            }
            OnEnd::Take { tx, rx } => {
                // SAFETY: we ended, and found these bits.
                unsafe { Self::take_leave_wake(channel, tx, rx) };
                resource.value_sent();
                Ok(())
            }
            OnEnd::TooLate => {
                // SAFETY: ENDED was not set, so the value we wrote is still ours. Then there is nothing left to take.
                let value = unsafe { shared.take_value() };
                // SAFETY: as above; `channel` is not used again.
                unsafe { Channel::leave(channel, Side::Tx) };
                Err(value)
            }
        }
    }

    /// # Safety
    ///
    /// The caller said the sender's last word and cleared the `WAITS` bits of the wakers named; the channel is not touched
    /// again.
    unsafe fn take_leave_wake(channel: NonNull<Channel<T>>, tx: bool, rx: bool) {
        // SAFETY: we have not left.
        let shared = unsafe { channel.as_ref() };
        // SAFETY: the caller cleared the bit.
        let own = tx.then(|| unsafe { shared.take_waker(Side::Tx) });
        // SAFETY: as above.
        let theirs = rx.then(|| unsafe { shared.take_waker(Side::Rx) });
        // SAFETY: all is taken. Wakers are user code, and run after we left.
        unsafe { Channel::leave(channel, Side::Tx) };
        wake_and_drop(theirs, own);
    }

    /// Waits until the receiver is closed or dropped.
    ///
    /// Together with `select!` this ends work whose result nobody wants any more.
    ///
    /// # Cancel safety
    ///
    /// Dropped early, it has changed nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::oneshot;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (mut tx, rx) = oneshot::channel::<u32>();
    /// let worker = nezumi::spawn(async move {
    ///     nezumi::select! {
    ///         _ = tx.closed() => "nobody listens",
    ///         _ = std::future::pending::<()>() => unreachable!(),
    ///     }
    /// });
    /// drop(rx);
    /// assert_eq!(worker.await.unwrap(), "nobody listens");
    /// # }
    /// ```
    pub async fn closed(&mut self) {
        let resource = self.resource.clone();
        resource.operation("Sender::closed", "poll_closed", || poll_fn(|cx| self.poll_closed(cx))).await;
    }

    /// Whether the receiver was closed or dropped, so that [`send`](Self::send) would fail.
    ///
    /// ```
    /// use nezumi::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel::<()>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.channel().snapshot().has(CLOSED)
    }

    /// [`closed`](Self::closed) for hand-written futures: `Ready` once the receiver is closed or dropped, else the task of
    /// `cx`, and of the last call only, is woken when it is.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let coop = ready!(coop::poll_proceed(cx));
        // SAFETY: we are the sender, and `&mut self` makes it one call at a time.
        if unsafe { self.channel().wait(Side::Tx, cx.waker()) } {
            return Poll::Pending;
        }
        coop.made_progress();
        Poll::Ready(())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        match self.channel().state().give_up() {
            OnEnd::Left => {}
            // SAFETY: we ended, and found these bits; this is the last use.
            OnEnd::Take { tx, rx } => unsafe { Self::take_leave_wake(self.channel, tx, rx) },
            // SAFETY: the receiver closed, and took our waker if there was one; this is the last use.
            OnEnd::TooLate => unsafe { Channel::leave(self.channel, Side::Tx) },
        }
        self.resource.tx_dropped();
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("inner", &Some(Inner(self.channel().snapshot()))).finish()
    }
}

/// The end of a oneshot channel that receives: a future of what is sent.
///
/// It completes with the value, or with [`RecvError`] if the sender was dropped without sending. To go on waiting for it
/// after something else came first, as in a loop around `select!`, poll it through `&mut`.
///
/// # Cancel safety
///
/// `&mut Receiver` may be dropped at any time, no value is lost by that.
///
/// # Panics
///
/// When polled again after it completed; [`is_terminated`](Self::is_terminated) tells.
///
/// # Examples
///
/// ```
/// use nezumi::sync::oneshot;
/// use nezumi::time::{Duration, interval};
///
/// # #[nezumi::main]
/// # async fn main() {
/// let (tx, mut rx) = oneshot::channel();
/// let mut ticks = interval(Duration::from_millis(1));
/// let mut tx = Some(tx);
/// loop {
///     nezumi::select! {
///         _ = ticks.tick() => {
///             if let Some(tx) = tx.take() {
///                 tx.send("enough").unwrap();
///             }
///         }
///         value = &mut rx => {
///             assert_eq!(value, Ok("enough"));
///             break;
///         }
///     }
/// }
/// # }
/// ```
pub struct Receiver<T> {
    // `None` once the answer was given out; valid until then.
    channel: Option<NonNull<Channel<T>>>,
    resource: Resource,
    waiting: Waiting,
}

// SAFETY: as for `Sender`.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: as for `Sender`.
unsafe impl<T: Send> Sync for Receiver<T> {}

impl<T> Receiver<T> {
    fn channel(&self) -> Option<&Channel<T>> {
        // SAFETY: we leave only after taking the pointer out.
        self.channel.map(|channel| unsafe { channel.as_ref() })
    }

    /// Refuses a value that was not sent yet: [`Sender::send`] fails from now on.
    ///
    /// What was sent before is still there, for [`try_recv`](Self::try_recv) or by awaiting: to make sure that no value is
    /// lost, close first and look then.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::oneshot;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// assert!(tx.send("in time").is_ok());
    /// rx.close();
    /// assert_eq!(rx.try_recv(), Ok("in time"));
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send("too late"), Err("too late"));
    /// assert!(rx.try_recv().is_err());
    /// ```
    pub fn close(&mut self) {
        let Some(shared) = self.channel() else { return };
        if let OnEnd::Take { tx, rx } = shared.state().close() {
            // SAFETY: we closed, and found these bits.
            unsafe { Self::take_wakers(shared, tx, rx) }.wake();
        }
        self.resource.rx_dropped();
    }

    /// Whether the answer was given out already, so that this must not be polled again.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::oneshot;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, mut rx) = oneshot::channel();
    /// tx.send(0).unwrap();
    /// assert!(!rx.is_terminated());
    /// assert_eq!((&mut rx).await, Ok(0));
    /// assert!(rx.is_terminated());
    /// # }
    /// ```
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.channel.is_none()
    }

    /// Whether there is no value to take now. None may ever come: an empty channel is not always safe to poll again, for
    /// which see [`is_terminated`](Self::is_terminated).
    ///
    /// ```
    /// use nezumi::sync::oneshot;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// assert!(rx.is_empty());
    /// tx.send(0).unwrap();
    /// assert!(!rx.is_empty());
    /// rx.try_recv().unwrap();
    /// assert!(rx.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.channel().is_none_or(|shared| !shared.snapshot().has(VALUE))
    }

    /// Takes the value if it is there. No task is woken if it comes later.
    ///
    /// Never fails spuriously: what happened before this call is seen.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if nothing was sent yet, [`TryRecvError::Closed`] if nothing will come, be it since the sender
    /// is gone, since this was closed, or since the value was taken before.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(shared) = self.channel() else { return Err(TryRecvError::Closed) };
        let now = shared.snapshot();
        if !now.has(ENDED | CLOSED) {
            return Err(TryRecvError::Empty);
        }
        if now.has(VALUE) {
            self.resource.value_received();
        }
        Self::finish(&mut self.channel, now).ok_or(TryRecvError::Closed)
    }

    /// Blocks the thread until the value is there: for code outside a runtime.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if the sender was dropped without sending.
    ///
    /// # Panics
    ///
    /// On a thread that drives tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::oneshot;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let (tx, rx) = oneshot::channel();
    /// let thread = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(10).unwrap();
    /// assert_eq!(thread.join().unwrap(), Ok(10));
    /// # }
    /// ```
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        entered::assert_may_block();
        nezumi_wake::block_on(self)
    }

    /// Takes the value, if there is one, and leaves. `now` says that one of the ends has said its last word.
    fn finish(channel: &mut Option<NonNull<Channel<T>>>, now: Snapshot) -> Option<T> {
        let channel = channel.take()?;
        // SAFETY: we have not left; VALUE says that the cell is full and the receiver's, and as we leave, it is read once.
        let value = now.has(VALUE).then(|| unsafe { channel.as_ref().take_value() });
        // SAFETY: after ENDED or CLOSED no waker of ours is published, and the sender's was taken by who said it.
        unsafe { Channel::leave(channel, Side::Rx) };
        value
    }

    /// Waits for the last word of either side.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, which has not left, and calls this once at a time.
    #[inline]
    unsafe fn poll_answer(shared: &Channel<T>, cx: &mut Context<'_>) -> Poll<Snapshot> {
        let coop = ready!(coop::poll_proceed(cx));
        let mut now = shared.snapshot();
        if !now.has(ENDED | CLOSED) {
            // SAFETY: the caller's promise.
            if unsafe { shared.wait(Side::Rx, cx.waker()) } {
                return Poll::Pending;
            }
            now = shared.snapshot();
        }
        coop.made_progress();
        Poll::Ready(now)
    }

    /// # Safety
    ///
    /// The caller closed and cleared the `WAITS` bits of the wakers named.
    unsafe fn take_wakers(shared: &Channel<T>, tx: bool, rx: bool) -> Taken {
        // SAFETY: the caller cleared the bit.
        let theirs = tx.then(|| unsafe { shared.take_waker(Side::Tx) });
        // SAFETY: as above.
        let own = rx.then(|| unsafe { shared.take_waker(Side::Rx) });
        Taken { theirs, own }
    }
}

/// The wakers that closing took, to be woken and dropped at the end.
struct Taken {
    theirs: Option<std::task::Waker>,
    own: Option<std::task::Waker>,
}

impl Taken {
    fn wake(self) {
        wake_and_drop(self.theirs, self.own);
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { channel, resource, waiting } = self.get_mut();
        let Some(channel_of) = *channel else {
            panic!("called after complete: the value was given out before")
        };
        let _inside = waiting.enter(resource);
        // SAFETY: we leave only after taking the pointer out, and `&mut self` makes it one call at a time.
        let polled = unsafe { Self::poll_answer(channel_of.as_ref(), cx) };
        nezumi_trace::polled("poll_recv", polled.is_ready());
        let now = ready!(polled);
        if now.has(VALUE) {
            resource.value_received();
        }
        Poll::Ready(Self::finish(channel, now).ok_or(RecvError(())))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(channel) = self.channel else { return };
        // SAFETY: we have not left.
        let shared = unsafe { channel.as_ref() };
        match shared.state().close_and_leave() {
            OnEnd::Left => {}
            OnEnd::Take { tx, rx } => {
                // SAFETY: we closed, and found these bits.
                let taken = unsafe { Self::take_wakers(shared, tx, rx) };
                // SAFETY: all is taken; this is the last use. Wakers are user code, and run after.
                unsafe { Channel::leave(channel, Side::Rx) };
                taken.wake();
            }
            // Somebody said the last word before: there may be a value, which is dropped after we left.
            OnEnd::TooLate => drop(Self::finish(&mut self.channel, shared.snapshot())),
        }
        self.resource.rx_dropped();
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.channel().map(|shared| Inner(shared.snapshot()));
        f.debug_struct("Receiver").field("inner", &inner).finish()
    }
}

struct Inner(Snapshot);

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("state", &self.0).finish()
    }
}
