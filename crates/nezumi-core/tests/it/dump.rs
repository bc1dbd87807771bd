//! Dumps: that all tasks are on them, whatever they do, and that making one disturbs nobody.

use nezumi_core::dump::{Dump, Task, TaskState, Trace};
use nezumi_core::runtime::{Builder, Handle, LocalOptions, Runtime};
use nezumi_core::spawn::{JoinSet, LocalSet, block_in_place, spawn, spawn_local, yield_now};
use nezumi_core::task::Id;
use nezumi_core::time::sleep;
use std::future::{Future, pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

fn multi(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn find(dump: &Dump, id: Id) -> &Task {
    dump.all_tasks()
        .find(|task| task.id() == id)
        .unwrap_or_else(|| panic!("task {id} is not on the dump:\n{dump}"))
}

#[inline(never)]
async fn outer(leaf: impl Future<Output = ()>) {
    inner(leaf).await;
}

#[inline(never)]
async fn inner(leaf: impl Future<Output = ()>) {
    INNER.store(line!() + 1, Ordering::Relaxed);
    leaf.await;
}

/// The line in which `inner` waits.
static INNER: AtomicU32 = AtomicU32::new(0);

/// Whether a trace says that somebody waits in `inner`.
fn names_inner(trace: &str) -> bool {
    trace.contains(&format!("{}:{}:", file!(), INNER.load(Ordering::Relaxed)))
}

/// Tasks that wait for anything tell where, by the functions of the program that they are in, and by no function of the scheduler.
#[test]
fn a_task_that_waits_tells_where() {
    for rt in [multi(2), current()] {
        let dump = rt.block_on(async {
            let (_tx, rx) = nezumi::sync::oneshot::channel::<()>();
            let notify = Arc::new(nezumi::sync::Notify::new());
            let never = spawn(pending::<()>());
            let waits = [
                spawn(outer(sleep(Duration::from_secs(1000)))),
                spawn(outer(async {
                    rx.await.unwrap();
                })),
                spawn(outer(async move { notify.notified().await })),
                spawn(outer(async move { never.await.unwrap() })),
            ];
            yield_now().await;
            let dump = Handle::current().dump().await;
            for wait in &waits {
                let task = find(&dump, wait.id());
                assert!(dump.tasks().iter().any(|told| told.id() == wait.id()), "{dump}");
                let trace = task.trace().to_string();
                assert!(names_inner(&trace), "{trace}");
                assert!(!trace.contains("task/run.rs") && !trace.contains("src/panic"), "{trace}");
                assert!(
                    trace.starts_with("└╼ ") && trace.lines().next().unwrap().contains(file!()),
                    "{trace}"
                );
                assert_eq!((task.spawned_at().file(), task.name()), (file!(), None));
            }
            assert_eq!(dump.all_tasks().count(), 5);
            waits.iter().for_each(nezumi_core::task::JoinHandle::abort);
            dump
        });
        assert!(dump.to_string().contains("spawned at"));
    }
}

/// What is asked by one more poll is not moved on by it: the leaf is not completed, though it could be.
#[test]
fn a_trace_does_not_move_a_task_on() {
    for rt in [multi(1), current()] {
        rt.block_on(async {
            let polls = Arc::new(AtomicUsize::new(0));
            let counts = polls.clone();
            let task = spawn(async move {
                let mut wait = Box::pin(sleep(Duration::from_secs(1000)));
                poll_fn(|cx| {
                    counts.fetch_add(1, Ordering::SeqCst);
                    wait.as_mut().poll(cx)
                })
                .await;
            });
            while polls.load(Ordering::SeqCst) == 0 {
                yield_now().await;
            }
            for _ in 0..3 {
                Handle::current().dump().await;
            }
            assert!(!task.is_finished());
            assert!(polls.load(Ordering::SeqCst) >= 4);
            task.abort();
        });
    }
}

/// All workers sit in polls: of each task is told what is known without it.
#[test]
fn tasks_that_are_stuck_are_on_it_with_their_worker() {
    let rt = Builder::new_multi_thread().worker_threads(2).max_spare_workers(0).enable_all().build().unwrap();
    let (stuck, end) = (Arc::new(Barrier::new(3)), Arc::new(Barrier::new(3)));
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let (stuck, end) = (stuck.clone(), end.clone());
            rt.spawn(async move {
                stuck.wait();
                end.wait();
            })
        })
        .collect();
    stuck.wait();
    let waits = rt.spawn(async {});
    let dump = rt.block_on(rt.handle().dump());
    let mut workers = Vec::new();
    for task in &tasks {
        match find(&dump, task.id()).state() {
            TaskState::Stuck { worker, elapsed } if elapsed >= Duration::from_millis(5) => {
                workers.push(worker)
            }
            other => panic!("{other}"),
        }
    }
    workers.sort_unstable();
    assert_eq!(workers, [0, 1]);
    assert_eq!(find(&dump, waits.id()).state(), TaskState::Scheduled);
    assert_eq!(dump.tasks().iter().count(), 0, "nobody could be asked");
    end.wait();
    rt.block_on(waits).unwrap();
}

#[test]
fn a_current_thread_runtime_that_is_stuck_is_dumped_from_outside() {
    let rt = current();
    let handle = rt.handle().clone();
    let (blocked, is_blocked) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let driver = thread::spawn(move || {
        rt.block_on(rt.spawn(async move {
            blocked.send(nezumi_core::task::id()).unwrap();
            ended.recv().unwrap();
        }))
        .unwrap();
    });
    let id = is_blocked.recv().unwrap();
    let dump = current().block_on(async { handle.dump().await });
    assert!(matches!(find(&dump, id).state(), TaskState::Stuck { worker: 0, .. }), "{dump}");
    end.send(()).unwrap();
    driver.join().unwrap();
}

/// A task that gave its worker up is in a poll of nobody's, and keeps nobody from answering.
#[test]
fn a_task_in_block_in_place_is_running_on_no_worker() {
    let rt = multi(1);
    let (entered, is_entered) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let task = rt.spawn(async move {
        block_in_place(|| {
            entered.send(()).unwrap();
            ended.recv().unwrap();
        });
    });
    is_entered.recv().unwrap();
    let dump = rt.block_on(rt.handle().dump());
    assert!(matches!(find(&dump, task.id()).state(), TaskState::Running { worker: None, .. }), "{dump}");
    end.send(()).unwrap();
    rt.block_on(task).unwrap();
}

/// Futures that are not `Send` are polled on their own thread, or not at all.
#[test]
fn a_local_runtime_is_dumped_on_its_own_thread() {
    let rt = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    let here = thread::current().id();
    let task = rt.spawn_local(async move {
        let not_send = Rc::new(());
        poll_fn(|cx| {
            assert_eq!(thread::current().id(), here);
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })
        .await;
        drop(not_send);
    });
    let handle = rt.handle().clone();
    let from_abroad =
        thread::spawn(move || current().block_on(async { handle.dump().await })).join().unwrap();
    assert_eq!(find(&from_abroad, task.id()).state(), TaskState::Scheduled);
    let dump = rt.block_on(async { Handle::current().dump().await });
    assert_eq!(dump.tasks().iter().count(), 1);
    task.abort();
}

/// The tasks of a set are seen through the task that runs it.
#[test]
fn a_local_set_is_in_the_trace_of_its_task() {
    let rt = current();
    rt.block_on(async {
        let (tx, rx) = nezumi::sync::oneshot::channel();
        let _set = thread::spawn(move || {
            let rt = current();
            rt.block_on(async {
                let set = LocalSet::new();
                set.spawn_local(async {
                    spawn_local(outer(pending_sleep())).await.unwrap();
                });
                let (_, trace) = set
                    .run_until(async {
                        yield_now().await;
                        let mut never = Box::pin(outer(pending_sleep()));
                        poll_fn(|cx| Poll::Ready(Trace::capture(|| never.as_mut().poll(cx)))).await
                    })
                    .await;
                tx.send(trace.to_string()).unwrap();
            });
        });
        let trace = rx.await.unwrap();
        assert!(names_inner(&trace), "{trace}");
    });
}

async fn pending_sleep() {
    sleep(Duration::from_secs(1000)).await;
}

/// Dump after dump, from several threads, while tasks are spawned, woken, aborted, completed, on workers that are blocked now and then. Nothing is lost, nobody hangs, and
/// each task is dropped once.
#[test]
fn dumps_in_the_middle_of_everything() {
    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    let rt = multi(2);
    let (alive, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let dumps = [0, 1].map(|_| {
        let (handle, over) = (rt.handle().clone(), over.clone());
        thread::spawn(move || {
            let rt = current();
            let mut dumps = 0;
            while !over.load(Ordering::SeqCst) {
                let dump = rt.block_on(async { handle.dump().await });
                let mut ids: Vec<_> = dump.all_tasks().map(Task::id).collect();
                ids.sort_unstable();
                assert!(ids.windows(2).all(|two| two[0] != two[1]), "a task is on it twice");
                dumps += 1;
            }
            dumps
        })
    });
    let rounds = if cfg!(miri) { 2 } else { 60 };
    let sum = rt.block_on(rt.spawn({
        let alive = alive.clone();
        async move {
            let mut sum = 0;
            for round in 0..rounds {
                let mut set = JoinSet::new();
                for i in 0..100u64 {
                    alive.fetch_add(1, Ordering::SeqCst);
                    let counted = Counted(alive.clone());
                    set.spawn(async move {
                        let _counted = counted;
                        match i % 7 {
                            0 => sleep(Duration::from_millis(i % 5)).await,
                            1 => drop(spawn(async {})),
                            2 => spawn(yield_now()).await.unwrap(),
                            3 if round % 16 == 0 && i < 20 => thread::sleep(Duration::from_millis(4)),
                            _ => yield_now().await,
                        }
                        i
                    });
                }
                let aborted = spawn(pending::<()>());
                yield_now().await;
                aborted.abort();
                assert!(aborted.await.unwrap_err().is_cancelled());
                while let Some(i) = set.join_next().await {
                    sum += i.unwrap();
                }
            }
            sum
        }
    }));
    assert_eq!(sum.unwrap(), rounds * 4950);
    over.store(true, Ordering::SeqCst);
    let dumps: usize = dumps.into_iter().map(|dumps| dumps.join().unwrap()).sum();
    assert!(dumps > 0);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    while rt.metrics().num_alive_tasks() != 0 {
        thread::yield_now();
    }
}

/// The end of a runtime does not wait for dumps, nor they for it; and what they keep for a while goes.
#[test]
fn a_runtime_ends_while_it_is_dumped() {
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Counts(Arc<AtomicUsize>);

    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    for round in 0..if cfg!(miri) { 2 } else { 20 } {
        let rt = multi(2);
        for _ in 0..50 {
            let counts = Counts(dropped.clone());
            rt.spawn(async move {
                let _counts = counts;
                pending::<()>().await;
            });
        }
        let handle = rt.handle().clone();
        let dump = thread::spawn(move || current().block_on(async { handle.dump().await }));
        thread::sleep(Duration::from_micros(round * 50));
        drop(rt);
        assert_eq!(dropped.swap(0, Ordering::SeqCst), 50);
        dump.join().unwrap();
    }
}

/// A task that ends in the poll that was to tell where it waits is over, and no less joined.
#[test]
fn a_future_may_end_in_the_poll_that_traces_it() {
    for rt in [multi(2), current()] {
        rt.block_on(async {
            let ends = spawn(poll_fn(|cx| {
                if Handle::is_tracing() {
                    return Poll::Ready(7);
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            }));
            Handle::current().dump().await;
            assert_eq!(ends.await.unwrap(), 7);
        });
    }
}
