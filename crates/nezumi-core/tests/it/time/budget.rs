//! What timers cost of a task's budget.

use super::{ms, paused, poll_here};
use nezumi_core::time::{Instant, sleep, sleep_until};
use nezumi_wake::coop;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

#[test]
fn a_ready_timer_costs_one_and_a_pending_one_nothing() {
    paused(async {
        let now = Instant::now();
        nezumi_core::spawn::yield_now().await;
        let mut waiting = pin!(sleep(ms(1000)));
        let mut ready = 0;
        loop {
            assert!(poll_here(waiting.as_mut()).await.is_pending());
            if poll_here(pin!(sleep_until(now))).await.is_pending() {
                break;
            }
            ready += 1;
        }
        assert_eq!(ready, 128);
        assert!(!coop::has_budget_remaining());
        // Without a budget it is ready.
        coop::unconstrained(sleep_until(now)).await;
    });
}

#[test]
fn the_yield_that_a_spent_budget_forces_is_woken_at_once() {
    paused(async {
        let now = Instant::now();
        for _ in 0..1000 {
            sleep_until(now).await;
        }
        assert_eq!(Instant::now(), now, "nothing had to wait for the clock");
        poll_fn(|_| Poll::Ready(())).await;
    });
}
