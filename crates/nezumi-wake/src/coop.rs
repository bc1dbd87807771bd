//! How much a task may do before it lets others run.
//!
//! A scheduler gives each poll of a task a budget of 128. Every future of the runtime that makes progress spends one;
//! when nothing is left it answers `Pending` although it could go on, and has its task woken after the next driver turn.
//! Code outside a scheduler, and code under [`unconstrained`], has no budget and is never held up.

use crate::{defer, leaf};
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What is left to spend: a number, or one of the two below. One byte, of which one comparison tells whether there is something to be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u8);

/// Nothing is counted.
const UNCONSTRAINED: u8 = u8::MAX;
/// The poll only looks where its future waits (`leaf`): nobody may spend.
const TRACED: u8 = u8::MAX - 1;
/// What each poll of a task starts with.
const INITIAL: u8 = 128;

impl Budget {
    /// What each poll of a task starts with.
    #[must_use]
    pub const fn initial() -> Self {
        Self(INITIAL)
    }

    /// No limit.
    #[must_use]
    pub const fn unconstrained() -> Self {
        Self(UNCONSTRAINED)
    }

    /// Whether anything is left.
    #[must_use]
    pub const fn has_remaining(self) -> bool {
        self.0 != 0
    }
}

nezumi_prim::thread_local! {
    static BUDGET: Cell<Budget> = Cell::new(Budget::unconstrained());
}

/// Sets the budget of this thread, and returns what stood there.
#[inline]
pub fn replace(budget: Budget) -> Budget {
    // A destructor of another thread-local may run this after ours is gone; there is no budget then.
    BUDGET.try_with(|cell| cell.replace(budget)).unwrap_or(Budget::unconstrained())
}

#[inline]
fn current() -> Budget {
    BUDGET.try_with(Cell::get).unwrap_or(Budget::unconstrained())
}

struct Reset(Budget);

impl Drop for Reset {
    fn drop(&mut self) {
        replace(self.0);
    }
}

/// Runs `f` with the budget of one poll.
#[inline]
pub fn budget<R>(f: impl FnOnce() -> R) -> R {
    with_budget(Budget::initial(), f)
}

/// Runs `f` without a budget.
#[inline]
pub fn with_unconstrained<R>(f: impl FnOnce() -> R) -> R {
    with_budget(Budget::unconstrained(), f)
}

#[inline]
fn with_budget<R>(budget: Budget, f: impl FnOnce() -> R) -> R {
    let reset = Reset(replace(budget));
    if reset.0.0 == TRACED {
        // What is reached within a trace is traced, whatever budget it would have had.
        replace(reset.0);
    }
    f()
}

/// Runs `f` so that whoever would spend calls back instead. For `leaf`.
#[inline]
pub(crate) fn traced<R>(f: impl FnOnce() -> R) -> R {
    let _reset = Reset(replace(Budget(TRACED)));
    f()
}

/// Whether nobody may spend since the poll is traced.
#[inline]
pub(crate) fn is_traced() -> bool {
    current().0 == TRACED
}

/// Whether the current task may go on without yielding. True where nothing is counted.
///
/// A loop that does work of its own between awaits can ask this and yield when the answer is no.
///
/// # Examples
///
/// ```
/// use nezumi::task::coop::has_budget_remaining;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// for number in 0..10_000 {
///     if !has_budget_remaining() {
///         nezumi::task::yield_now().await;
///     }
///     # let _ = number;
/// }
/// # }
/// ```
#[inline]
#[must_use]
pub fn has_budget_remaining() -> bool {
    current().has_remaining()
}

/// Gives the unit of budget back if it is dropped before [`made_progress`](Self::made_progress): a future that turns out
/// to be pending has spent nothing.
///
/// Not `Send`: the budget is the thread's.
///
/// # Examples
///
/// ```
/// use nezumi::task::coop::poll_proceed;
/// use std::future::poll_fn;
/// use std::task::{Poll, ready};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut source = vec![1, 2].into_iter();
/// let next = poll_fn(|cx| {
///     let spent = ready!(poll_proceed(cx));
///     match source.next() {
///         Some(item) => {
///             spent.made_progress();
///             Poll::Ready(item)
///         }
///         // Nothing was spent.
///         None => Poll::Pending,
///     }
/// });
/// assert_eq!(next.await, 1);
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct RestoreOnPending(Cell<Budget>, PhantomData<*mut ()>);

impl RestoreOnPending {
    /// Says that the future went on, so that what it spent stays spent.
    #[inline]
    pub fn made_progress(&self) {
        self.0.set(Budget::unconstrained());
    }
}

impl Drop for RestoreOnPending {
    #[inline]
    fn drop(&mut self) {
        let budget = self.0.get();
        if budget != Budget::unconstrained() {
            replace(budget);
        }
    }
}

/// Spends one unit. `Pending` when none is left: the task will be woken after a driver turn.
///
/// For futures that are made of parts which know no budget.
///
/// # Examples
///
/// ```
/// use nezumi::task::coop::poll_proceed;
/// use std::future::poll_fn;
/// use std::task::{Poll, ready};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// /// Takes the next one, and its part of the budget.
/// async fn take(from: &mut impl Iterator<Item = u8>) -> Option<u8> {
///     poll_fn(|cx| {
///         let spent = ready!(poll_proceed(cx));
///         spent.made_progress();
///         Poll::Ready(from.next())
///     })
///     .await
/// }
///
/// assert_eq!(take(&mut [7].into_iter()).await, Some(7));
/// # }
/// ```
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    let budget = current();
    // From 1 to 128.
    if budget.0.wrapping_sub(1) < INITIAL {
        replace(Budget(budget.0 - 1));
        return Poll::Ready(RestoreOnPending(Cell::new(budget), PhantomData));
    }
    if budget.0 != UNCONSTRAINED {
        ready!(held_up(cx, budget));
    }
    Poll::Ready(RestoreOnPending(Cell::new(Budget::unconstrained()), PhantomData))
}

/// Nothing is left, or the poll is traced. `Ready` if that is not to be held against the caller after all.
#[cold]
#[inline(never)]
fn held_up(cx: &mut Context<'_>, budget: Budget) -> Poll<()> {
    if budget.0 == TRACED {
        return leaf::trace_leaf(cx);
    }
    exhausted(cx);
    Poll::Pending
}

#[cold]
fn exhausted(cx: &Context<'_>) {
    defer::forced_yield(cx.waker());
    defer::defer(cx.waker());
}

/// `Pending` when nothing is left, as [`poll_proceed`], without spending. For macros that poll several futures.
#[inline]
pub fn poll_budget_available(cx: &mut Context<'_>) -> Poll<()> {
    if has_budget_remaining() {
        Poll::Ready(())
    } else {
        exhausted(cx);
        Poll::Pending
    }
}

/// Spends one unit of budget, and yields if there was none.
///
/// For a task that computes for long between awaits: called in its loop, it lets the others run at a fair rate.
///
/// # Cancel safety
///
/// Cancelled before it completes, it has spent nothing.
///
/// # Examples
///
/// ```
/// use nezumi::task::coop::consume_budget;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut sum = 0_u64;
/// for number in 0..10_000 {
///     sum += number;
///     // Others have their turn every now and then.
///     consume_budget().await;
/// }
/// assert_eq!(sum, 49_995_000);
/// # }
/// ```
pub async fn consume_budget() {
    let mut spent = false;
    poll_fn(move |cx| {
        if spent {
            return Poll::Ready(());
        }
        let coop = ready!(poll_proceed(cx));
        coop.made_progress();
        spent = true;
        Poll::Ready(())
    })
    .await;
}

pin_project! {
    /// The future of [`unconstrained`].
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::task::coop::{Unconstrained, unconstrained};
    /// use std::pin::Pin;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// type Work = Pin<Box<dyn Future<Output = u8>>>;
    /// let work: Unconstrained<Work> = unconstrained(Box::pin(async { 7 }));
    /// assert_eq!(work.await, 7);
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Unconstrained<F> {
        #[pin]
        inner: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let inner = self.project().inner;
        with_unconstrained(|| inner.poll(cx))
    }
}

/// Lets `inner` run without a budget, so that it is never made to yield while it could go on.
///
/// # Examples
///
/// ```
/// use nezumi::sync::mpsc;
/// use nezumi::task::coop::unconstrained;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// for number in 0..1000 {
///     tx.send(number).unwrap();
/// }
/// drop(tx);
/// let received = unconstrained(async {
///     let mut received = 0;
///     // Does not yield until all is there.
///     while rx.recv().await.is_some() {
///         received += 1;
///     }
///     received
/// });
/// assert_eq!(received.await, 1000);
/// # }
/// ```
pub fn unconstrained<F>(inner: F) -> Unconstrained<F> {
    Unconstrained { inner }
}

pin_project! {
    /// The future of [`cooperative`].
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::task::coop::{Coop, cooperative};
    /// use std::future::{Ready, ready};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let next: Coop<Ready<u8>> = cooperative(ready(7));
    /// assert_eq!(next.await, 7);
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Coop<F> {
        #[pin]
        inner: F,
    }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let coop = ready!(poll_proceed(cx));
        let output = ready!(self.project().inner.poll(cx));
        coop.made_progress();
        Poll::Ready(output)
    }
}

/// Makes a future that knows no budget spend one unit each time it completes.
///
/// # Examples
///
/// ```
/// use nezumi::task::coop::cooperative;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// // What is always ready would not let anybody else run.
/// let ticker = nezumi::spawn(async {
///     loop {
///         cooperative(std::future::ready(())).await;
///     }
/// });
/// nezumi::task::yield_now().await;
/// ticker.abort();
/// assert!(ticker.await.unwrap_err().is_cancelled());
/// # }
/// ```
pub fn cooperative<F: Future>(inner: F) -> Coop<F> {
    Coop { inner }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn exactly_128_then_pending_and_a_wake() {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let mut cx = Context::from_waker(&waker);
        budget(|| {
            for _ in 0..128 {
                assert!(has_budget_remaining());
                match poll_proceed(&mut cx) {
                    Poll::Ready(coop) => coop.made_progress(),
                    Poll::Pending => panic!("the budget ended early"),
                }
            }
            assert!(!has_budget_remaining());
            assert!(poll_proceed(&mut cx).is_pending());
            assert!(with_unconstrained(|| poll_proceed(&mut cx).is_ready()));
        });
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert!(poll_proceed(&mut cx).is_ready());
    }

    #[test]
    fn a_pending_future_spends_nothing() {
        let mut cx = Context::from_waker(Waker::noop());
        budget(|| {
            let before = current();
            drop(poll_proceed(&mut cx));
            assert_eq!(current(), before);
            assert!(pin!(cooperative(std::future::pending::<()>())).poll(&mut cx).is_pending());
            assert_eq!(current(), before);
            assert!(pin!(cooperative(async {})).poll(&mut cx).is_ready());
            assert_eq!(current(), Budget(127));
        });
    }
}
