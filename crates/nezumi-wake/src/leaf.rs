//! Polls that only look where a future waits.
//!
//! A poll under [`trace_with`] does not go on with the future: each future of the runtime that it reaches, a *leaf*, calls back, so that the
//! stack can be looked at, answers `Pending`, and has its task woken after the next driver turn. The task must be polled once more after that,
//! as any that was woken.
//!
//! Called by `coop` (every leaf that spends budget comes by there: while tracing, the budget is of a kind of its own, and the way out of the hot
//! path leads here) and by leaves that spend none; the caller of a trace is `nezumi-core::dump`, or the program. Knows nothing of stacks.
//!
//! Promise: outside a trace nothing is paid for it by whoever spends budget; a leaf that is reached from within the callback itself is not
//! traced; what stood before stands again after, also when the traced code panics.
//!
//! Tests: below.

use crate::{coop, defer};
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// What the callback of [`trace_with`] is told of a leaf.
///
/// Both are addresses of functions, by which their frames are known on the stack: what lies between them are the frames of the traced futures.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::dump::{Trace, TraceMeta, trace_with};
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut waits = Box::pin(nezumi::task::yield_now());
/// Trace::root(poll_fn(|cx| {
///     let traced = |leaf: &TraceMeta| assert!(leaf.root_addr.is_some());
///     assert!(trace_with(|| waits.as_mut().poll(cx), traced).is_pending());
///     Poll::Ready(())
/// }))
/// .await;
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct TraceMeta {
    /// Where to stop: the function that polls the innermost [`Root`] that this thread is in. `None` outside of one.
    pub root_addr: Option<*const c_void>,
    /// Where to begin: the function that has called back. What it has called is of no interest.
    pub trace_leaf_addr: *const c_void,
}

type OnLeaf = dyn FnMut(&TraceMeta);

thread_local! {
    /// Who is told of leaves; nobody while he is being told.
    static ON_LEAF: Cell<Option<NonNull<OnLeaf>>> = const { Cell::new(None) };
    /// The function that polls the innermost root.
    static ROOT: Cell<Option<*const c_void>> = const { Cell::new(None) };
}

/// Puts back what stood in a cell.
struct PutBack<T: Copy + 'static>(&'static std::thread::LocalKey<Cell<T>>, T);

impl<T: Copy> Drop for PutBack<T> {
    fn drop(&mut self) {
        let _ = self.0.try_with(|cell| cell.set(self.1));
    }
}

/// Runs `f`, usually the poll of a future, and calls `trace_leaf` at each future of the runtime that it reaches. Those answer `Pending` instead of
/// what they would have, and the task is woken after the next driver turn, so that it is polled again without being traced.
///
/// A task that is traced at each of its polls never goes on.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::dump::{Trace, trace_with};
/// use std::future::Future;
/// use std::task::Poll;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// // How many futures a future waits for.
/// let mut both = Box::pin(async { nezumi::join!(std::future::pending::<()>(), nezumi::task::yield_now()) });
/// let mut leaves = 0;
/// Trace::root(std::future::poll_fn(|cx| {
///     let polled = trace_with(|| both.as_mut().poll(cx), |_| leaves += 1);
///     assert!(polled.is_pending());
///     Poll::Ready(())
/// }))
/// .await;
/// assert_eq!(leaves, 1);
/// # }
/// ```
pub fn trace_with<FN, FT, R>(f: FN, mut trace_leaf: FT) -> R
where
    FN: FnOnce() -> R,
    FT: FnMut(&TraceMeta),
{
    let on_leaf: NonNull<dyn FnMut(&TraceMeta) + '_> = NonNull::from(&mut trace_leaf);
    // SAFETY: only the lifetime changes. The pointer stands in the thread's cell until `_put_back` is dropped, which happens before `trace_leaf` is.
    let on_leaf =
        unsafe { std::mem::transmute::<NonNull<dyn FnMut(&TraceMeta) + '_>, NonNull<OnLeaf>>(on_leaf) };
    // Where the thread-locals are gone there is no trace, and `f` runs all the same.
    let Ok(former) = ON_LEAF.try_with(|cell| cell.replace(Some(on_leaf))) else { return f() };
    let _put_back = PutBack(&ON_LEAF, former);
    coop::traced(f)
}

/// Whether this thread is in a trace.
#[inline]
#[must_use]
pub fn is_tracing() -> bool {
    ON_LEAF.try_with(Cell::get).is_ok_and(|on_leaf| on_leaf.is_some())
}

/// For leaves: `Pending`, within a trace, after calling back; else `Ready`.
///
/// For a future that spends no budget; [`poll_proceed`](coop::poll_proceed) does it for all others.
#[inline]
pub fn poll_leaf(cx: &mut Context<'_>) -> Poll<()> {
    if coop::is_traced() { trace_leaf(cx) } else { Poll::Ready(()) }
}

/// Within a trace, calls back, has the task woken later, and returns `Pending`. A function of its own, not inlined: it is known by its address.
#[cold]
#[inline(never)]
pub fn trace_leaf(cx: &mut Context<'_>) -> Poll<()> {
    let Some(mut on_leaf) = ON_LEAF.try_with(Cell::take).ok().flatten() else { return Poll::Ready(()) };
    let _put_back = PutBack(&ON_LEAF, Some(on_leaf));
    let meta = TraceMeta {
        root_addr: ROOT.try_with(Cell::get).ok().flatten(),
        trace_leaf_addr: trace_leaf as *const c_void,
    };
    // SAFETY: it stands in the cell only while `trace_with` keeps it, on this thread; and nobody else has it, since it was taken out.
    let on_leaf = unsafe { on_leaf.as_mut() };
    on_leaf(&meta);
    defer::defer(cx.waker());
    Poll::Pending
}

pin_project! {
    /// A future whose poll is the end of the stacks that are traced within it: frames further out are not recorded.
    ///
    /// Made by `Trace::root`. Roots may be nested; the innermost counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::runtime::dump::{Root, Trace};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// // Traces of what is in it go no further out.
    /// let request: Root<_> = Trace::root(async { 7 });
    /// assert_eq!(request.await, 7);
    /// # }
    /// ```
    #[derive(Clone, Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Root<T> {
        #[pin]
        future: T,
    }
}

impl<T> Root<T> {
    /// A root around `future`.
    pub fn new(future: T) -> Self {
        Self { future }
    }
}

impl<T: Future> Future for Root<T> {
    type Output = T::Output;

    // Not inlined: its frame is known by its address.
    #[inline(never)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T::Output> {
        let root = Self::poll as *const c_void;
        let _put_back =
            ROOT.try_with(|cell| cell.replace(Some(root))).ok().map(|former| PutBack(&ROOT, former));
        self.project().future.poll(cx)
    }
}

#[cfg(all(test, not(nezumi_loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;
    use std::task::{Waker, ready};

    /// A leaf that is ready.
    fn leaf(cx: &mut Context<'_>) -> Poll<()> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(())
    }

    #[test]
    fn a_leaf_calls_back_and_is_pending_whatever_the_budget_around_it() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut leaves = 0;
        trace_with(
            || {
                assert!(is_tracing() && leaf(&mut cx).is_pending() && poll_leaf(&mut cx).is_pending());
                assert!(coop::budget(|| leaf(&mut cx)).is_pending());
                assert!(coop::with_unconstrained(|| leaf(&mut cx)).is_pending());
                assert!(coop::has_budget_remaining() && coop::poll_budget_available(&mut cx).is_ready());
            },
            |meta| {
                assert!(meta.root_addr.is_none());
                leaves += 1;
            },
        );
        assert_eq!(leaves, 4);
        assert!(!is_tracing() && leaf(&mut cx).is_ready() && poll_leaf(&mut cx).is_ready());
    }

    #[test]
    fn the_callback_is_not_traced_itself_and_traces_nest() {
        let mut cx = Context::from_waker(Waker::noop());
        let (mut outer, mut inner) = (0, 0);
        trace_with(
            || {
                trace_with(|| assert!(leaf(&mut cx).is_pending()), |_| inner += 1);
                assert!(leaf(&mut cx).is_pending());
            },
            |_| {
                assert!(leaf(&mut Context::from_waker(Waker::noop())).is_ready());
                outer += 1;
            },
        );
        assert_eq!((outer, inner), (1, 1));
    }

    #[test]
    fn a_panic_in_the_traced_code_or_in_the_callback_ends_the_trace() {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(catch_unwind(|| trace_with(|| panic!("in the poll"), |_| {})).is_err());
        let in_callback =
            AssertUnwindSafe(|| trace_with(|| _ = leaf(&mut cx), |_| panic!("in the callback")));
        assert!(catch_unwind(in_callback).is_err());
        assert!(!is_tracing() && leaf(&mut Context::from_waker(Waker::noop())).is_ready());
    }

    #[test]
    fn the_innermost_root_counts_while_it_is_polled() {
        let mut cx = Context::from_waker(Waker::noop());
        let mut seen = Vec::new();
        let inner = pin!(Root::new(std::future::poll_fn(leaf)));
        let outer = Root::new(async {
            inner.await;
        });
        trace_with(
            || {
                assert!(pin!(outer).poll(&mut cx).is_pending());
                assert!(leaf(&mut cx).is_pending());
            },
            |meta| seen.push(meta.root_addr),
        );
        assert!(seen[0].is_some() && seen[1].is_none());
    }
}
