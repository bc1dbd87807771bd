//! The budget of things that never wait.

use nezumi_wake::coop;
use std::task::{Context, Poll, ready};

/// Spends one unit of the task's budget. `Pending` if there is none left; the task is woken when there is again.
///
/// What is always ready asks this first: a task that does nothing else would never let others run.
#[inline]
pub(crate) fn poll_spend(cx: &mut Context<'_>) -> Poll<()> {
    ready!(coop::poll_proceed(cx)).made_progress();
    Poll::Ready(())
}
