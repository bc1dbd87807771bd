//! Real threads and the real clock.

use super::{each_kind, ms, poll_here, poll_once, single, workers};
use nezumi_core::runtime::Runtime;
use nezumi_core::scheduler::Home;
use nezumi_core::spawn::{spawn, yield_now};
use nezumi_core::time::{Duration, Instant, sleep, sleep_until, timeout};
use std::future::pending;
use std::pin::pin;
use std::sync::mpsc;

/// Far more than any of these tests should take: what takes longer hangs.
const HANGS: Duration = Duration::from_secs(20);

#[test]
fn never_early_on_any_runtime() {
    for runtime in each_kind() {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..500u64)
                .map(|n| {
                    spawn(async move {
                        let deadline = Instant::now() + Duration::from_micros(n * 7919 % 20_000);
                        sleep_until(deadline).await;
                        assert!(Instant::now() >= deadline);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

#[test]
fn short_sleeps_do_not_hang() {
    for runtime in each_kind() {
        runtime.block_on(async {
            for n in 0..100 {
                sleep(Duration::from_micros(n % 3)).await;
            }
        });
    }
}

/// The worker sleeps on a far timer when a near one comes, from another thread.
#[test]
fn an_earlier_timer_shortens_the_sleep() {
    for runtime in each_kind() {
        let handle = runtime.handle().clone();
        let (armed, is_armed) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let far = spawn(sleep(Duration::from_secs(3600)));
                yield_now().await;
                armed.send(()).unwrap();
                let _ = timeout(HANGS, far).await;
            });
        });
        is_armed.recv().unwrap();
        for n in 0..50 {
            // Now and then while it falls asleep, as a rule when it has.
            std::thread::sleep(Duration::from_micros(n * 37));
            let ended = ended.clone();
            let start = Instant::now();
            handle.spawn(async move {
                sleep(ms(1)).await;
                ended.send(start.elapsed()).unwrap();
            });
            has_ended.recv_timeout(HANGS).expect("the worker slept past the timer");
        }
    }
}

/// A timer made inside the runtime, polled and waited for by a thread that is no worker.
#[test]
fn a_foreign_executor_may_wait() {
    for runtime in [workers(1), workers(2)] {
        let _guard = runtime.enter();
        let start = Instant::now();
        nezumi_wake::block_on(async {
            sleep(ms(5)).await;
            for _ in 0..20 {
                timeout(ms(1), pending::<()>()).await.unwrap_err();
            }
        });
        assert!(start.elapsed() >= ms(25));
    }
}

#[test]
fn a_hundred_thousand_timers() {
    for (runtime, count) in [(single(), 20_000u64), (workers(2), 100_000)] {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..count)
                .map(|n| {
                    spawn(async move {
                        let deadline = Instant::now() + ms(n * 31 % 300);
                        sleep_until(deadline).await;
                        assert!(Instant::now() >= deadline);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(live(&runtime), 0);
    }
}

#[test]
fn dropped_timers_are_gone_from_every_shard() {
    let runtime = workers(4);
    runtime.block_on(async {
        let tasks: Vec<_> = (0..1000u64)
            .map(|n| {
                spawn(async move {
                    for round in 0..10 {
                        // Armed on one worker and, as the task may be stolen meanwhile, dropped on another.
                        let mut timer = pin!(sleep(Duration::from_secs(30 + n + round)));
                        assert!(poll_here(timer.as_mut()).await.is_pending());
                        yield_now().await;
                        if round % 3 == 0 {
                            timer.as_mut().reset(Instant::now() + Duration::from_secs(20));
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(live(&runtime), 0);
}

/// The pending timers of all workers.
fn live(runtime: &Runtime) -> usize {
    let workers = runtime.metrics().num_workers();
    // Homes are met by chance, from one task after another; it must be zero on each.
    runtime.block_on(async {
        let mut sum = 0;
        for _ in 0..workers * 8 {
            sum += spawn(async { Home::current().unwrap().timers().live() }).await.unwrap();
        }
        sum
    })
}

/// A task that blocks its worker keeps neither its own worker's timers nor the others' from firing.
#[test]
fn a_blocked_worker_does_not_keep_timers_waiting() {
    let runtime = workers(2);
    runtime.block_on(async {
        let start = Instant::now();
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                spawn(async move {
                    sleep(ms(50)).await;
                    start.elapsed()
                })
            })
            .collect();
        yield_now().await;
        spawn(async { std::thread::sleep(Duration::from_secs(3)) });
        for task in tasks {
            let late = task.await.unwrap();
            assert!(late < Duration::from_secs(2), "{late:?}");
        }
    });
    runtime.shutdown_background();
}

#[test]
fn far_timers_wake_nobody() {
    for runtime in [workers(1), workers(4)] {
        let mut far: Vec<_> = {
            let _guard = runtime.enter();
            (0..1000).map(|n| Box::pin(sleep(Duration::from_secs(3600 + n)))).collect()
        };
        runtime.block_on(async move {
            spawn(async move {
                for timer in &mut far {
                    assert!(poll_here(timer.as_mut()).await.is_pending());
                }
                // This one would be the first, but is gone.
                assert!(poll_once(pin!(sleep(ms(20)))).is_pending());
                // The others stay until the runtime goes.
                spawn(async move {
                    pending::<()>().await;
                    drop(far);
                });
            })
            .await
            .unwrap();
        });
        settle(&runtime);
        let before = parks(&runtime);
        std::thread::sleep(ms(100));
        assert_eq!(parks(&runtime), before, "a worker woke although nothing was due");
    }
}

fn parks(runtime: &Runtime) -> Vec<u64> {
    let metrics = runtime.metrics();
    (0..metrics.num_workers()).map(|worker| metrics.worker_park_unpark_count(worker)).collect()
}

/// Waits until every worker sleeps.
fn settle(runtime: &Runtime) {
    let start = Instant::now();
    loop {
        let before = parks(runtime);
        std::thread::sleep(ms(30));
        if parks(runtime) == before && before.iter().all(|parks| parks % 2 == 1) {
            return;
        }
        assert!(start.elapsed() < HANGS, "the workers never sleep");
    }
}
