//! How runtimes end.

use crate::support::{Census, current_thread, eventually, runtime};
use nezumi_core::runtime::{Builder, Handle};
use nezumi_core::spawn::{self, spawn, spawn_blocking, yield_now};
use nezumi_core::task::Priority;
use nezumi_core::time::sleep;
use std::future::pending;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Descriptors of this process.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn dropping_the_runtime_drops_every_task_once() {
    for workers in [1, 4] {
        let rt = runtime(workers);
        let census = Census::default();
        for i in 0..300 {
            let alive = census.enter();
            rt.spawn(async move {
                let _alive = alive;
                match i % 3 {
                    0 => pending::<()>().await,
                    1 => sleep(Duration::from_secs(1000)).await,
                    _ => loop {
                        yield_now().await;
                    },
                }
            });
        }
        rt.block_on(yield_now());
        drop(rt);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn current_thread_drops_every_task_too() {
    let rt = current_thread();
    let census = Census::default();
    for _ in 0..50 {
        let alive = census.enter();
        rt.spawn(async move {
            let _alive = alive;
            pending::<()>().await;
        });
    }
    rt.block_on(yield_now());
    let queued = census.enter();
    rt.spawn(async move { drop(queued) });
    drop(rt);
    assert_eq!(census.alive(), 0);
}

#[test]
fn spawn_after_shutdown_cancels_at_once() {
    for rt in [runtime(2), current_thread()] {
        let handle = rt.handle().clone();
        drop(rt);
        let census = Census::default();
        let alive = census.enter();
        let task = handle.spawn(async move { drop(alive) });
        assert_eq!(census.alive(), 0);
        assert!(task.is_finished());
        assert!(current_thread().block_on(task).unwrap_err().is_cancelled());
    }
}

#[test]
fn tasks_spawned_by_dropped_futures_are_dropped_too() {
    struct SpawnOnDrop(Handle, Option<crate::support::Alive>);

    impl Drop for SpawnOnDrop {
        fn drop(&mut self) {
            let alive = self.1.take();
            self.0.spawn(async move {
                let _alive = alive;
                pending::<()>().await;
            });
        }
    }

    for rt in [runtime(2), current_thread()] {
        let census = Census::default();
        for _ in 0..20 {
            let guard = SpawnOnDrop(rt.handle().clone(), Some(census.enter()));
            rt.spawn(async move {
                let _guard = guard;
                pending::<()>().await;
            });
        }
        rt.block_on(yield_now());
        drop(rt);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn drop_waits_for_blocking_work_and_shutdown_timeout_does_not() {
    let rt = runtime(1);
    let (tx, rx) = mpsc::channel();
    rt.spawn_blocking(move || {
        std::thread::sleep(Duration::from_millis(50));
        tx.send(()).unwrap();
    });
    std::thread::sleep(Duration::from_millis(5));
    drop(rt);
    rx.try_recv().unwrap();

    let rt = runtime(1);
    let (tx, rx) = mpsc::channel::<()>();
    rt.spawn_blocking(move || rx.recv().unwrap_err());
    std::thread::sleep(Duration::from_millis(5));
    let start = Instant::now();
    rt.shutdown_timeout(Duration::from_millis(20));
    assert!(start.elapsed() < Duration::from_secs(5));
    drop(tx);
}

#[test]
fn drop_in_async_context_panics_and_background_shutdown_does_not() {
    let outer = runtime(1);
    let error = outer.block_on(async { spawn(async { drop(runtime(1)) }).await.unwrap_err() });
    assert!(
        error.to_string().contains("Cannot drop a runtime in a context where blocking is not allowed"),
        "{error}"
    );
    outer.block_on(async { spawn(async { runtime(1).shutdown_background() }).await.unwrap() });
}

#[test]
fn a_blocked_task_does_not_hold_up_shutdown_timeout() {
    let rt = runtime(2);
    let (tx, rx) = mpsc::channel::<()>();
    rt.spawn(async move { rx.recv().unwrap_err() });
    std::thread::sleep(Duration::from_millis(5));
    let start = Instant::now();
    rt.shutdown_timeout(Duration::from_millis(20));
    assert!(start.elapsed() < Duration::from_secs(5));
    drop(tx);
}

#[test]
fn the_handle_keeps_nothing_running() {
    let rt = runtime(2);
    let handle = rt.handle().clone();
    let task = rt.spawn(pending::<()>());
    drop(rt);
    assert!(handle.block_on(task).unwrap_err().is_cancelled());
    assert!(handle.block_on(async { spawn_blocking(|| ()).await }).unwrap_err().is_cancelled());
}

/// Start, work, stop, many times: no thread and no descriptor is left.
#[test]
fn many_cycles_leave_nothing_behind() {
    let one = |i: usize| {
        let rt = match i % 3 {
            0 => runtime(1),
            1 => runtime(2),
            _ => current_thread(),
        };
        rt.block_on(async {
            let tasks: Vec<_> = (0..10).map(|_| spawn(yield_now())).collect();
            for task in tasks {
                task.await.unwrap();
            }
            spawn(pending::<()>());
        });
        if i % 5 == 0 { rt.shutdown_background() } else { drop(rt) }
    };
    // Other tests run beside this one, so the census is of a subprocess.
    if std::env::var_os("NEZUMI_CENSUS").is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["shutdown::many_cycles_leave_nothing_behind", "--exact", "--test-threads=1"])
            .env("NEZUMI_CENSUS", "1")
            .output()
            .unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
        return;
    }
    (0..30).for_each(one);
    eventually("the threads of the first cycles have ended", || threads() <= 3);
    let (threads_before, descriptors_before) = (threads(), descriptors());
    (0..1000).for_each(one);
    eventually("all threads have ended", || threads() <= threads_before);
    eventually("all descriptors are closed", || descriptors() <= descriptors_before);
}

/// Whatever stays in a queue keeps its task, and so all of the runtime.
#[test]
fn what_is_queued_at_any_priority_keeps_nothing_at_the_end() {
    let spawn_some = |rt: &Handle| {
        for priority in [Priority::High, Priority::Normal, Priority::Background] {
            for _ in 0..3 {
                spawn::Builder::new().priority(priority).spawn_on(async {}, rt).unwrap();
            }
        }
    };
    for is_multi_thread in [true, false] {
        let mut builder =
            if is_multi_thread { Builder::new_multi_thread() } else { Builder::new_current_thread() };
        let kept = Arc::new(());
        let rt = {
            let kept = kept.clone();
            // The worker looks whether it is the end before each task.
            builder.worker_threads(1).max_spare_workers(0).event_interval(1);
            builder.on_thread_park(move || _ = &kept);
            builder.build().unwrap()
        };
        drop(builder);
        let ((blocked, is_blocked), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        let leaves_some = async move {
            spawn_some(&Handle::current());
            blocked.send(()).unwrap();
            if is_multi_thread {
                let _ = ended.recv_timeout(Duration::from_secs(20));
            }
        };
        if is_multi_thread {
            drop(rt.spawn(leaves_some))
        } else {
            rt.block_on(leaves_some)
        }
        is_blocked.recv().unwrap();
        spawn_some(rt.handle());
        rt.shutdown_background();
        drop(end);
        eventually("the runtime is gone", || Arc::strong_count(&kept) == 1);
    }
}

#[test]
fn workers_leave_also_when_the_builder_has_no_driver() {
    let rt = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    rt.block_on(async { spawn(async {}).await.unwrap() });
    drop(rt);
}

/// Whether its thread came in time to sleep, or only to be told that all is over: programs, and Tokio's tests, count on one.
#[test]
fn every_worker_has_parked_by_the_end() {
    for _ in 0..50 {
        let rt = crate::support::runtime(4);
        let metrics = rt.metrics();
        drop(rt);
        let parks: Vec<_> =
            (0..4).map(|i| (metrics.worker_park_count(i), metrics.worker_park_unpark_count(i))).collect();
        assert!(parks.iter().all(|&(parked, both)| parked >= 1 && both >= 2 && both % 2 == 0), "{parks:?}");
    }
}
