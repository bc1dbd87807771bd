//! One tick after another.

use super::{ms, paused, poll_here, single};
use nezumi_core::time::{
    Duration, Instant, Interval, MissedTickBehavior, advance, interval, interval_at, sleep,
};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Takes all ticks that are due, and returns at how many ms after `start` they were.
async fn due(interval: &mut Interval, start: Instant) -> Vec<u128> {
    let mut ticks = Vec::new();
    while let Poll::Ready(tick) = poll_fn(|cx| Poll::Ready(interval.poll_tick(cx))).await {
        ticks.push((tick - start).as_millis());
    }
    ticks
}

/// Goes through the story in the docs of `MissedTickBehavior`: 10 ms, ticks at 0 and 10 in time, the third at 47.
fn check(behavior: MissedTickBehavior, at_47: &[u128], later: &[(u64, u128)]) {
    paused(async {
        let start = Instant::now();
        let mut interval = interval(ms(10));
        interval.set_missed_tick_behavior(behavior);
        assert_eq!(interval.missed_tick_behavior(), behavior);
        assert_eq!(due(&mut interval, start).await, [0]);
        advance(ms(10)).await;
        assert_eq!(due(&mut interval, start).await, [10]);
        advance(ms(37)).await;
        assert_eq!(due(&mut interval, start).await, at_47);
        for (now, tick) in later {
            advance(start + ms(*now) - Instant::now()).await;
            assert_eq!(due(&mut interval, start).await, [*tick], "at {now}");
        }
    });
}

#[test]
fn missed_ticks_follow_in_a_burst() {
    check(MissedTickBehavior::Burst, &[20, 30, 40], &[(50, 50), (60, 60), (73, 70)]);
}

#[test]
fn missed_ticks_delay_the_rest() {
    check(MissedTickBehavior::Delay, &[20], &[(57, 57), (67, 67), (80, 77), (87, 87)]);
}

#[test]
fn missed_ticks_are_skipped() {
    check(MissedTickBehavior::Skip, &[20], &[(50, 50), (60, 60), (73, 70), (80, 80)]);
}

#[test]
fn a_tick_up_to_5_ms_late_is_not_missed() {
    for behavior in [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip] {
        paused(async {
            let start = Instant::now();
            let mut interval = interval(ms(10));
            interval.set_missed_tick_behavior(behavior);
            interval.tick().await;
            advance(ms(15)).await;
            assert_eq!(due(&mut interval, start).await, [10]);
            assert_eq!(interval.tick().await, start + ms(20));
            assert_eq!(start.elapsed(), ms(20));
        });
    }
}

#[test]
fn resets_say_when_the_next_tick_is() {
    type Reset = fn(&mut Interval);
    let resets: [(Reset, u64); 5] = [
        (|interval| interval.reset(), 150),
        (|interval| interval.reset_immediately(), 50),
        (|interval| interval.reset_after(ms(20)), 70),
        (|interval| interval.reset_at(Instant::now() + ms(30)), 80),
        (|interval| interval.reset_at(Instant::now() + ms(1000)), 1050),
    ];
    for (reset, next) in resets {
        for polled in [false, true] {
            paused(async {
                let start = Instant::now();
                let mut interval = interval(ms(100));
                interval.tick().await;
                if polled {
                    assert!(poll_here(pin!(interval.tick())).await.is_pending());
                }
                sleep(ms(50)).await;
                reset(&mut interval);
                assert_eq!(interval.tick().await, start + ms(next));
                assert_eq!(interval.tick().await, start + ms(next + 100));
                assert_eq!(start.elapsed(), ms(next + 100));
            });
        }
    }
}

#[test]
fn a_dropped_tick_takes_none() {
    paused(async {
        let start = Instant::now();
        let mut interval = interval_at(start + ms(5), ms(10));
        for _ in 0..10 {
            assert!(poll_here(pin!(interval.tick())).await.is_pending());
        }
        assert_eq!(interval.tick().await, start + ms(5));
        assert_eq!(interval.tick().await, start + ms(15));
    });
}

#[test]
fn a_ready_tick_wakes_nobody_again() {
    paused(async {
        let mut interval = interval(ms(10));
        let mut polls = 0;
        let waited = nezumi_core::time::timeout(
            ms(1000),
            poll_fn(|cx| {
                polls += 1;
                // Taken, but not asked for the next one.
                let _ = interval.poll_tick(cx);
                Poll::<()>::Pending
            }),
        );
        waited.await.unwrap_err();
        assert_eq!(polls, 2, "the first poll, and the timeout's");
    });
}

#[test]
fn the_longest_period() {
    single().block_on(async {
        let mut interval = interval(Duration::MAX);
        assert!(interval.period() > Duration::from_secs(1 << 29));
        interval.tick().await;
        interval.reset();
        interval.reset_after(Duration::MAX);
        assert!(poll_here(pin!(interval.tick())).await.is_pending());
    });
}
