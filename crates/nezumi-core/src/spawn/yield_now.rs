//! `yield_now`.

use nezumi_wake::{defer, leaf};
use std::future::poll_fn;
use std::task::{Poll, ready};

/// Lets the other tasks of this worker, and the I/O driver, have a turn before the caller goes on.
///
/// # Cancel safety
///
/// Nothing is lost when it is dropped.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// for chunk in [[1u64; 1000], [2; 1000]] {
///     println!("{}", chunk.iter().sum::<u64>());
///     nezumi::task::yield_now().await;
/// }
/// # }
/// ```
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        ready!(leaf::poll_leaf(cx));
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        defer::defer(cx.waker());
        Poll::Pending
    })
    .await;
}
