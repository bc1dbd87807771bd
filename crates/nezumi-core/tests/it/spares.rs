//! Spare workers: what goes on while all workers are blocked, and that nothing of it is left.

use crate::support::{burn, eventually};
use nezumi_core::runtime::{self, Runtime};
use nezumi_core::spawn::{self, JoinSet, block_in_place, spawn, yield_now};
use nezumi_core::task::Priority;
use nezumi_core::time::{sleep, timeout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

fn runtime(workers: usize) -> Runtime {
    runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Blocks every worker of `rt` until the returned barrier is waited at.
fn block_all(rt: &Runtime, workers: usize) -> Arc<Barrier> {
    let (blocked, end) = (Arc::new(Barrier::new(workers + 1)), Arc::new(Barrier::new(workers + 1)));
    for _ in 0..workers {
        let (blocked, end) = (blocked.clone(), end.clone());
        rt.spawn(async move {
            blocked.wait();
            end.wait();
        });
    }
    blocked.wait();
    end
}

/// However soon that is: the watch is started by the last worker, or is there before.
#[test]
fn workers_that_block_in_their_first_poll_are_stood_in_for() {
    for round in 0..60 {
        let workers = 1 + round % 3;
        let rt = runtime(workers);
        if round % 2 == 0 {
            // Else the tasks are there before the workers.
            thread::sleep(Duration::from_micros(100 * round as u64));
        }
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let blocked: Vec<_> = (0..workers)
            .map(|_| {
                let ended = ended.clone();
                rt.spawn(async move { _ = ended.lock().unwrap().recv_timeout(Duration::from_secs(20)) })
            })
            .collect();
        // Nobody but a spare can run it; it ends the first wait, and with it all.
        rt.block_on(rt.spawn(async move { drop(end) })).unwrap();
        for task in blocked {
            rt.block_on(task).unwrap();
        }
    }
}

/// New tasks, their timers, what they spawn, and wakes between them, are served while every worker is blocked.
#[test]
fn spares_serve_what_comes_while_all_workers_are_blocked() {
    for workers in [1, 2, 4] {
        let rt = runtime(workers);
        let end = block_all(&rt, workers);
        let sum = rt.block_on(rt.spawn(async {
            let mut set = JoinSet::new();
            for i in 0..100u64 {
                set.spawn(async move {
                    sleep(Duration::from_millis(i % 5)).await;
                    yield_now().await;
                    spawn(async move { i }).await.unwrap()
                });
            }
            let mut sum = 0;
            while let Some(i) = set.join_next().await {
                sum += i.unwrap();
            }
            sum
        }));
        assert_eq!(sum.unwrap(), 4950);
        end.wait();
        // Those who are needed no more go, and the runtime goes on as before.
        eventually("the spares have left", || rt.metrics().num_spare_workers() == 0);
        assert_eq!(rt.block_on(rt.spawn(async { 7 })).unwrap(), 7);
        assert_eq!(rt.metrics().num_alive_tasks(), 0);
    }
}

/// The spare that did so before is not there any more, and says nothing.
#[test]
fn a_worker_that_is_blocked_again_is_stood_in_for_again() {
    let rt = runtime(1);
    for _ in 0..3 {
        let end = block_all(&rt, 1);
        let task = rt.spawn(async { 7 });
        let served = rt.block_on(async { timeout(Duration::from_secs(20), task).await });
        end.wait();
        assert_eq!(served.expect("while the worker was blocked").unwrap(), 7);
        eventually("the spare has left", || rt.metrics().num_spare_workers() == 0);
    }
}

/// They are what it comes to last.
#[test]
fn a_spare_that_goes_leaves_its_background_tasks_to_others() {
    let rt = runtime(1);
    let end = block_all(&rt, 1);
    let tasks = rt.spawn(async {
        let task = || async {
            for _ in 0..40 {
                burn(Duration::from_micros(100));
                yield_now().await;
            }
        };
        let spawn = |_| spawn::Builder::new().priority(Priority::Background).spawn(task()).unwrap();
        (0..50).map(spawn).collect::<Vec<_>>()
    });
    let tasks = rt.block_on(tasks).unwrap();
    end.wait();
    for task in tasks {
        rt.block_on(async { timeout(Duration::from_secs(20), task).await }).unwrap().unwrap();
    }
    eventually("the spare has left", || rt.metrics().num_spare_workers() == 0);
}

/// They lie with a worker, which may have fallen asleep before, and hears of them at once: the spare does not stay.
#[test]
fn the_timers_of_a_spare_that_goes_fire_in_time() {
    for _ in 0..12 {
        let rt = runtime(2);
        let end = block_all(&rt, 2);
        let (ended, has_ended) = mpsc::channel();
        let waits = Arc::new(AtomicBool::new(true));
        rt.spawn({
            let waits = waits.clone();
            async move {
                while waits.load(Ordering::Relaxed) {
                    yield_now().await;
                }
                sleep(Duration::from_millis(20)).await;
                ended.send(()).unwrap();
            }
        });
        eventually("a spare runs it", || rt.metrics().num_spare_workers() > 0);
        end.wait();
        // Until the workers sleep, one of them in the driver. Should they come late, this shows nothing.
        thread::sleep(Duration::from_millis(10));
        waits.store(false, Ordering::Relaxed);
        has_ended.recv_timeout(Duration::from_secs(20)).expect("it is long past its time");
    }
}

/// A spare that is blocked in turn gets a stand-in as long as there are spares left; beyond these, work waits, and is not lost.
#[test]
fn there_are_no_more_spares_than_allowed() {
    let rt = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_spare_workers(2)
        .enable_all()
        .build()
        .unwrap();
    let (begun, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(5)));
    for _ in 0..4 {
        let (begun, end) = (begun.clone(), end.clone());
        rt.spawn(async move {
            begun.fetch_add(1, Ordering::SeqCst);
            // The last of them comes only when one of the others has let go: by time.
            thread::sleep(Duration::from_millis(200));
            spawn(async move { nezumi_core::spawn::spawn_blocking(move || end.wait()).await });
        });
    }
    eventually("one worker and two spares are blocked", || begun.load(Ordering::SeqCst) >= 3);
    assert!(rt.metrics().num_spare_workers() <= 2);
    end.wait();
    assert_eq!(begun.load(Ordering::SeqCst), 4);
    eventually("the spares have left", || rt.metrics().num_spare_workers() == 0);
}

#[test]
fn without_spares_all_waits_for_the_worker() {
    let rt = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_spare_workers(0)
        .enable_all()
        .build()
        .unwrap();
    let end = block_all(&rt, 1);
    let ran = Arc::new(AtomicBool::new(false));
    let task = rt.spawn({
        let ran = ran.clone();
        async move { ran.store(true, Ordering::SeqCst) }
    });
    thread::sleep(Duration::from_millis(30));
    assert!(!ran.load(Ordering::SeqCst));
    end.wait();
    rt.block_on(task).unwrap();
}

/// The number of the worker that a program sees is always one of those that it was told there are.
#[test]
fn a_spare_has_the_number_of_the_worker_it_stands_in_for() {
    let rt = runtime(2);
    let end = block_all(&rt, 2);
    let index = rt.block_on(rt.spawn(async { runtime::worker_index() })).unwrap();
    assert!(index.is_some_and(|index| index < rt.metrics().num_workers()), "{index:?}");
    end.wait();
}

/// A spare may be given up in the middle of a poll as any worker, and another thread is that spare then.
#[test]
fn block_in_place_on_a_spare() {
    let rt = runtime(1);
    let end = block_all(&rt, 1);
    let (tx, rx) = mpsc::channel();
    let task = rt.spawn(async move {
        block_in_place(|| {
            let more = spawn(async move { tx.send(1).unwrap() });
            assert_eq!(rx.recv_timeout(Duration::from_secs(20)), Ok(1));
            more
        })
        .await
        .unwrap();
    });
    rt.block_on(task).unwrap();
    end.wait();
}

/// A runtime ends while spares are at work, while they lie dormant, and while they are blocked themselves; each task is dropped.
#[test]
fn a_runtime_with_spares_shuts_down_whatever_they_do() {
    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    for round in 0..if cfg!(miri) { 2 } else { 30 } {
        let rt = runtime(2);
        let dropped = Arc::new(AtomicUsize::new(0));
        let end = block_all(&rt, 2);
        // These are at home with a spare, where they sleep, some for ever.
        for i in 0..40 {
            let counted = Counted(dropped.clone());
            rt.spawn(async move {
                let _counted = counted;
                sleep(if i % 2 == 0 { Duration::from_millis(1) } else { Duration::MAX }).await;
            });
        }
        eventually("those that end have ended", || dropped.load(Ordering::SeqCst) == 20);
        if round % 3 == 0 {
            rt.spawn(async { thread::sleep(Duration::from_millis(20)) });
        }
        end.wait();
        if round % 3 == 1 {
            eventually("the spares have left", || rt.metrics().num_spare_workers() == 0);
        }
        drop(rt);
        assert_eq!(dropped.load(Ordering::SeqCst), 40, "round {round}");
    }
}

/// Workers that use their processors get no stand-ins as long as one of them is not stuck; what waits is theirs to run.
#[test]
fn a_poll_that_burns_is_told_from_one_that_sleeps() {
    let (tx, reports) = mpsc::channel();
    let rt = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .stuck_after(Duration::from_millis(60))
        .on_stuck(move |task| tx.send((task.id(), task.is_burning(), task.elapsed())).unwrap())
        .build()
        .unwrap();
    let sleeps = rt.spawn(async { thread::sleep(Duration::from_millis(500)) });
    let (id, burns, elapsed) = reports.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!((id, burns), (sleeps.id(), false));
    assert!(elapsed >= Duration::from_millis(60));
    rt.block_on(sleeps).unwrap();

    if cfg!(all(target_os = "linux", not(miri))) {
        let end = Arc::new(AtomicBool::new(false));
        let burns = rt.spawn({
            let end = end.clone();
            async move {
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        let (id, is_burning, _) = reports.recv_timeout(Duration::from_secs(20)).unwrap();
        end.store(true, Ordering::Relaxed);
        assert_eq!((id, is_burning), (burns.id(), true), "also where other processes leave it no processor");
        rt.block_on(burns).unwrap();
    }
    assert!(reports.try_recv().is_err(), "each is told once");
}

/// Neither the watch nor a sleeper is needed for that: between two of its own polls a worker sees that another is stuck.
#[test]
fn a_busy_worker_takes_over_from_one_that_is_stuck() {
    let (told, reports) = mpsc::channel();
    let watch_is_held = Arc::new(Mutex::new(()));
    let held = watch_is_held.lock().unwrap();
    let rt = {
        let watch_is_held = watch_is_held.clone();
        runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .stuck_after(Duration::from_millis(5))
            .on_stuck(move |task| {
                told.send(task.id()).unwrap();
                drop(watch_is_held.lock());
            })
            .build()
            .unwrap()
    };
    // From here on the watch waits in the hook.
    rt.block_on(rt.spawn(async { thread::sleep(Duration::from_millis(50)) })).unwrap();
    reports.recv_timeout(Duration::from_secs(20)).expect("it looks as long as it can");

    // First the one that will be stuck, so that the busy one gets the other worker: together they might come to one, and the watch does not look.
    let (begun, has_begun) = mpsc::channel();
    let (in_poll, is_in_poll) = mpsc::channel();
    let stuck = rt.spawn(async move {
        in_poll.send(()).unwrap();
        has_begun.recv_timeout(Duration::from_secs(20)).unwrap();
        let (ran, has_run) = mpsc::channel();
        // The next of its own worker, which does not come to it.
        spawn(async move { ran.send(()).unwrap() });
        has_run.recv_timeout(Duration::from_secs(20))
    });
    is_in_poll.recv_timeout(Duration::from_secs(20)).expect("a worker is free for it");
    let end = Arc::new(AtomicBool::new(false));
    let busy = rt.spawn({
        let end = end.clone();
        async move {
            while !end.load(Ordering::Relaxed) {
                let _ = begun.send(());
                yield_now().await;
            }
        }
    });
    let outcome = rt.block_on(stuck).unwrap();
    end.store(true, Ordering::Relaxed);
    rt.block_on(busy).unwrap();
    drop(held);
    assert_eq!(outcome, Ok(()));
}
