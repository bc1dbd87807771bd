//! A wait that gives up.

use nezumi_wake::coop;
use nezumi_wake::sleep::{Sleep, assert_may_sleep, sleep};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// The output of `future`, or `None` if it is not there after `timeout`. No timer is made for a future that is ready at once; but
/// that one could be is asked of every call, so that a program does not find out only under load.
pub(super) async fn within<F: Future>(timeout: Duration, future: F) -> Option<F::Output> {
    assert_may_sleep();
    let mut future = pin!(future);
    let mut timer: Option<Sleep> = None;
    poll_fn(|cx| {
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        let timer = timer.get_or_insert_with(|| sleep(timeout)).as_mut();
        let over = if had_budget && !coop::has_budget_remaining() {
            // The future used the budget up. The time runs out all the same.
            coop::with_unconstrained(|| timer.poll(cx))
        } else {
            timer.poll(cx)
        };
        over.map(|()| None)
    })
    .await
}
