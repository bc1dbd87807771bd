//! Loom models of the state word, the join waker and the registry.

use super::*;
use loom::future::block_on;
use loom::thread;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_prim::sync::{Arc, Mutex};
use std::future::{pending, poll_fn};
use std::task::Poll;

/// A scheduler that is a list.
struct List {
    queue: Mutex<Vec<Runnable>>,
    registry: Registry,
    /// The thread that owns the registry is the model's first one.
    alive: AtomicUsize,
}

struct Home(Arc<List>);

impl Drop for Home {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Schedule for Home {
    const REGISTRY_REFS: usize = 1;

    unsafe fn schedule(this: *const Self, runnable: Runnable) {
        // SAFETY: valid until the runnable is given away.
        let list = unsafe { Arc::clone(&(*this).0) };
        list.queue.lock().push(runnable);
    }

    fn release(&self, task: &Header) -> bool {
        // SAFETY: never as the owner.
        unsafe { self.0.registry.remove(task, false) }
    }
}

fn list() -> Arc<List> {
    Arc::new(List { queue: Mutex::new(Vec::new()), registry: Registry::new(), alive: AtomicUsize::new(0) })
}

/// Called on the model's first thread only.
fn spawn<F>(list: &Arc<List>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
{
    list.alive.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the future is `Send` and `'static`.
    let (runnable, join) = unsafe { new_task(future, Home(list.clone()), Origin::here()) };
    // SAFETY: this is the first thread.
    unsafe { list.registry.insert(runnable.as_ptr()) }.unwrap();
    list.queue.lock().push(runnable);
    join
}

fn run_all(list: &List) {
    loop {
        let next = list.queue.lock().pop();
        match next {
            Some(runnable) => runnable.run(),
            None => break,
        }
    }
}

fn run_until(list: &List, done: impl Fn() -> bool) {
    while !done() {
        run_all(list);
        thread::yield_now();
    }
}

fn shut_down(list: &List) {
    // SAFETY: this is the first thread.
    unsafe {
        let len = list.registry.close();
        list.registry.shut_down(len);
    }
}

fn check_all_freed(list: &List) {
    run_all(list);
    assert_eq!(list.alive.load(Ordering::Relaxed), 0, "a task leaked");
}

/// Of two wakes that race with the poll and with each other, one is redundant. What both wrote first must be seen.
#[test]
fn redundant_wake_publishes() {
    loom::model(|| {
        let list = list();
        let data = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let place: Arc<Mutex<Option<std::task::Waker>>> = Arc::new(Mutex::new(None));
        let join = {
            let (data, place) = (data.clone(), place.clone());
            spawn(
                &list,
                poll_fn(move |cx| {
                    *place.lock() = Some(cx.waker().clone());
                    let seen = data.0.load(Ordering::Relaxed) + data.1.load(Ordering::Relaxed);
                    if seen == 2 { Poll::Ready(()) } else { Poll::Pending }
                }),
            )
        };
        run_all(&list);
        let waker = place.lock().take().unwrap();
        let other = {
            let (data, waker) = (data.clone(), waker.clone());
            thread::spawn(move || {
                data.0.store(1, Ordering::Relaxed);
                waker.wake();
            })
        };
        data.1.store(1, Ordering::Relaxed);
        waker.wake_by_ref();
        run_all(&list);
        other.join().unwrap();
        run_all(&list);
        assert!(join.is_finished(), "a wake was lost, or what it published");
        drop((join, waker));
        place.lock().take();
        check_all_freed(&list);
    });
}

#[test]
fn join_sees_the_output() {
    loom::model(|| {
        let list = list();
        let join = spawn(&list, async { 7 });
        let runner = {
            let list = list.clone();
            thread::spawn(move || run_all(&list))
        };
        assert_eq!(block_on(join).unwrap(), 7);
        runner.join().unwrap();
        check_all_freed(&list);
    });
}

#[test]
fn join_dropped_while_the_task_runs() {
    loom::model(|| {
        let list = list();
        let output = Arc::new(AtomicUsize::new(0));
        struct Output(Arc<AtomicUsize>);
        impl Drop for Output {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let inner = Output(output.clone());
        let mut join = spawn(&list, async move { inner });
        let runner = {
            let list = list.clone();
            thread::spawn(move || run_all(&list))
        };
        // Registers a waker, or takes the output.
        let polled = {
            let waker = std::task::Waker::noop();
            std::pin::Pin::new(&mut join).poll(&mut std::task::Context::from_waker(waker)).is_ready()
        };
        drop(join);
        runner.join().unwrap();
        let _ = polled;
        check_all_freed(&list);
        assert_eq!(output.load(Ordering::Relaxed), 1, "the output is dropped exactly once");
    });
}

#[test]
fn abort_races_wake_and_run() {
    loom::model(|| {
        let list = list();
        let place: Arc<Mutex<Option<std::task::Waker>>> = Arc::new(Mutex::new(None));
        let join = {
            let place = place.clone();
            spawn(
                &list,
                poll_fn(move |cx| {
                    let first = place.lock().replace(cx.waker().clone()).is_none();
                    if first { Poll::Pending } else { Poll::Ready(()) }
                }),
            )
        };
        run_all(&list);
        let waker = place.lock().clone().unwrap();
        let abort = join.abort_handle();
        let aborter = thread::spawn(move || abort.abort());
        let runner = {
            let list = list.clone();
            thread::spawn(move || {
                waker.wake();
                run_all(&list);
            })
        };
        aborter.join().unwrap();
        runner.join().unwrap();
        run_all(&list);
        assert!(join.is_finished());
        drop(join);
        place.lock().take();
        check_all_freed(&list);
    });
}

#[test]
fn shutdown_races_run_and_wake() {
    loom::model(|| {
        let list = list();
        let place: Arc<Mutex<Option<std::task::Waker>>> = Arc::new(Mutex::new(None));
        let join = {
            let place = place.clone();
            spawn(
                &list,
                poll_fn(move |cx| {
                    let first = place.lock().replace(cx.waker().clone()).is_none();
                    if first { Poll::Pending } else { Poll::Ready(()) }
                }),
            )
        };
        run_all(&list);
        let waker = place.lock().take().unwrap();
        let runner = {
            let list = list.clone();
            thread::spawn(move || {
                waker.wake();
                run_all(&list);
            })
        };
        shut_down(&list);
        runner.join().unwrap();
        run_all(&list);
        assert!(join.is_finished());
        drop(join);
        place.lock().take();
        check_all_freed(&list);
    });
}

/// Whoever completes a task and the owner that shuts down race for the registry's reference.
#[test]
fn remove_races_shutdown() {
    loom::model(|| {
        let list = list();
        let joins = [spawn(&list, async {}), spawn(&list, pending::<()>())];
        let runner = {
            let list = list.clone();
            thread::spawn(move || run_all(&list))
        };
        shut_down(&list);
        runner.join().unwrap();
        run_all(&list);
        assert!(joins.iter().all(JoinHandle::is_finished));
        drop(joins);
        check_all_freed(&list);
    });
}

/// Two threads give slots back while the owner takes new ones.
#[test]
fn remote_frees_race_insert() {
    loom::model(|| {
        let list = list();
        drop([spawn(&list, async {}), spawn(&list, async {})]);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let runnable = list.queue.lock().pop().unwrap();
                thread::spawn(move || runnable.run())
            })
            .collect();
        drop([spawn(&list, async {}), spawn(&list, async {})]);
        for thread in threads {
            thread.join().unwrap();
        }
        run_until(&list, || list.alive.load(Ordering::Relaxed) == 0);
        // SAFETY: this is the first thread.
        assert!(unsafe { list.registry.slots() } <= 2 + 4);
        check_all_freed(&list);
    });
}

/// One is given back while the owner takes over what others have, or makes new ones for want of any.
#[test]
fn no_slot_is_lost_that_is_given_back_while_the_owner_looks() {
    loom::model(|| {
        let list = list();
        // SAFETY: this is the first thread.
        let slots = || unsafe { list.registry.slots() };
        drop([spawn(&list, async {}), spawn(&list, async {})]);
        let runnable = list.queue.lock().pop().unwrap();
        let other = thread::spawn(move || runnable.run());
        drop(spawn(&list, async {}));
        other.join().unwrap();
        run_until(&list, || list.alive.load(Ordering::Relaxed) == 0);
        let count = slots();
        (0..count).for_each(|_| drop(spawn(&list, async {})));
        assert_eq!(slots(), count, "there is room for as many");
        run_until(&list, || list.alive.load(Ordering::Relaxed) == 0);
        check_all_freed(&list);
    });
}

/// A poll makes references that only its tally knows, and they are given up on another thread while it goes on.
#[test]
fn clones_of_a_poll_are_dropped_elsewhere() {
    loom::model(|| {
        let list = list();
        let place: Arc<Mutex<Vec<std::task::Waker>>> = Arc::default();
        let join = {
            let place = place.clone();
            let mut polls = 0;
            spawn(
                &list,
                poll_fn(move |cx| {
                    polls += 1;
                    *place.lock() = vec![cx.waker().clone(), cx.waker().clone()];
                    drop(cx.waker().clone());
                    if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
                }),
            )
        };
        // Without the handle, and later without the registry, the clones are all there is beside the runnable.
        drop(join);
        let other = {
            let place = place.clone();
            thread::spawn(move || {
                let mut wakers = std::mem::take(&mut *place.lock());
                drop(wakers.pop());
                if let Some(waker) = wakers.pop() {
                    waker.wake();
                }
            })
        };
        run_all(&list);
        other.join().unwrap();
        run_all(&list);
        // Woken for the second time by whoever is left, unless it was before its first poll that the other looked.
        let left = std::mem::take(&mut *place.lock());
        for waker in left {
            waker.wake();
        }
        run_all(&list);
        place.lock().clear();
        check_all_freed(&list);
    });
}

/// A handle changes its waker, or does not, while the task ends.
#[test]
fn a_join_waker_is_changed_while_the_task_ends() {
    struct Count(Arc<AtomicUsize>);
    impl std::task::Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    for polls in [[0, 0, 0], [0, 1, 1], [0, 1, 0]] {
        loom::model(move || {
            let list = list();
            let mut join = spawn(&list, async {});
            let wakes = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
            let wakers = [0, 1]
                .map(|which: usize| std::task::Waker::from(std::sync::Arc::new(Count(wakes[which].clone()))));
            let runner = {
                let list = list.clone();
                thread::spawn(move || run_all(&list))
            };
            let mut ready = false;
            for which in polls {
                let mut cx = std::task::Context::from_waker(&wakers[which]);
                if std::pin::Pin::new(&mut join).poll(&mut cx).is_ready() {
                    ready = true;
                    break;
                }
            }
            runner.join().unwrap();
            let woken = wakes[polls[2]].load(Ordering::Relaxed);
            assert!(ready || woken == 1, "whoever waited last is told");
            assert!(wakes.iter().all(|wakes| wakes.load(Ordering::Relaxed) <= 1));
            drop((join, wakers));
            // Each clone that the field held was woken or dropped once.
            assert!(wakes.iter().all(|wakes| Arc::strong_count(wakes) == 1));
            check_all_freed(&list);
        });
    }
}

/// The usual end of a handle, with nothing to drop and nobody to wake, comes before the task is freed elsewhere.
#[test]
fn a_handle_is_dropped_at_once_and_the_task_runs_elsewhere() {
    loom::model(|| {
        let list = list();
        let join = spawn(&list, async {});
        let runner = {
            let list = list.clone();
            thread::spawn(move || run_all(&list))
        };
        drop(join);
        runner.join().unwrap();
        check_all_freed(&list);
    });
}

/// Two hold a task that is complete. Whoever lets go last frees it, after all that the other did to it.
#[test]
fn the_last_of_two_frees_a_complete_task() {
    loom::model(|| {
        let list = list();
        let join = spawn(&list, async { 7 });
        run_all(&list);
        let abort = join.abort_handle();
        let other = thread::spawn(move || drop(abort));
        drop(join);
        other.join().unwrap();
        check_all_freed(&list);
    });
}
