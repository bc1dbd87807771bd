//! Tasks that talk to one another.

use super::spawn;
use crate::seed::Rand;
use nezumi::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};
use nezumi::task::yield_now;
use std::sync::Arc;

pub(super) async fn many_to_one(mut rand: Rand) {
    let (tx, mut rx) = mpsc::channel(rand.between(1, 64) as usize);
    let producers = rand.between(1, 8);
    let each = rand.between(1, 300);
    for producer in 0..producers {
        let tx = tx.clone();
        drop(spawn(async move {
            for number in 0..each {
                tx.send((producer, number)).await.expect("the receiver waits for all");
            }
        }));
    }
    drop(tx);
    let mut next = vec![0; producers as usize];
    while let Some((producer, number)) = rx.recv().await {
        assert_eq!(number, next[producer as usize], "out of order");
        next[producer as usize] += 1;
    }
    assert!(next.iter().all(|&next| next == each), "something was lost");
}

pub(super) async fn ping_pong(mut rand: Rand) {
    let mut pairs = Vec::new();
    for _ in 0..rand.between(1, 5) {
        let rounds = rand.between(1, 300);
        pairs.push(spawn(async move {
            let (to, mut from) = mpsc::unbounded_channel::<oneshot::Sender<u32>>();
            let answers = spawn(async move {
                let mut answered = 0;
                while let Some(ask) = from.recv().await {
                    ask.send(answered).unwrap();
                    answered += 1;
                }
                answered
            });
            for round in 0..rounds {
                let (ask, answer) = oneshot::channel();
                to.send(ask).unwrap();
                assert_eq!(answer.await.unwrap(), round);
            }
            drop(to);
            assert_eq!(answers.await.unwrap().get(), rounds);
        }));
    }
    for pair in pairs {
        pair.await.unwrap();
    }
}

pub(super) async fn watch_and_broadcast(mut rand: Rand) {
    let last = rand.between(1, 200);
    let (tx, rx) = watch::channel(0);
    let (broadcast, _) = broadcast::channel(512);
    let mut listeners = Vec::new();
    for _ in 0..rand.between(1, 6) {
        let (mut rx, mut all) = (rx.clone(), broadcast.subscribe());
        listeners.push(spawn(async move {
            let mut seen = 0;
            while seen < last {
                rx.changed().await.expect("the last value has not been seen yet");
                let now = *rx.borrow_and_update();
                assert!(now > seen, "{now} came after {seen}");
                seen = now;
            }
        }));
        listeners.push(spawn(async move {
            for number in 1..=last {
                assert_eq!(all.recv().await, Ok(number));
            }
        }));
    }
    for number in 1..=last {
        broadcast.send(number).unwrap();
        tx.send(number).unwrap();
        if rand.one_in(4) {
            yield_now().await;
        }
    }
    for listener in listeners {
        listener.await.unwrap();
    }
}

pub(super) async fn locks(mut rand: Rand) {
    let (mutex, rwlock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new((0, 0))));
    let semaphore = Arc::new(Semaphore::new(rand.between(1, 4) as usize));
    let (tasks, each) = (rand.between(1, 10), rand.between(1, 50));
    let barrier = Arc::new(Barrier::new(tasks as usize));
    let mut all = Vec::new();
    for _ in 0..tasks {
        let (mutex, rwlock, semaphore, barrier) =
            (mutex.clone(), rwlock.clone(), semaphore.clone(), barrier.clone());
        let mut rand = rand.fork();
        all.push(spawn(async move {
            for _ in 0..each {
                let _permit = semaphore.acquire().await.unwrap();
                *mutex.lock().await += 1;
                if rand.one_in(3) {
                    let mut both = rwlock.write().await;
                    both.0 += 1;
                    yield_now().await;
                    both.1 += 1;
                } else {
                    let both = rwlock.read().await;
                    assert_eq!(both.0, both.1);
                }
                if rand.one_in(10) {
                    // Gives up waiting.
                    let _ = nezumi::time::timeout(rand.micros(100), mutex.lock()).await;
                }
            }
            barrier.wait().await;
        }));
    }
    for task in all {
        task.await.unwrap();
    }
    assert_eq!(*mutex.lock().await, tasks * each);
}

pub(super) async fn notify(mut rand: Rand) {
    let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let rounds = rand.between(1, 300);
    let partner = {
        let (there, back) = (there.clone(), back.clone());
        spawn(async move {
            for _ in 0..rounds {
                there.notified().await;
                back.notify_one();
            }
        })
    };
    for _ in 0..rounds {
        there.notify_one();
        back.notified().await;
    }
    partner.await.unwrap();

    let all = Arc::new(Notify::new());
    let mut waiting = Vec::new();
    for _ in 0..rand.between(1, 20) {
        let all = all.clone();
        let (ready, is_ready) = oneshot::channel();
        let task = spawn(async move {
            let mut notified = std::pin::pin!(all.notified());
            notified.as_mut().enable();
            ready.send(()).unwrap();
            notified.await;
        });
        is_ready.await.unwrap();
        waiting.push(task);
    }
    all.notify_waiters();
    for task in waiting {
        task.await.unwrap();
    }
}
