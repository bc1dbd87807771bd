//! What does a timeout cost that never fires?
//!
//! How the answer could mislead: one task does all of it, so nobody else wants the lock of its timers. The pending ones
//! lie in the wheel of whichever worker registered them, which need not be the one that churns. The budget is lifted,
//! because a poll without budget left would not register anything and be very cheap.

use std::pin::{Pin, pin};
use std::time::Duration;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::time::Sleep;

const SLEEPS: u64 = 100_000;

pub(crate) fn cases() -> Vec<Case> {
    let case = |pending| {
        let what = "a sleep is created, polled once and dropped";
        Case::new(16, "timer_churn", what, 4.0, move |setup| prepare(setup, pending))
    };
    vec![case(0).variant("0 pending"), case(100_000).variant("100k pending")]
}

pub(super) fn prepare(setup: &Setup, pending: u64) -> Round {
    let runtime = start::runtime(setup);
    let sleeps = setup.size(SLEEPS, 20_000, 1000);
    let mut pending = start::on_worker(&runtime, rt::task::unconstrained(sleep_many(pending)));
    Box::new(move || {
        start::on_worker(&runtime, rt::task::unconstrained(churn(sleeps)));
        // They belong to the round: without this they would be dropped before it.
        std::hint::black_box(&mut pending);
        Done::ops(sleeps)
    })
}

/// Deadlines a minute away and further, each a millisecond after the last.
async fn sleep_many(count: u64) -> Vec<Pin<Box<Sleep>>> {
    let mut pending = Vec::new();
    for i in 0..count {
        let mut sleep = Box::pin(rt::time::sleep(Duration::from_millis(60_000 + i)));
        poll_once(sleep.as_mut()).await;
        pending.push(sleep);
    }
    pending
}

async fn churn(count: u64) {
    for i in 0..count {
        // Not always the same slot of the wheel.
        let sleep = pin!(rt::time::sleep(Duration::from_millis(30_000 + i % 1024)));
        poll_once(sleep).await;
    }
}

async fn poll_once(mut sleep: Pin<&mut Sleep>) {
    std::future::poll_fn(|cx| {
        assert!(sleep.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
}
