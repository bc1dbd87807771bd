//! The one thing here that needs a clock: a send that gives up.
//!
//! This crate knows no runtime. The runtime leaves here how to sleep, when the first one is built.

use nezumi_wake::coop;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::Poll;
use std::time::Duration;

/// A future that completes when a time has passed.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

static SLEEP: OnceLock<fn(Duration) -> Sleep> = OnceLock::new();

/// Says how to sleep. The first call counts.
#[doc(hidden)]
pub fn set_sleep(sleep: fn(Duration) -> Sleep) {
    let _ = SLEEP.set(sleep);
}

/// The output of `future`, or `None` if it is not there after `timeout`. No timer is made for a future that is ready at once.
pub(super) async fn within<F: Future>(timeout: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut sleep: Option<Sleep> = None;
    poll_fn(|cx| {
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        let sleep = sleep.get_or_insert_with(|| start(timeout));
        let poll = if had_budget && !coop::has_budget_remaining() {
            // The future used the budget up. The time runs out all the same.
            coop::with_unconstrained(|| sleep.as_mut().poll(cx))
        } else {
            sleep.as_mut().poll(cx)
        };
        poll.map(|()| None)
    })
    .await
}

fn start(timeout: Duration) -> Sleep {
    match SLEEP.get() {
        Some(sleep) => sleep(timeout),
        None => panic!(
            "there is no timer running, must be called from the context of a Tokio 1.x runtime: build a runtime first, \
             with time enabled"
        ),
    }
}
