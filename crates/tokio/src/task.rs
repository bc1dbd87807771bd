//! Tasks: what the runtime schedules. See [`nezumi::task`].
//!
//! This module is there only with the feature `taskdump`, for those who read the stacks of waiting tasks: in Tokio's, `yield_now` has a frame of this crate.

pub use self::yield_now::yield_now;
pub use nezumi::task::*;

mod yield_now {
    use nezumi::runtime::{Handle, dump};
    use std::future::poll_fn;
    use std::task::{Poll, ready};

    /// Lets other tasks, and the I/O driver, have a turn. See [`nezumi::task::yield_now`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub async fn yield_now() {
        let mut yielded = false;
        poll_fn(|cx| {
            if Handle::is_tracing() {
                ready!(dump::trace_leaf(cx));
            }
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            dump::defer(cx.waker());
            Poll::Pending
        })
        .await;
    }
}
