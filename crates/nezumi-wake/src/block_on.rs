use crate::coop;
use nezumi_prim::Parker;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

struct Unpark(Parker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs `future` on this thread, which sleeps while the future waits. No runtime is needed, nor entered.
///
/// The caller has asked [`entered::assert_may_block`](crate::entered::assert_may_block) where that matters.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match run(future, None) {
        Some(output) => output,
        None => unreachable!("a wait without a deadline does not time out"),
    }
}

/// Like [`block_on`], for `timeout` at the most; `None` when the time ran out first.
pub fn block_on_timeout<F: Future>(future: F, timeout: Duration) -> Option<F::Output> {
    // A deadline past the clock's range is none.
    match Instant::now().checked_add(timeout) {
        Some(deadline) => run(future, Some(deadline)),
        None => run(future, None),
    }
}

fn run<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark(Parker::new()));
    let waker = Waker::from(Arc::clone(&unpark));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = coop::budget(|| future.as_mut().poll(&mut cx)) {
            return Some(output);
        }
        match deadline {
            None => unpark.0.park(),
            Some(deadline) => {
                let rest = deadline.saturating_duration_since(Instant::now());
                if rest.is_zero() {
                    return None;
                }
                unpark.0.park_timeout(rest);
            }
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::future::{pending, poll_fn, ready};

    #[test]
    fn a_wake_from_another_thread_ends_the_wait() {
        let mut first = true;
        let value = block_on(poll_fn(|cx| {
            if std::mem::take(&mut first) {
                let waker = cx.waker().clone();
                std::thread::spawn(move || waker.wake());
                Poll::Pending
            } else {
                Poll::Ready(7)
            }
        }));
        assert_eq!(value, 7);
    }

    #[test]
    fn time_runs_out() {
        assert_eq!(block_on_timeout(pending::<()>(), Duration::from_millis(1)), None);
        assert_eq!(block_on_timeout(ready(1), Duration::ZERO), Some(1));
        assert_eq!(block_on_timeout(ready(1), Duration::MAX), Some(1));
    }
}
