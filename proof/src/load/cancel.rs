//! Tasks and futures that are ended before they are done.

use super::{spawn, spawn_cancellable};
use crate::seed::Rand;
use crate::task::cancellable;
use nezumi::sync::{mpsc, oneshot};
use nezumi::task::{JoinSet, yield_now};
use nezumi::time;

/// Aborts race completion: either is right, and which one it was the handle says.
pub(super) async fn aborts(mut rand: Rand) {
    let mut tasks = Vec::new();
    for number in 0..rand.between(1, 300) {
        let (mut inner, kind) = (rand.fork(), rand.below(4));
        let task = spawn_cancellable(async move {
            match kind {
                0 => {}
                1 => (0..inner.below(20)).for_each(|_| drop(spawn_cancellable(yield_now()))),
                2 => time::sleep(inner.micros(5000)).await,
                _ => {
                    for _ in 0..inner.below(50) {
                        yield_now().await;
                    }
                }
            }
            number
        });
        tasks.push((number, task));
    }
    for (index, (_, task)) in tasks.iter().enumerate() {
        match rand.below(4) {
            0 => task.abort(),
            1 => {
                let handle = task.abort_handle();
                drop(spawn_cancellable(async move { handle.abort() }));
            }
            _ => {}
        }
        if index % 50 == 49 {
            yield_now().await;
        }
    }
    for (number, task) in tasks {
        match task.await {
            Ok(output) => assert_eq!(output.get(), number),
            Err(error) => assert!(error.is_cancelled(), "{error}"),
        }
    }
}

/// Sets that are waited for, dropped, aborted or shut down with tasks in every state.
pub(super) async fn sets(mut rand: Rand) {
    for _ in 0..rand.between(1, 5) {
        let mut set = JoinSet::new();
        let count = rand.between(1, 100);
        for _ in 0..count {
            let mut rand = rand.fork();
            set.spawn(cancellable(async move {
                if rand.one_in(10) {
                    std::future::pending::<()>().await;
                }
                time::sleep(rand.micros(3000)).await;
            }));
        }
        let mut ended = 0;
        for _ in 0..rand.below(count / 2 + 1) {
            let joined = time::timeout(rand.micros(2000), set.join_next());
            if let Ok(Some(outcome)) = joined.await {
                outcome.unwrap();
                ended += 1;
            }
        }
        match rand.below(3) {
            0 => drop(set),
            1 => set.shutdown().await,
            _ => {
                set.abort_all();
                while let Some(outcome) = set.join_next().await {
                    assert!(outcome.is_ok() || outcome.is_err_and(|error| error.is_cancelled()));
                    ended += 1;
                }
                assert_eq!(ended, count);
            }
        }
    }
}

/// The branches that lose are dropped at any of their await points.
pub(super) async fn selects(mut rand: Rand) {
    let (tx, mut rx) = mpsc::channel(4);
    let sends = rand.between(1, 100);
    let sender = spawn(async move {
        for number in 0..sends {
            if tx.send(number).await.is_err() {
                break;
            }
            if number % 7 == 0 {
                yield_now().await;
            }
        }
    });
    let mut next = 0;
    loop {
        let (told, is_told) = oneshot::channel();
        if rand.one_in(2) {
            drop(spawn_cancellable(async move { told.send(()) }));
        } else {
            drop(told);
        }
        nezumi::select! {
            number = rx.recv() => match number {
                Some(number) => {
                    assert_eq!(number, next, "what a branch that lost had taken is lost");
                    next += 1;
                }
                None => break,
            },
            _ = is_told => {}
            () = time::sleep(rand.micros(2000)) => {}
            _ = spawn_cancellable(yield_now()) => {}
        }
    }
    assert_eq!(next, sends);
    sender.await.unwrap();
}
