//! Where runtimes end, and how often.

use super::{builder, expect_works, runtime};
use crate::census::Census;
use crate::ledger;
use crate::seed::Seed;
use crate::task::{cancellable, tracked};
use nezumi::runtime::{Handle, Runtime};
use nezumi::task::{JoinHandle, LocalSet, block_in_place, spawn_blocking, yield_now};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake};
use std::time::Duration;

/// One that has work of every kind.
fn busy(workers: usize) -> Runtime {
    let rt = runtime(workers);
    for number in 0..20 {
        rt.spawn(cancellable(async move {
            match number % 4 {
                0 => std::future::pending().await,
                1 => nezumi::time::sleep(Duration::from_millis(1)).await,
                2 => loop {
                    yield_now().await;
                },
                _ => {}
            }
        }));
    }
    rt.spawn_blocking(|| std::thread::sleep(Duration::from_millis(1)));
    rt
}

pub(super) fn runtimes_end_anywhere(_: Seed) {
    for outer in [0, 1, 2] {
        let rt = runtime(outer);
        for inner in [0, 1, 2] {
            for _ in 0..10 {
                drop(busy(inner));
                busy(inner).shutdown_background();
                busy(inner).shutdown_timeout(Duration::from_secs(20));
                std::thread::spawn(move || drop(busy(inner))).join().unwrap();
                let job = rt.spawn_blocking(move || drop(busy(inner)));
                rt.block_on(job).unwrap();
                if outer > 0 {
                    let task = rt.spawn(tracked(async move { block_in_place(|| drop(busy(inner))) }));
                    rt.block_on(task).unwrap();
                }
                // In a task, and in the root future, only those that wait for nothing may end.
                let task = rt.spawn(tracked(async move { busy(inner).shutdown_background() }));
                rt.block_on(task).unwrap();
                rt.block_on(async { busy(inner).shutdown_background() });
                in_its_own_task(inner);
                in_a_waker(inner);
                in_a_local_task(&rt, inner);
            }
            // The phrase that programs know, and the runtime's end all the same.
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {}));
            let dropped = rt.block_on(async { catch_unwind(AssertUnwindSafe(|| drop(busy(inner)))) });
            std::panic::set_hook(report);
            let payload = dropped.expect_err("to drop a runtime in a task is a panic");
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or_default();
            assert!(
                text.starts_with("Cannot drop a runtime in a context where blocking is not allowed"),
                "{text}"
            );
        }
        expect_works(&rt);
    }
}

/// A task of a runtime ends it.
fn in_its_own_task(workers: usize) {
    let rt = Arc::new(Mutex::new(None));
    let own = rt.clone();
    let built = busy(workers);
    let task = built.spawn(cancellable(async move {
        loop {
            let rt: Option<Runtime> = own.lock().unwrap().take();
            if let Some(rt) = rt {
                return rt.shutdown_background();
            }
            yield_now().await;
        }
    }));
    if workers == 0 {
        // Nobody runs it; it ends as it is.
        drop(task);
        return;
    }
    *rt.lock().unwrap() = Some(built);
    while !task.is_finished() {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// The last owner of a runtime is a waker that the runtime holds.
fn in_a_waker(workers: usize) {
    struct Owner(Mutex<Option<Runtime>>);

    impl Wake for Owner {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Owner {
        fn drop(&mut self) {
            if let Some(rt) = self.0.get_mut().unwrap().take() {
                rt.shutdown_background();
            }
        }
    }

    let rt = busy(workers);
    let mut task = Box::pin(rt.spawn(cancellable(nezumi_sleep(Duration::from_millis(1)))));
    let owner = Arc::new(Owner(Mutex::new(Some(rt))));
    let waker = owner.into();
    let _ = task.as_mut().poll(&mut Context::from_waker(&waker));
    drop(waker);
    drop(task);
}

fn in_a_local_task(rt: &Runtime, inner: usize) {
    let local = LocalSet::new();
    let task = local.spawn_local(tracked(async move { busy(inner).shutdown_background() }));
    rt.block_on(local.run_until(task)).unwrap();
}

/// Handles, runtimes and tasks that are kept in thread-locals, and do things when their thread ends.
pub(super) fn thread_locals_use_the_runtime(_: Seed) {
    #[derive(Default)]
    struct Kept {
        handle: Option<Handle>,
        runtime: Option<Runtime>,
        task: Option<JoinHandle<()>>,
    }

    impl Drop for Kept {
        fn drop(&mut self) {
            if let Some(handle) = &self.handle {
                drop(handle.spawn(cancellable(yield_now())));
                drop(handle.spawn_blocking(|| {}));
                let _inside = handle.enter();
                drop(nezumi::time::sleep(Duration::from_millis(1)));
                let _ = nezumi::task::try_id();
            }
            if let Some(task) = &self.task {
                task.abort();
            }
            drop(self.runtime.take());
        }
    }

    thread_local! {
        static KEPT: RefCell<Kept> = RefCell::default();
    }

    for workers in [0, 1, 2] {
        for round in 0..50 {
            let rt = builder(workers).thread_keep_alive(Duration::from_millis(1)).build().unwrap();
            let keep = move |handle: &Handle| {
                let task = handle.spawn(async { drop(cancellable(std::future::pending::<()>())) });
                KEPT.set(Kept {
                    handle: Some(handle.clone()),
                    runtime: (round % 2 == 0).then(|| busy(round % 3)),
                    task: Some(task),
                });
            };
            let handle = rt.handle().clone();
            std::thread::spawn(move || keep(&handle)).join().unwrap();
            let job = rt.spawn_blocking(move || keep(&Handle::current()));
            rt.block_on(job).unwrap();
            if workers > 0 {
                let task =
                    rt.spawn(tracked(async move { spawn_blocking(move || keep(&Handle::current())).await }));
                rt.block_on(task).unwrap();
            }
        }
    }
}

/// Ten thousand, of all kinds; nothing adds up.
pub(super) fn ten_thousand_lives(seed: Seed) {
    let mut rand = seed.rand();
    let mut live = |count: u32| {
        for number in 0..count {
            let rt = builder((number % 5) as usize).build().unwrap();
            let task = rt.spawn(tracked(yield_now()));
            for _ in 0..rand.below(4) {
                rt.spawn(cancellable(nezumi_sleep(rand.micros(2000))));
            }
            if number % 3 == 0 {
                rt.spawn_blocking(|| {});
            }
            rt.block_on(task).unwrap();
            match rand.below(3) {
                0 => rt.shutdown_background(),
                1 => rt.shutdown_timeout(Duration::from_secs(20)),
                _ => drop(rt),
            }
        }
    };
    live(500);
    ledger::expect_all_closed(Duration::from_secs(10));
    let before = Census::take();
    let patience = Duration::from_secs(10);
    let before = Census::settled(&Census { threads: 2, ..before }, patience).unwrap_or(before);
    live(9500);
    ledger::expect_all_closed(patience);
    match Census::settled(&before, patience) {
        Ok(after) => println!("  after 500 lives {before}; after 10 000 {after}"),
        Err(after) => ledger::fault(&format!("after 500 lives {before}; after 10 000 {after}")),
    }
}

async fn nezumi_sleep(time: Duration) {
    nezumi::time::sleep(time).await;
}
