//! A limit for other futures.

use super::{Wakes, ms, paused, poll_here, poll_once, single};
use nezumi_core::time::{Duration, Instant, advance, sleep, timeout, timeout_at};
use nezumi_wake::coop;
use std::future::{Future, pending, poll_fn, ready};
use std::pin::pin;
use std::task::{Context, Poll};

#[test]
fn whoever_is_first() {
    paused(async {
        let start = Instant::now();
        assert_eq!(timeout(ms(10), async { 7 }).await, Ok(7));
        assert_eq!(timeout(ms(10), sleep(ms(5))).await, Ok(()));
        assert_eq!(start.elapsed(), ms(5));
        timeout(ms(10), pending::<()>()).await.unwrap_err();
        assert_eq!(start.elapsed(), ms(15));
        timeout_at(start + ms(20), pending::<()>()).await.unwrap_err();
        assert_eq!(start.elapsed(), ms(20));
        let error = timeout(ms(1), pending::<()>()).await.unwrap_err();
        assert_eq!(error.to_string(), "deadline has elapsed");
    });
}

#[test]
fn a_ready_future_is_never_timed_out() {
    paused(async {
        advance(ms(1000)).await;
        let past = Instant::now() - ms(500);
        assert!(poll_once(pin!(timeout_at(past, async {}))).ready_and(Result::is_ok));
        assert!(poll_once(pin!(timeout(Duration::ZERO, async {}))).ready_and(Result::is_ok));
        assert!(poll_once(pin!(timeout_at(past, pending::<()>()))).ready_and(Result::is_err));
    });
}

trait ReadyAnd<T> {
    fn ready_and(self, f: impl FnOnce(&T) -> bool) -> bool;
}

impl<T> ReadyAnd<T> for Poll<T> {
    fn ready_and(self, f: impl FnOnce(&T) -> bool) -> bool {
        match self {
            Poll::Ready(value) => f(&value),
            Poll::Pending => false,
        }
    }
}

#[test]
fn the_end_of_time_is_no_limit() {
    paused(async {
        let mut endless = pin!(timeout(Duration::MAX, pending::<()>()));
        assert!(poll_here(endless.as_mut()).await.is_pending());
        advance(Duration::from_secs(86_400 * 365 * 10)).await;
        assert!(poll_here(endless).await.is_pending());
        assert_eq!(timeout(Duration::MAX, ready(1)).await, Ok(1));
    });
}

#[test]
fn it_is_woken_at_the_deadline() {
    paused(async {
        let (wakes, waker) = Wakes::new();
        let mut limited = pin!(timeout(ms(300), pending::<()>()));
        assert!(limited.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        advance(ms(299)).await;
        assert_eq!(wakes.count(), 0);
        advance(ms(1)).await;
        assert_eq!(wakes.count(), 1);
        assert!(poll_once(limited).ready_and(Result::is_err));
    });
}

#[test]
fn the_future_can_be_reached_and_taken_back() {
    paused(async {
        let mut limited = timeout(ms(1), ready(7));
        let _: &std::future::Ready<i32> = limited.get_ref();
        *limited.get_mut() = ready(8);
        assert_eq!(limited.into_inner().await, 8);
    });
}

/// A future that uses the budget up by itself, each time, must not hide the clock.
#[test]
fn a_greedy_future_is_timed_out() {
    single().block_on(async {
        let greedy = poll_fn(|cx| {
            while let Poll::Ready(coop) = coop::poll_proceed(cx) {
                coop.made_progress();
            }
            Poll::<()>::Pending
        });
        timeout(ms(5), greedy).await.unwrap_err();
    });
}
