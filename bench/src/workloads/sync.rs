//! What do the locks and signals cost, in one task alone and among many?
//!
//! How the answer could mislead: alone, every operation is ready at once and no task is ever woken, so this is the bare
//! primitive and the budget. Among many, most of the time is tasks that wait and are woken: the scheduler is in it. The
//! laps of `watch` and `broadcast` among many are kept together by a semaphore, which is in it too. A task that holds a
//! permit or a lock yields with it once, or on one worker nobody would ever find it taken.

use std::sync::Arc;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::sync::{Notify, RwLock, Semaphore, broadcast, watch};
use rt::task::{JoinHandle, yield_now};

/// Among many: so many tasks.
const TASKS: u64 = 64;
/// So many tasks may hold a permit at once.
const PERMITS: usize = 4;
/// Among many, every so many-th task writes.
const WRITER: u64 = 16;

pub(crate) fn cases() -> Vec<Case> {
    let one = |variant, what, work| case(variant, what, (20_000, 5000, 10), work);
    let many = |variant, what, work| case(variant, what, (200, 20, 2), work);
    vec![
        one("Notify", "notify_one, then notified", |n| Box::pin(notify_alone(n))),
        many("Notify, 64 tasks", "64 tasks hand one notification round", |n| Box::pin(notify_shared(n))),
        one("Semaphore", "a permit is acquired and released", |n| Box::pin(semaphore_alone(n))),
        many("Semaphore, 64 tasks", "64 tasks hold 4 permits over a yield", |n| {
            Box::pin(semaphore_shared(n))
        }),
        one("RwLock, read", "a lock is read", |n| Box::pin(read_alone(n))),
        one("RwLock, write", "a lock is written", |n| Box::pin(write_alone(n))),
        many("RwLock, 64 tasks", "60 tasks read and 4 write over a yield", |n| Box::pin(rwlock_shared(n))),
        one("watch", "a value is sent and seen", |n| Box::pin(watch_alone(n))),
        many("watch, 64 tasks", "a value is sent and seen by 64 tasks", |n| Box::pin(watch_shared(n))),
        one("broadcast", "a value is sent and received", |n| Box::pin(broadcast_alone(n))),
        many("broadcast, 64 tasks", "16 values are sent and received by 64 tasks", |n| {
            Box::pin(broadcast_shared(n))
        }),
    ]
}

/// So many laps; returns how many operations they were.
type Work = fn(u64) -> std::pin::Pin<Box<dyn Future<Output = u64> + Send>>;

fn case(variant: &'static str, what: &'static str, laps: (u64, u64, u64), work: Work) -> Case {
    let prepare = move |setup: &Setup| -> Round {
        let runtime = start::runtime(setup);
        let laps = setup.size(laps.0, laps.1, laps.2);
        Box::new(move || Done::ops(start::on_worker(&runtime, work(laps))))
    };
    Case::new(15, "sync", what, 1.2, prepare).variant(variant)
}

async fn all<T>(tasks: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut outputs = Vec::with_capacity(tasks.len());
    for task in tasks {
        outputs.push(task.await.unwrap());
    }
    outputs
}

async fn notify_alone(laps: u64) -> u64 {
    let notify = Notify::new();
    for _ in 0..laps {
        notify.notify_one();
        notify.notified().await;
    }
    laps
}

async fn notify_shared(laps: u64) -> u64 {
    let notify = Arc::new(Notify::new());
    let hand_on = |_| {
        let notify = notify.clone();
        rt::spawn(async move {
            for _ in 0..laps {
                notify.notified().await;
                // So that others come to wait before the notification is there again.
                yield_now().await;
                notify.notify_one();
            }
        })
    };
    let tasks = (0..TASKS).map(hand_on).collect();
    notify.notify_one();
    all(tasks).await;
    laps * TASKS
}

async fn semaphore_alone(laps: u64) -> u64 {
    let semaphore = Semaphore::new(PERMITS);
    for _ in 0..laps {
        drop(semaphore.acquire().await.unwrap());
    }
    laps
}

async fn semaphore_shared(laps: u64) -> u64 {
    let semaphore = Arc::new(Semaphore::new(PERMITS));
    let hold = |_| {
        let semaphore = semaphore.clone();
        rt::spawn(async move {
            for _ in 0..laps {
                let _permit = semaphore.acquire().await.unwrap();
                yield_now().await;
            }
        })
    };
    all((0..TASKS).map(hold).collect()).await;
    assert_eq!(semaphore.available_permits(), PERMITS, "a permit was lost");
    laps * TASKS
}

async fn read_alone(laps: u64) -> u64 {
    let lock = RwLock::new(1);
    let mut sum = 0;
    for _ in 0..laps {
        sum += *lock.read().await;
    }
    sum
}

async fn write_alone(laps: u64) -> u64 {
    let lock = RwLock::new(0);
    for _ in 0..laps {
        *lock.write().await += 1;
    }
    lock.into_inner()
}

async fn rwlock_shared(laps: u64) -> u64 {
    let lock = Arc::new(RwLock::new(0));
    let visit = |i| {
        let lock = lock.clone();
        rt::spawn(async move {
            for _ in 0..laps {
                if i % WRITER == 0 {
                    let mut value = lock.write().await;
                    yield_now().await;
                    *value += 1;
                } else {
                    let value = lock.read().await;
                    yield_now().await;
                    std::hint::black_box(*value);
                }
            }
        })
    };
    all((0..TASKS).map(visit).collect()).await;
    assert_eq!(*lock.read().await, laps * TASKS / WRITER, "a write was lost");
    laps * TASKS
}

async fn watch_alone(laps: u64) -> u64 {
    let (sender, mut receiver) = watch::channel(0);
    for i in 1..=laps {
        sender.send(i).unwrap();
        receiver.changed().await.unwrap();
        assert_eq!(*receiver.borrow_and_update(), i);
    }
    laps
}

async fn watch_shared(laps: u64) -> u64 {
    let (sender, receiver) = watch::channel(0);
    let seen = Arc::new(Semaphore::new(0));
    let look = |_| {
        let (mut receiver, seen) = (receiver.clone(), seen.clone());
        rt::spawn(async move {
            let mut count = 0;
            while receiver.changed().await.is_ok() {
                count += u64::from(*receiver.borrow_and_update() > 0);
                seen.add_permits(1);
            }
            count
        })
    };
    let tasks = (0..TASKS).map(look).collect();
    for i in 1..=laps {
        sender.send(i).unwrap();
        seen.acquire_many(TASKS as u32).await.unwrap().forget();
    }
    drop(sender);
    let seen = all(tasks).await.into_iter().sum();
    assert_eq!(seen, laps * TASKS, "a value was not seen");
    seen
}

async fn broadcast_alone(laps: u64) -> u64 {
    let (sender, mut receiver) = broadcast::channel(16);
    for i in 0..laps {
        sender.send(i).unwrap();
        assert_eq!(receiver.recv().await, Ok(i));
    }
    laps
}

async fn broadcast_shared(laps: u64) -> u64 {
    const RUN: u64 = 16;
    let (sender, _) = broadcast::channel(RUN as usize);
    let seen = Arc::new(Semaphore::new(0));
    let listen = |_| {
        let (mut receiver, seen) = (sender.subscribe(), seen.clone());
        rt::spawn(async move {
            let mut count = 0;
            while receiver.recv().await.is_ok() {
                count += 1;
                if count % RUN == 0 {
                    seen.add_permits(1);
                }
            }
            count
        })
    };
    let tasks = (0..TASKS).map(listen).collect();
    for _ in 0..laps {
        for i in 0..RUN {
            sender.send(i).unwrap();
        }
        seen.acquire_many(TASKS as u32).await.unwrap().forget();
    }
    drop(sender);
    let received = all(tasks).await.into_iter().sum();
    assert_eq!(received, laps * RUN * TASKS, "a value was lost");
    received
}
