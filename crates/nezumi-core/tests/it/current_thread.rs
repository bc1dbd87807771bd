//! The single-threaded scheduler, and the local runtime.

use crate::support::{Census, current_thread};
use nezumi_core::runtime::{Builder, LocalRuntime, UnhandledPanic};
use nezumi_core::spawn::{block_in_place, spawn, spawn_blocking, spawn_local, yield_now};
use nezumi_core::time::{Instant, sleep};
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

#[test]
fn tasks_run_only_inside_block_on() {
    let rt = current_thread();
    let ran = Arc::new(AtomicUsize::new(0));
    let inner = ran.clone();
    let task = rt.spawn(async move { inner.fetch_add(1, Ordering::Relaxed) });
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    rt.block_on(task).unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test]
fn tasks_run_in_the_order_of_their_spawning() {
    let rt = current_thread();
    let order = Rc::new(Cell::new(0));
    let order = Arc::new(AtomicUsize::new(order.get()));
    rt.block_on(async {
        let tasks: Vec<_> = (0..100)
            .map(|i| {
                let order = order.clone();
                spawn(async move { assert_eq!(order.fetch_add(1, Ordering::Relaxed), i) })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn the_root_future_is_not_starved_by_self_wakers() {
    let rt = current_thread();
    rt.spawn(poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    }));
    rt.block_on(async {
        for _ in 0..10 {
            yield_now().await;
        }
        sleep(Duration::from_millis(2)).await;
    });
}

#[test]
fn a_second_thread_waits_for_the_core_and_then_drives() {
    let rt = Arc::new(current_thread());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let rt = rt.clone();
            std::thread::spawn(move || {
                rt.block_on(async {
                    for _ in 0..20 {
                        spawn(yield_now()).await.unwrap();
                        sleep(Duration::from_micros(100)).await;
                    }
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_panic_in_the_root_future_puts_the_core_back() {
    let rt = current_thread();
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rt.block_on(async { panic!("root") })))
        .unwrap_err();
    assert_eq!(rt.block_on(async { spawn(async { 1 }).await.unwrap() }), 1);
}

#[test]
fn wakes_from_other_threads_end_the_sleep() {
    let rt = current_thread();
    rt.block_on(async {
        for _ in 0..50 {
            spawn_blocking(|| ()).await.unwrap();
        }
    });
    let without_driver = Builder::new_current_thread().build().unwrap();
    without_driver.block_on(async {
        for _ in 0..50 {
            spawn_blocking(|| ()).await.unwrap();
        }
    });
}

#[test]
fn block_in_place_panics_here() {
    let rt = current_thread();
    let error = rt.block_on(async { spawn(async { block_in_place(|| ()) }).await.unwrap_err() });
    assert!(error.to_string().contains("can call blocking only when running on the multi-threaded runtime"));
}

#[test]
fn paused_time_moves_only_when_nothing_else_can() {
    let rt = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let real = std::time::Instant::now();
    rt.block_on(async {
        let start = Instant::now();
        sleep(Duration::from_secs(3600)).await;
        assert!(start.elapsed() >= Duration::from_secs(3600));
        // While blocking work runs, time stands.
        let start = Instant::now();
        let work = spawn_blocking(|| std::thread::sleep(Duration::from_millis(20)));
        let timer = spawn(async { sleep(Duration::from_secs(60)).await });
        work.await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        timer.await.unwrap();
    });
    assert!(real.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_panic_can_end_the_runtime() {
    let rt = Builder::new_current_thread().unhandled_panic(UnhandledPanic::ShutdownRuntime).build().unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rt.block_on(async {
            spawn(async { panic!("boom") });
            pending::<()>().await;
        });
    }));
    let message = outcome.unwrap_err();
    assert!(message.downcast_ref::<&str>().unwrap().contains("shut down on unhandled panic"));
}

#[test]
fn a_runtime_that_a_panic_ended_has_no_tasks_and_takes_none() {
    let rt = Builder::new_current_thread().unhandled_panic(UnhandledPanic::ShutdownRuntime).build().unwrap();
    let census = Census::default();
    let (outside, inside) = (census.enter(), census.enter());
    let early = rt.spawn(async move {
        pending::<()>().await;
        drop(outside)
    });
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rt.block_on(async {
            spawn(async move {
                pending::<()>().await;
                drop(inside)
            });
            spawn(async { panic!("boom") });
            pending::<()>().await;
        });
    }));
    assert!(outcome.is_err());
    assert_eq!(census.alive(), 0);
    assert!(nezumi_wake::block_on(early).unwrap_err().is_cancelled());
    let late = rt.spawn(async {});
    assert!(nezumi_wake::block_on(late).unwrap_err().is_cancelled());
}

#[test]
fn the_local_runtime_takes_what_is_not_send() {
    let rt = LocalRuntime::new().unwrap();
    let shared = Rc::new(Cell::new(0));
    let (before, inside) = (shared.clone(), shared.clone());
    let early = rt.spawn_local(async move { before.set(before.get() + 1) });
    rt.block_on(async {
        early.await.unwrap();
        spawn_local(async move {
            let deeper = inside.clone();
            spawn_local(async move { deeper.set(deeper.get() + 1) }).await.unwrap();
            inside.set(inside.get() + 1);
        })
        .await
        .unwrap();
    });
    assert_eq!(shared.get(), 3);
    let census = Census::default();
    let alive = census.enter();
    rt.spawn_local(async move {
        let _alive = (alive, shared);
        pending::<()>().await;
    });
    rt.block_on(yield_now());
    drop(rt);
    assert_eq!(census.alive(), 0);
}

#[test]
fn spawn_local_elsewhere_panics() {
    let rt = current_thread();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rt.block_on(async { drop(spawn_local(async {})) })
    }));
    let message = outcome.unwrap_err();
    assert!(
        message
            .downcast_ref::<&str>()
            .unwrap()
            .starts_with("`spawn_local` called from outside of a `task::LocalSet`")
    );
}

#[test]
fn entering_and_leaving_out_of_order_panics() {
    let (a, b) = (current_thread(), current_thread());
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let first = a.enter();
        let second = b.enter();
        drop(first);
        drop(second);
    }));
    assert!(outcome.unwrap_err().downcast_ref::<&str>().unwrap().contains("dropped out of order"));
}

#[test]
fn a_root_future_woken_before_it_sleeps_runs_again() {
    let rt = current_thread();
    let flag = Arc::new(AtomicBool::new(false));
    for _ in 0..200 {
        flag.store(false, Ordering::SeqCst);
        let inner = flag.clone();
        let mut thread = None;
        rt.block_on(poll_fn(|cx| {
            if flag.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            if thread.is_none() {
                let (inner, waker) = (inner.clone(), cx.waker().clone());
                thread = Some(std::thread::spawn(move || {
                    inner.store(true, Ordering::SeqCst);
                    waker.wake();
                }));
            }
            Poll::Pending
        }));
        thread.unwrap().join().unwrap();
    }
}

/// A root future that always wakes itself leaves no moment to sleep in; the driver must have its turn all the same.
#[test]
#[cfg(unix)]
fn a_yielding_root_future_does_not_starve_the_driver() {
    use std::io::Write;

    let rt = current_thread();
    rt.block_on(async {
        let (mut writer, reader) = mio::unix::pipe::new().unwrap();
        let readable = Arc::new(AtomicBool::new(false));
        let flag = readable.clone();
        let hook = Arc::new(move || flag.store(true, Ordering::SeqCst));
        nezumi_core::runtime::Handle::current().io().add_hook(Box::new(reader), hook).unwrap();
        for _ in 0..5 {
            yield_now().await;
        }
        writer.write_all(b"x").unwrap();
        let mut rounds = 0;
        while !readable.load(Ordering::SeqCst) {
            yield_now().await;
            rounds += 1;
            assert!(rounds < 10_000, "the driver was never turned");
        }
    });
}

#[test]
fn outside_a_runtime_there_is_no_current_one_and_that_is_said_as_tokio_does() {
    let error = nezumi_core::runtime::Handle::try_current().unwrap_err();
    assert_eq!(format!("{error:?}"), "TryCurrentError { kind: NoContext }");
    assert!(
        error.to_string().starts_with(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
        )
    );
    assert!(error.is_missing_context() && !error.is_thread_local_destroyed());
}
