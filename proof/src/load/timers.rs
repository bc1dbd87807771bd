//! Timers that expire, are dropped before that, or are moved.

use super::spawn;
use crate::seed::Rand;
use nezumi::time::{self, Duration, Instant, MissedTickBehavior};

/// None is early. How late they are depends on the machine.
pub(super) async fn sleeps(mut rand: Rand) {
    let mut tasks = Vec::new();
    for _ in 0..rand.between(1, 300) {
        let time = if rand.one_in(20) { Duration::MAX } else { rand.micros(30_000) };
        let polled_and_dropped = rand.one_in(3) || time == Duration::MAX;
        tasks.push(spawn(async move {
            let begin = Instant::now();
            let mut sleep = Box::pin(time::sleep(time));
            if polled_and_dropped {
                poll_once(sleep.as_mut()).await;
                return;
            }
            sleep.await;
            assert!(begin.elapsed() >= time, "early: {:?} of {time:?}", begin.elapsed());
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) {
    std::future::poll_fn(|cx| {
        let _ = future.as_mut().poll(cx);
        std::task::Poll::Ready(())
    })
    .await;
}

pub(super) async fn moved(mut rand: Rand) {
    let mut tasks = Vec::new();
    for _ in 0..rand.between(1, 100) {
        let mut rand = rand.fork();
        tasks.push(spawn(async move {
            let mut sleep = Box::pin(time::sleep(rand.micros(20_000)));
            for _ in 0..rand.below(5) {
                poll_once(sleep.as_mut()).await;
                sleep.as_mut().reset(Instant::now() + rand.micros(20_000));
            }
            let deadline = sleep.deadline();
            sleep.await;
            assert!(Instant::now() >= deadline);
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

pub(super) async fn timeouts(mut rand: Rand) {
    let mut tasks = Vec::new();
    for _ in 0..rand.between(1, 100) {
        let (work, limit) = (rand.micros(10_000), rand.micros(10_000));
        let never = rand.one_in(5);
        tasks.push(spawn(async move {
            let begin = Instant::now();
            let outcome = time::timeout(limit, async {
                if never {
                    std::future::pending::<()>().await;
                }
                time::sleep(work).await;
            })
            .await;
            match outcome {
                Ok(()) => assert!(!never && begin.elapsed() >= work),
                Err(_) => assert!(begin.elapsed() >= limit),
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

pub(super) async fn intervals(mut rand: Rand) {
    let mut tasks = Vec::new();
    for _ in 0..rand.between(1, 10) {
        let mut rand = rand.fork();
        tasks.push(spawn(async move {
            let period = Duration::from_micros(500) + rand.micros(2000);
            let mut interval = time::interval(period);
            interval.set_missed_tick_behavior(match rand.below(3) {
                0 => MissedTickBehavior::Burst,
                1 => MissedTickBehavior::Delay,
                _ => MissedTickBehavior::Skip,
            });
            let begin = interval.tick().await;
            let ticks = rand.between(1, 10);
            for _ in 0..ticks {
                if rand.one_in(5) {
                    time::sleep(rand.micros(3000)).await;
                }
                interval.tick().await;
            }
            assert!(begin.elapsed() + Duration::from_millis(1) >= period * ticks);
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}
