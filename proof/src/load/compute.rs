//! Tasks that run, spawn, yield, and block their threads.

use super::{spawn, spawn_cancellable};
use crate::seed::Rand;
use crate::task::{cancellable, tracked};
use nezumi::runtime::{Handle, RuntimeFlavor};
use nezumi::task::{self, Priority, yield_now};
use std::pin::Pin;
use std::time::{Duration, Instant};

/// More tasks than a ring holds, at once.
pub(super) async fn spawn_storm(mut rand: Rand) {
    let count = u64::from(rand.between(1, 3000));
    let mut tasks = Vec::new();
    for number in 0..count {
        let yields = rand.below(3);
        tasks.push(spawn(async move {
            for _ in 0..yields {
                yield_now().await;
            }
            number
        }));
    }
    let mut sum = 0;
    for task in tasks {
        sum += task.await.unwrap().get();
    }
    assert_eq!(sum, count * (count - 1) / 2);
}

/// Each task spawns the next, and some wait for it.
pub(super) async fn chains(mut rand: Rand) {
    fn link(left: u32, waits: bool) -> Pin<Box<dyn Future<Output = u32> + Send>> {
        Box::pin(async move {
            if left == 0 {
                return 0;
            }
            if waits {
                return spawn(link(left - 1, waits)).await.unwrap().get() + 1;
            }
            drop(spawn_cancellable(link(left - 1, waits)));
            1
        })
    }
    let depth = rand.between(1, 200);
    let chains: Vec<_> = (0..rand.between(1, 20)).map(|_| spawn(link(depth, rand.one_in(2)))).collect();
    for chain in chains {
        let reached = chain.await.unwrap().get();
        assert!(reached == depth || reached == 1);
    }
}

pub(super) async fn yields(mut rand: Rand) {
    let tasks: Vec<_> = (0..rand.between(1, 30))
        .map(|_| {
            let (yields, mut rand) = (rand.below(300), rand.fork());
            spawn(async move {
                for _ in 0..yields {
                    if rand.one_in(10) {
                        spawn(async {}).await.unwrap();
                    } else {
                        yield_now().await;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

pub(super) async fn priorities(mut rand: Rand) {
    let mut tasks = Vec::new();
    for number in 0..rand.between(1, 300) {
        let priority = match rand.below(3) {
            0 => Priority::High,
            1 => Priority::Normal,
            _ => Priority::Background,
        };
        let yields = rand.below(4);
        let work = tracked(async move {
            for _ in 0..yields {
                yield_now().await;
            }
            number
        });
        tasks.push((number, task::Builder::new().priority(priority).spawn(work).unwrap()));
    }
    for (number, task) in tasks {
        assert_eq!(task.await.unwrap().get(), number);
    }
}

/// Blocks or burns the worker in the middle of a poll, with tasks waiting behind it.
pub(super) async fn blocks_in_polls(mut rand: Rand) {
    let mut tasks = Vec::new();
    for _ in 0..rand.between(1, 4) {
        let (time, burns) = (rand.micros(15_000), rand.one_in(3));
        tasks.push(spawn(async move {
            let behind: Vec<_> = (0..10).map(|_| spawn(yield_now())).collect();
            if burns {
                burn(time);
            } else {
                std::thread::sleep(time);
            }
            for task in behind {
                task.await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

fn burn(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

pub(super) async fn block_in_place(mut rand: Rand) {
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return;
    }
    let mut tasks = Vec::new();
    for number in 0..rand.between(1, 8) {
        let (time, kind) = (rand.micros(3000), rand.below(4));
        tasks.push(spawn(async move {
            let behind = spawn(async move { number });
            let back = task::block_in_place(|| match kind {
                0 => {
                    std::thread::sleep(time);
                    Handle::current().block_on(behind)
                }
                1 => task::block_in_place(|| Handle::current().block_on(behind)),
                2 => Handle::current().block_on(async {
                    nezumi::time::sleep(time).await;
                    yield_now().await;
                    behind.await
                }),
                _ => {
                    burn(time / 4);
                    Handle::current().block_on(behind)
                }
            });
            yield_now().await;
            back.unwrap().get()
        }));
    }
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap().get() as usize, number);
    }
}

/// More jobs than threads; some are aborted, before they have begun or too late.
pub(super) async fn blocking_jobs(mut rand: Rand) {
    let mut jobs = Vec::new();
    for number in 0..rand.between(1, 60) {
        let time = if rand.one_in(3) { rand.micros(2000) } else { Duration::ZERO };
        let job = task::spawn_blocking(move || {
            if !time.is_zero() {
                std::thread::sleep(time);
            }
            number
        });
        let is_aborted = rand.one_in(8);
        if is_aborted {
            job.abort();
        }
        jobs.push((number, is_aborted, job));
    }
    for (number, is_aborted, job) in jobs {
        match job.await {
            Ok(back) => assert_eq!(back, number),
            Err(error) => assert!(is_aborted && error.is_cancelled(), "{error}"),
        }
    }
}

/// Threads that are none of the runtime's spawn, wake, and wait.
pub(super) async fn spawns_from_outside(mut rand: Rand) {
    let handle = Handle::current();
    let mut threads = Vec::new();
    for _ in 0..rand.between(1, 3) {
        let (handle, mut rand) = (handle.clone(), rand.fork());
        let (told, is_told) = nezumi::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let count = rand.between(1, 300);
            let tasks: Vec<_> =
                (0..count).map(|number| handle.spawn(tracked(async move { number }))).collect();
            // Nobody waits for these.
            for _ in 0..rand.below(20) {
                handle.spawn(cancellable(yield_now()));
            }
            let sum: u32 = handle.block_on(async {
                let mut sum = 0;
                for task in tasks {
                    sum += task.await.unwrap().get();
                }
                nezumi::time::sleep(rand.micros(500)).await;
                sum
            });
            let _ = told.send((sum, count));
        });
        threads.push((thread, is_told));
    }
    for (thread, is_told) in threads {
        let (sum, count) = is_told.await.expect("the thread has not panicked");
        assert_eq!(sum, count * (count - 1) / 2);
        // It is about to end.
        let _ = spawn_cancellable(async {}).await;
        task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
    }
}
