//! What a stack looked like where a future waits: taken as addresses, named only when somebody reads it.
//!
//! Called by the program (`Trace::capture`, `Trace::root`), by `session` (polls that are traced) and by `native` (stacks of threads that are stuck). The
//! naming is `symbol`'s, the printing `tree`'s.

use super::symbol::{Backtrace, BacktraceFrame};
use super::tree::Tree;
use nezumi_wake::leaf::{Root, TraceMeta, trace_with};
use std::fmt;
use std::future::Future;

/// One frame of a stack: the address that goes on when it is returned to, and where its function begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) ip: usize,
    pub(super) function: usize,
}

/// One stack, innermost frame first.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    pub(super) frames: Box<[Frame]>,
    /// Its last frame is a root's. Else those of the scheduler are the last. `symbol` leaves these out, but not what was inlined in them.
    pub(super) is_rooted: bool,
}

/// Where a future waits, or what a thread is at: one stack for each future of the runtime at which a poll has come to its end, or the one of the thread.
///
/// Shown by `Display` as a tree, outermost function first. Addresses become names only then, or in
/// [`resolve_backtraces`](Self::resolve_backtraces): that reads the program's debug information, takes 100 ms and more the first time, and does not belong
/// on a worker (`spawn_blocking` is the place for it). Without the feature `taskdump` no stacks are taken, and nothing is shown.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::dump::Trace;
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut waits = Box::pin(nezumi::task::yield_now());
/// let trace = Trace::root(poll_fn(|cx| {
///     let (polled, trace) = Trace::capture(|| waits.as_mut().poll(cx));
///     assert!(polled.is_pending());
///     Poll::Ready(trace)
/// }))
/// .await;
/// println!("{trace}");
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    pub(super) stacks: Vec<Stack>,
}

impl Trace {
    pub(super) fn empty() -> Self {
        Self { stacks: Vec::new() }
    }

    /// Runs `f`, usually the poll of a future, so that each future of the runtime which it reaches tells where it is, answers `Pending`, and has its task
    /// woken after the next driver turn. Returns what `f` returned, and the trace.
    ///
    /// The future has to be polled again outside of a trace to go on; one that is traced at each poll never does. A `capture` within another takes what it
    /// reaches away from the outer one.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::runtime::dump::Trace;
    /// use std::future::{Future, poll_fn};
    /// use std::pin::pin;
    /// use std::task::Poll;
    ///
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let mut work = pin!(async {
    ///     nezumi::task::yield_now().await;
    ///     7
    /// });
    /// let trace = Trace::root(poll_fn(|cx| {
    ///     let (polled, trace) = Trace::capture(|| work.as_mut().poll(cx));
    ///     assert!(polled.is_pending());
    ///     Poll::Ready(trace)
    /// }))
    /// .await;
    /// println!("it waits here:\n{trace}");
    /// assert_eq!(work.await, 7);
    /// # }
    /// ```
    pub fn capture<F, R>(f: F) -> (R, Trace)
    where
        F: FnOnce() -> R,
    {
        let mut trace = Trace::empty();
        let result = trace_with(f, |meta| trace.stacks.extend(stack_at_leaf(meta)));
        (result, trace)
    }

    /// A future around `future` at which the stacks end that are captured within it. Without one they go on outwards, to where the scheduler begins.
    pub fn root<F>(future: F) -> Root<F>
    where
        F: Future,
    {
        Root::new(future)
    }

    /// The stacks, with names and places in the source: one for each future of the runtime at which the poll came to its end, as in a
    /// `join!` that waits for several.
    #[must_use]
    pub fn resolve_backtraces(&self) -> Vec<Backtrace> {
        self.stacks.iter().map(Backtrace::of).collect()
    }

    /// Whether there are no stacks in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backtraces = self.resolve_backtraces();
        let mut tree = Tree::default();
        for backtrace in &backtraces {
            let frames: Vec<_> = backtrace.frames().collect();
            let symbols = frames.into_iter().rev().flat_map(BacktraceFrame::symbols_outwards_in);
            tree.add(symbols.map(ToString::to_string));
        }
        tree.fmt(f)
    }
}

#[cfg(feature = "taskdump")]
fn stack_at_leaf(meta: &TraceMeta) -> Option<Stack> {
    let mut frames = Vec::new();
    let mut is_rooted = false;
    walk(|frame| {
        let function = frame.symbol_address();
        is_rooted = meta.root_addr.is_some_and(|root| root == function.cast_const());
        frames.push(Frame { ip: frame.ip().addr(), function: function.addr() });
        if function.cast_const() == meta.trace_leaf_addr {
            // What was further in is the work of looking.
            frames.clear();
        }
        !is_rooted
    });
    Some(Stack { frames: frames.into(), is_rooted })
}

/// Walks the stack of this thread, innermost frame first, until `each` says that it is enough.
#[cfg(feature = "taskdump")]
fn walk(each: impl FnMut(&backtrace::Frame) -> bool) {
    // The usual way waits for a lock that is held while somebody looks names up, which may take seconds; and this is a worker.
    // SAFETY: to walk needs a lock where the system's library for it does (Windows). The unwinder, which is all that is used elsewhere, may run on several
    // threads at once, as it does when several of them panic.
    #[cfg(unix)]
    unsafe {
        backtrace::trace_unsynchronized(each);
    }
    #[cfg(not(unix))]
    backtrace::trace(each);
}

#[cfg(not(feature = "taskdump"))]
fn stack_at_leaf(_meta: &TraceMeta) -> Option<Stack> {
    None
}
