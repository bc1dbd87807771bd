//! The clock stands, and moves by hand or by itself.

use super::{Wakes, ms, paused, poll_here, poll_once, single};
use nezumi_core::runtime::Builder;
use nezumi_core::spawn::{spawn, spawn_blocking, yield_now};
use nezumi_core::time::{Duration, Instant, advance, pause, resume, sleep, sleep_until};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Context;

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[test]
fn sleeping_takes_exactly_its_time() {
    paused(async {
        for duration in
            [0, 1, 10, 60, 63, 64, 65, 100, 4095, 4096, 4097, 262_144, 1 << 36, (1 << 39) + 1].map(ms)
        {
            let start = Instant::now();
            sleep(duration).await;
            assert_eq!(start.elapsed(), duration);
        }
    });
}

#[test]
fn sleeping_is_rounded_up_to_a_millisecond() {
    paused(async {
        for (micros, whole) in [(1, 1), (999, 1), (1000, 1), (1001, 2)] {
            let start = Instant::now();
            sleep(Duration::from_micros(micros)).await;
            assert_eq!(start.elapsed(), ms(whole));
        }
        advance(Duration::from_micros(300)).await;
        let start = Instant::now();
        sleep(ms(1)).await;
        assert!(start.elapsed() >= ms(1) && start.elapsed() <= ms(2));
    });
}

#[test]
fn a_century_passes() {
    paused(async {
        let start = Instant::now();
        for _ in 0..20 {
            sleep(5 * YEAR).await;
        }
        assert_eq!(start.elapsed(), 100 * YEAR);
        // A short one beside a far one still comes in time.
        let _far = poll_here(pin!(sleep(30 * YEAR))).await;
        let start = Instant::now();
        sleep(ms(10)).await;
        assert_eq!(start.elapsed(), ms(10));
    });
}

#[test]
fn the_longest_sleep_is_thirty_years() {
    paused(async {
        let start = Instant::now();
        for duration in [Duration::MAX, Duration::MAX - ms(1), Duration::from_secs(u64::MAX / 10)] {
            assert_eq!(sleep(duration).deadline() - start, 30 * YEAR);
        }
        sleep(Duration::MAX).await;
        assert_eq!(start.elapsed(), 30 * YEAR);
    });
}

#[test]
fn an_instant_at_the_end_of_the_clock_is_a_deadline() {
    paused(async {
        let mut far = Instant::now();
        for bit in (0..63).rev() {
            far = far.checked_add(Duration::from_secs(1 << bit)).unwrap_or(far);
        }
        let mut end = pin!(sleep_until(far));
        assert!(poll_here(end.as_mut()).await.is_pending());
        end.as_mut().reset(far);
        sleep(ms(10)).await;
        assert!(poll_here(end).await.is_pending());
    });
}

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    paused(async {
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..1000u64)
            .map(|n| {
                let (order, at) = (order.clone(), n * 7919 % 5003);
                spawn(async move {
                    sleep(ms(at)).await;
                    order.lock().unwrap().push(at);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.lock().unwrap();
        assert!(order.len() == 1000 && order.is_sorted(), "{order:?}");
    });
}

#[test]
fn the_same_run_twice() {
    let run = || {
        paused(async {
            let start = Instant::now();
            let mut times = Vec::new();
            for n in 0..1000u64 {
                sleep(Duration::from_nanos(n * 0x9E37_79B9 % 1_000_000_000)).await;
                times.push(start.elapsed());
            }
            times
        })
    };
    assert_eq!(run(), run());
}

#[test]
fn now_stands_still() {
    paused(async {
        let start = Instant::now();
        for _ in 0..3 {
            std::thread::sleep(ms(1));
            yield_now().await;
            assert_eq!(Instant::now(), start);
        }
        resume();
        std::thread::sleep(ms(1));
        assert!(Instant::now() >= start + ms(1));
        pause();
        assert_eq!(Instant::now(), Instant::now());
    });
}

#[test]
fn advance_moves_by_what_it_is_told() {
    paused(async {
        for micros in [1, 250, 51_592, 1000, 3_141_592] {
            let start = Instant::now();
            advance(Duration::from_micros(micros)).await;
            assert_eq!(start.elapsed(), Duration::from_micros(micros));
        }
    });
}

#[test]
fn advance_wakes_what_it_passes_and_nothing_else() {
    paused(async {
        let ((early, early_waker), (late, late_waker)) = (Wakes::new(), Wakes::new());
        let (mut first, mut second) = (pin!(sleep(ms(1))), pin!(sleep(ms(300))));
        assert!(first.as_mut().poll(&mut Context::from_waker(&early_waker)).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&late_waker)).is_pending());
        for _ in 0..3 {
            advance(Duration::from_micros(250)).await;
            assert_eq!(early.count(), 0);
        }
        advance(Duration::from_micros(250)).await;
        assert_eq!((early.count(), late.count()), (1, 0));
        assert!(poll_once(first).is_ready());
        assert!(poll_once(second).is_pending());
    });
}

#[test]
fn a_deadline_that_was_passed_is_ready_at_the_first_poll() {
    paused(async {
        let now = Instant::now();
        assert!(poll_once(pin!(sleep_until(now))).is_ready());
        advance(ms(100)).await;
        assert!(poll_once(pin!(sleep_until(now + ms(99)))).is_ready());
        assert!(poll_once(pin!(sleep_until(now + ms(100)))).is_ready());
        assert!(poll_once(pin!(sleep_until(now + ms(101)))).is_pending());
    });
    single().block_on(async {
        // Stopped at any fraction of a millisecond.
        pause();
        let now = Instant::now();
        advance(ms(1)).await;
        assert!(poll_once(pin!(sleep_until(now))).is_ready());
    });
}

#[test]
fn a_blocking_task_keeps_the_clock_from_moving_by_itself() {
    paused(async {
        let start = Instant::now();
        let sleeper = spawn(async move {
            sleep(ms(1)).await;
            Instant::now()
        });
        let value = spawn_blocking(|| {
            std::thread::sleep(ms(20));
            7
        })
        .await
        .unwrap();
        assert_eq!((value, start.elapsed()), (7, Duration::ZERO));
        assert_eq!(sleeper.await.unwrap() - start, ms(1));
    });
}

#[test]
fn the_clock_does_not_move_while_something_can_run() {
    paused(async {
        let start = Instant::now();
        let sleeper = spawn(sleep(ms(1)));
        for _ in 0..1000 {
            yield_now().await;
            assert_eq!(start.elapsed(), Duration::ZERO);
        }
        sleeper.await.unwrap();
        assert_eq!(start.elapsed(), ms(1));
    });
}

#[test]
fn a_sleep_keeps_the_clock_of_its_own_runtime() {
    let build = || Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (old, new) = (build(), build());
    let start = old.block_on(async { Instant::now() });
    let mut timer = {
        let _guard = old.enter();
        Box::pin(sleep(ms(5)))
    };
    assert!(poll_once(timer.as_mut()).is_pending());
    // The clock of the runtime in which it is reset does not matter.
    new.block_on(async {
        advance(ms(1000)).await;
        timer.as_mut().reset(start + ms(7));
        assert!(poll_once(timer.as_mut()).is_pending());
    });
    old.block_on(timer);
    old.block_on(async { assert_eq!(Instant::now() - start, ms(7)) });
}

#[test]
fn is_elapsed_after_the_end_and_not_before_the_first_poll() {
    paused(async {
        let mut timer = pin!(sleep_until(Instant::now()));
        assert!(!timer.is_elapsed());
        timer.as_mut().await;
        assert!(timer.is_elapsed());

        let mut timer = pin!(sleep(ms(10)));
        assert!(!timer.is_elapsed());
        assert!(poll_once(timer.as_mut()).is_pending());
        assert!(!timer.is_elapsed());
        advance(ms(10)).await;
        assert!(timer.is_elapsed());
    });
}
