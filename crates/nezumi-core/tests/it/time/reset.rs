//! New deadlines, before and after the old ones.

use super::{Wakes, ms, paused, poll_once};
use nezumi_core::time::{Instant, Sleep, advance, sleep, sleep_until};
use std::pin::{Pin, pin};
use std::task::Context;

/// Where the timer stands when it is reset.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    NeverPolled,
    Pending,
    Completed,
}

/// Waits for a timer that was set to `before` ms and reset to `after` ms, and says how long that took in all.
fn check(stage: Stage, before: u64, after: u64) -> u128 {
    paused(async {
        let start = Instant::now();
        let mut timer = pin!(sleep(ms(before)));
        match stage {
            Stage::NeverPolled => {}
            Stage::Pending => assert!(poll_once(timer.as_mut()).is_pending()),
            Stage::Completed => timer.as_mut().await,
        }
        timer.as_mut().reset(start + ms(after));
        assert_eq!(timer.deadline(), start + ms(after));
        assert_eq!(timer.is_elapsed(), start + ms(after) <= Instant::now(), "{stage:?}");
        timer.await;
        start.elapsed().as_millis()
    })
}

#[test]
fn a_timer_ends_at_its_latest_deadline() {
    for stage in [Stage::NeverPolled, Stage::Pending] {
        for after in [1, 20, 80, 100, 101, 200, 5000, 1 << 37] {
            assert_eq!(check(stage, 100, after), after.into());
        }
    }
    for after in [101, 200, 5000, 1 << 37] {
        assert_eq!(check(Stage::Completed, 100, after), after.into());
    }
    assert_eq!(check(Stage::Completed, 100, 50), 100);
}

#[test]
fn to_the_past_is_ready_and_wakes() {
    paused(async {
        let start = Instant::now();
        let (wakes, waker) = Wakes::new();
        let mut timer = pin!(sleep_until(start + ms(100)));
        assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        sleep(ms(50)).await;
        assert_eq!(wakes.count(), 0);
        timer.as_mut().reset(start + ms(40));
        assert_eq!(wakes.count(), 1);
        assert!(timer.is_elapsed());
        assert!(poll_once(timer).is_ready());
    });
}

#[test]
fn pushed_out_it_wakes_once_and_not_before() {
    paused(async {
        let start = Instant::now();
        let (wakes, waker) = Wakes::new();
        let mut timer = pin!(sleep_until(start + ms(10)));
        assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // Never polled again, as an idle timeout is not.
        for n in 1..=50 {
            advance(ms(9)).await;
            timer.as_mut().reset(start + ms(9 * n + 10));
        }
        assert_eq!(wakes.count(), 0);
        sleep(ms(20)).await;
        assert_eq!(wakes.count(), 1);
    });
}

#[test]
fn without_a_poll_it_elapses_all_the_same() {
    paused(async {
        let mut timer = pin!(sleep(ms(10)));
        timer.as_mut().reset(Instant::now() + ms(5));
        assert!(!timer.is_elapsed());
        advance(ms(4)).await;
        assert!(!timer.is_elapsed());
        advance(ms(1)).await;
        assert!(timer.is_elapsed());
        assert!(poll_once(timer).is_ready());
    });
}

#[test]
fn a_completed_timer_stays_completed_until_it_is_reset() {
    paused(async {
        let mut timer = pin!(sleep(ms(1)));
        timer.as_mut().await;
        for _ in 0..3 {
            assert!(poll_once(timer.as_mut()).is_ready());
        }
        timer.as_mut().reset(Instant::now() + ms(600_000));
        for _ in 0..3 {
            assert!(poll_once(timer.as_mut()).is_pending());
        }
    });
}

#[test]
fn dropped_at_every_stage_it_leaves_nothing_behind() {
    type Step = fn(Pin<&mut Sleep>, Instant);
    let poll: Step = |timer, _| {
        let _ = poll_once(timer);
    };
    let sooner: Step = |timer, start| timer.reset(start + ms(5));
    let later: Step = |timer, start| timer.reset(start + ms(500));
    let steps = [poll, sooner, later];
    paused(async move {
        let start = Instant::now();
        let others: Vec<_> = (0..10).map(|n| Box::pin(sleep(ms(5 + n)))).collect();
        let mut others = others;
        others.iter_mut().for_each(|other| assert!(poll_once(other.as_mut()).is_pending()));
        // Every sequence of three steps.
        for code in 0..27 {
            let mut timer = Box::pin(sleep(ms(7)));
            for digit in [code % 3, code / 3 % 3, code / 9] {
                steps[digit](timer.as_mut(), start);
            }
        }
        drop(others);
        assert_eq!(live(), 0);
        sleep(ms(1000)).await;
        assert_eq!(start.elapsed(), ms(1000));
    });
}

/// How many timers of this thread's shard are pending.
fn live() -> usize {
    nezumi_core::scheduler::Home::current().unwrap().timers().live()
}
