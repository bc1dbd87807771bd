//! Runtimes inside a program that has one, and processes.

use super::spawn;
use crate::seed::Rand;
use crate::task::{cancellable, tracked};
use nezumi::runtime::Builder;
use nezumi::task::{LocalSet, spawn_local, yield_now};
use nezumi::time;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Built, used and dropped, with tasks left over, on a thread of the outer runtime's pool.
pub(super) async fn of_one_thread(mut rand: Rand) {
    let inner = nezumi::task::spawn_blocking(move || {
        let rt = Builder::new_current_thread().enable_all().build().unwrap();
        for _ in 0..rand.below(30) {
            rt.spawn(cancellable(time::sleep(rand.micros(5000))));
        }
        let sum = rt.block_on(async {
            let local = LocalSet::new();
            let (sum, count) = (Rc::new(Cell::new(0)), rand.between(1, 50));
            local
                .run_until(async {
                    let tasks: Vec<_> = (0..count)
                        .map(|_| {
                            let (sum, yields) = (sum.clone(), rand.below(5));
                            spawn_local(tracked(async move {
                                for _ in 0..yields {
                                    yield_now().await;
                                }
                                sum.set(sum.get() + 1);
                            }))
                        })
                        .collect();
                    time::sleep(rand.micros(1000)).await;
                    for task in tasks {
                        task.await.unwrap();
                    }
                })
                .await;
            // These are dropped with the set.
            for _ in 0..rand.below(5) {
                local.spawn_local(cancellable(std::future::pending::<()>()));
            }
            (sum.get(), count)
        });
        assert_eq!(sum.0, sum.1);
    });
    inner.await.unwrap();
}

pub(super) async fn of_several(mut rand: Rand) {
    let inner = nezumi::task::spawn_blocking(move || {
        let workers = rand.between(1, 3) as usize;
        let rt = Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
        for _ in 0..rand.below(200) {
            rt.spawn(cancellable(time::sleep(rand.micros(5000))));
        }
        for _ in 0..rand.below(5) {
            let time = rand.micros(2000);
            rt.spawn_blocking(move || std::thread::sleep(time));
        }
        let task = rt.spawn(tracked(async { 7 }));
        assert_eq!(rt.block_on(task).unwrap().get(), 7);
        match rand.below(3) {
            0 => drop(rt),
            1 => rt.shutdown_timeout(Duration::from_secs(60)),
            _ => {
                rt.spawn(cancellable(std::future::pending::<()>()));
                rt.shutdown_background();
            }
        }
    });
    inner.await.unwrap();
}

pub(super) async fn child_processes(mut rand: Rand) {
    let mut children = Vec::new();
    for _ in 0..rand.between(1, 3) {
        children.push(spawn(async {
            let status = nezumi::process::Command::new("true").status().await.unwrap();
            assert!(status.success());
        }));
    }
    for child in children {
        child.await.unwrap();
    }
    let mut child = nezumi::process::Command::new("sleep").arg("100").kill_on_drop(true).spawn().unwrap();
    if rand.one_in(2) {
        child.kill().await.unwrap();
    }
}
