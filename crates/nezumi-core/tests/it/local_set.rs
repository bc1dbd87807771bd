//! `LocalSet`.

use crate::support::{Census, current_thread, runtime};
use nezumi_core::spawn::{LocalSet, spawn, spawn_blocking, spawn_local, yield_now};
use nezumi_core::time::sleep;
use nezumi_wake::coop;
use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[test]
fn local_tasks_stay_on_their_thread() {
    let rt = runtime(2);
    let set = LocalSet::new();
    set.block_on(&rt, async {
        let here = std::thread::current().id();
        let log = Rc::new(RefCell::new(Vec::new()));
        let tasks: Vec<_> = (0..100)
            .map(|i| {
                let log = log.clone();
                spawn_local(async move {
                    yield_now().await;
                    spawn(async {}).await.unwrap();
                    spawn_blocking(|| ()).await.unwrap();
                    assert_eq!(std::thread::current().id(), here);
                    log.borrow_mut().push(i);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(log.borrow().len(), 100);
    });
}

#[test]
fn awaiting_the_set_awaits_all_its_tasks() {
    let rt = current_thread();
    let set = LocalSet::new();
    let done = Rc::new(RefCell::new(0));
    for i in 0..200u64 {
        let done = done.clone();
        set.spawn_local(async move {
            sleep(Duration::from_micros(i)).await;
            *done.borrow_mut() += 1;
        });
    }
    rt.block_on(set);
    assert_eq!(*done.borrow(), 200);
}

#[test]
fn dropping_the_set_drops_its_tasks() {
    let rt = current_thread();
    let census = Census::default();
    let set = LocalSet::new();
    for i in 0..10 {
        let alive = census.enter();
        set.spawn_local(async move {
            let _alive = (alive, Rc::new(i));
            pending::<()>().await;
        });
    }
    rt.block_on(set.run_until(yield_now()));
    drop(set);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_wake_after_the_set_is_gone_does_nothing() {
    let rt = current_thread();
    let set = LocalSet::new();
    let (tx, rx) = mpsc::channel();
    set.spawn_local(poll_fn(move |cx| {
        tx.send(cx.waker().clone()).unwrap();
        Poll::<()>::Pending
    }));
    rt.block_on(set.run_until(yield_now()));
    let waker = rx.recv().unwrap();
    let elsewhere = waker.clone();
    drop(set);
    waker.wake();
    std::thread::spawn(move || elsewhere.wake()).join().unwrap();
}

#[test]
fn abort_from_another_thread_drops_on_the_sets_own() {
    struct Here(std::thread::ThreadId);

    impl Drop for Here {
        fn drop(&mut self) {
            assert_eq!(std::thread::current().id(), self.0);
        }
    }

    let rt = runtime(1);
    let set = LocalSet::new();
    let guard = Here(std::thread::current().id());
    let task = set.spawn_local(async move {
        let _guard = guard;
        pending::<()>().await;
    });
    let abort = task.abort_handle();
    set.block_on(&rt, async {
        yield_now().await;
        spawn_blocking(move || abort.abort()).await.unwrap();
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn the_entered_set_takes_spawns() {
    let rt = current_thread();
    let set = LocalSet::new();
    let task = {
        let _guard = set.enter();
        spawn_local(async { 5 })
    };
    assert_eq!(set.block_on(&rt, task).unwrap(), 5);
}

#[test]
fn the_future_of_run_until_shares_the_budget_of_the_task_that_polls_the_set() {
    let rt = current_thread();
    let polled_until_pending = || {
        let mut cx = Context::from_waker(Waker::noop());
        let mut rounds = 0;
        while pin!(coop::consume_budget()).poll(&mut cx).is_ready() {
            rounds += 1;
        }
        rounds
    };
    rt.block_on(async {
        coop::consume_budget().await;
        let inside = LocalSet::new().run_until(async { polled_until_pending() }).await;
        let task = spawn(async move { polled_until_pending() });
        assert_eq!(task.await.unwrap(), inside + 1);
    });
}

/// It never runs out of tasks of its own, and yet at every 31st turn what others have woken goes first.
#[test]
fn a_set_that_is_busy_still_looks_at_what_comes_from_other_threads() {
    let rt = current_thread();
    let set = LocalSet::new();
    let polls = Rc::new(Cell::new(0));
    let (tx, rx) = mpsc::channel();
    let polls_before = polls.clone();
    let mut is_woken = false;
    let waits = set.spawn_local(poll_fn(move |cx| {
        if std::mem::replace(&mut is_woken, true) {
            return Poll::Ready(polls_before.get());
        }
        tx.send(cx.waker().clone()).unwrap();
        Poll::Pending
    }));
    let busy = set.spawn_local(poll_fn(move |cx| {
        polls.set(polls.get() + 1);
        if polls.get() == 1 {
            let waker = rx.recv().unwrap();
            std::thread::spawn(move || waker.wake()).join().unwrap();
        }
        if polls.get() == 1000 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    let polls_before = set.block_on(&rt, async {
        busy.await.unwrap();
        waits.await.unwrap()
    });
    assert!(polls_before <= 31, "it came after {polls_before} polls of another task");
}
