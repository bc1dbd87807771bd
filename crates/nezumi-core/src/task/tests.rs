//! One task by hand: panics, counts, who drops what. Run under Miri, too.

use super::*;
use nezumi_wake::coop;
use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A scheduler that is a list. Counts are checked when the test ends.
#[derive(Default)]
struct List {
    queue: Mutex<Vec<Runnable>>,
    registry: Registry,
    schedulers: AtomicUsize,
}

struct Home(Arc<List>);

impl Drop for Home {
    fn drop(&mut self) {
        self.0.schedulers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Schedule for Home {
    const REGISTRY_REFS: usize = 1;

    unsafe fn schedule(this: *const Self, runnable: Runnable) {
        // SAFETY: valid until the runnable is given away.
        let list = unsafe { Arc::clone(&(*this).0) };
        list.queue.lock().unwrap().push(runnable);
    }

    fn release(&self, task: &Header) -> bool {
        // SAFETY: each test is one thread, which owns the registry.
        unsafe { self.0.registry.remove(task, true) }
    }
}

impl List {
    fn spawn<F: Future>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output> {
        self.schedulers.fetch_add(1, Ordering::Relaxed);
        // SAFETY: each test is one thread, and its tasks do not outlive what they borrow.
        let (runnable, join) = unsafe { new_task(future, Home(Arc::clone(self)), Origin::here()) };
        // SAFETY: as above.
        unsafe { self.registry.insert(runnable.as_ptr()) }.unwrap();
        self.queue.lock().unwrap().push(runnable);
        join
    }

    fn run(&self) -> usize {
        let mut count = 0;
        while let Some(runnable) = self.pop() {
            runnable.run();
            count += 1;
        }
        count
    }

    fn pop(&self) -> Option<Runnable> {
        self.queue.lock().unwrap().pop()
    }

    fn shut_down(&self) {
        // SAFETY: each test is one thread, which owns the registry.
        unsafe {
            let len = self.registry.close();
            self.registry.shut_down(len);
        }
    }

    /// Every task is freed: the conservation of tasks.
    #[track_caller]
    fn check_all_freed(&self) {
        assert_eq!(self.schedulers.load(Ordering::Relaxed), 0, "tasks leaked");
    }
}

/// Counts its drops, and panics in them if told to.
struct Dropped<'a>(&'a Cell<usize>, bool);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(!self.1, "a drop that panics");
    }
}

struct CountWakes {
    wakes: AtomicUsize,
    panics: bool,
}

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics, "a waker that panics");
    }
}

fn poll_once<T>(join: &mut JoinHandle<T>) -> Poll<Result<T, JoinError>> {
    pin!(join).poll(&mut Context::from_waker(Waker::noop()))
}

#[track_caller]
fn output<T>(join: &mut JoinHandle<T>) -> Result<T, JoinError> {
    match poll_once(join) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the task has not ended"),
    }
}

#[test]
fn output_comes_out_once_and_everything_is_freed() {
    let list = Arc::new(List::default());
    let mut join = list.spawn(async { 7 });
    assert!(poll_once(&mut join).is_pending());
    assert_eq!(list.run(), 1);
    assert!(join.is_finished());
    assert_eq!(output(&mut join).unwrap(), 7);
    catch_unwind(AssertUnwindSafe(|| output(&mut join))).unwrap_err();
    drop(join);
    list.check_all_freed();
}

/// Whoever awaits one handle after the other, all of which are ready, comes to no await that waits. The budget makes him let go.
#[test]
fn an_output_costs_one_of_the_budget() {
    let list = Arc::new(List::default());
    let mut joins: Vec<_> = (0..200).map(|n| list.spawn(async move { n })).collect();
    list.run();
    let mut outputs = Vec::new();
    for expected in [128, 200] {
        coop::budget(|| {
            let ready = joins[outputs.len()..].iter_mut().map_while(|join| match poll_once(join) {
                Poll::Ready(output) => Some(output.unwrap()),
                Poll::Pending => None,
            });
            outputs.extend(ready.collect::<Vec<_>>());
        });
        assert_eq!(outputs.len(), expected);
    }
    assert_eq!(outputs, (0..200).collect::<Vec<_>>());
    drop(joins);
    list.check_all_freed();
}

#[test]
fn the_future_is_dropped_before_the_handle_completes() {
    let list = Arc::new(List::default());
    let drops = Cell::new(0);
    let guard = Dropped(&drops, false);
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    let mut join = list.spawn(async move {
        let _guard = guard;
    });
    assert!(poll_once(&mut join).is_pending());
    list.run();
    seen.store(drops.get(), Ordering::Relaxed);
    assert_eq!((join.is_finished(), seen.load(Ordering::Relaxed)), (true, 1));
}

#[test]
fn a_detached_task_goes_on_and_drops_its_own_output() {
    let list = Arc::new(List::default());
    let drops = Cell::new(0);
    drop(list.spawn(async { Dropped(&drops, true) }));
    list.run();
    assert_eq!(drops.get(), 1, "and the panic of the drop goes nowhere");
    list.check_all_freed();
}

#[test]
fn an_output_that_nobody_wants_does_not_wait_for_the_last_waker() {
    for handle_goes_first in [true, false] {
        let list = Arc::new(List::default());
        let drops = Cell::new(0);
        let waker = Cell::new(None);
        let join = list.spawn(poll_fn(|cx| {
            waker.set(Some(cx.waker().clone()));
            Poll::Ready(Dropped(&drops, false))
        }));
        let mut join = Some(join);
        if handle_goes_first {
            join = None;
        }
        list.run();
        assert_eq!(drops.get(), usize::from(handle_goes_first));
        drop(join);
        assert_eq!(drops.get(), 1, "it lies in memory that a waker keeps");
        assert_eq!(list.schedulers.load(Ordering::Relaxed), 1, "a waker keeps it");
        drop(waker.take());
        list.check_all_freed();
    }
}

#[test]
fn a_panic_in_poll_comes_out_of_the_handle() {
    let list = Arc::new(List::default());
    let drops = Cell::new(0);
    let guard = Dropped(&drops, false);
    let mut join = list.spawn(async move {
        let _guard = guard;
        panic!("boom");
    });
    list.run();
    let error = output::<()>(&mut join).unwrap_err();
    assert_eq!(error.to_string(), format!("task {} panicked with message \"boom\"", error.id()));
    assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "boom");
    assert_eq!(drops.get(), 1);
    drop(join);
    list.check_all_freed();
}

#[test]
fn a_panic_in_the_futures_drop_comes_out_of_the_handle() {
    for abort in [false, true] {
        let list = Arc::new(List::default());
        let drops = Cell::new(0);
        let guard = Dropped(&drops, true);
        let mut join = list.spawn(poll_fn(move |_| {
            let _keep = &guard;
            if abort { Poll::Pending } else { Poll::Ready(()) }
        }));
        list.run();
        join.abort();
        list.run();
        assert!(output(&mut join).unwrap_err().is_panic());
        assert_eq!(drops.get(), 1);
        drop(join);
        list.check_all_freed();
    }
}

#[test]
fn an_output_is_dropped_where_the_futures_drop_panics() {
    for output_panics in [false, true] {
        let list = Arc::new(List::default());
        let (futures, outputs) = (Cell::new(0), Cell::new(0));
        let (guard, outputs_drops) = (Dropped(&futures, true), &outputs);
        let mut join = list.spawn(poll_fn(move |_| {
            let _keep = &guard;
            Poll::Ready(Dropped(outputs_drops, output_panics))
        }));
        list.run();
        assert_eq!((futures.get(), outputs.get()), (1, 1), "the panic stands in its place");
        assert!(output(&mut join).is_err_and(|error| error.is_panic()));
        drop(join);
        list.check_all_freed();
    }
}

#[test]
fn a_panic_in_the_outputs_drop_leaks_nothing() {
    let list = Arc::new(List::default());
    let drops = Cell::new(0);
    let join = list.spawn(async { Dropped(&drops, true) });
    list.run();
    drop(join);
    assert_eq!(drops.get(), 1);
    list.check_all_freed();
}

#[test]
fn a_panicking_join_waker_does_not_hurt_the_task() {
    let list = Arc::new(List::default());
    let wakes = Arc::new(CountWakes { wakes: AtomicUsize::new(0), panics: true });
    let waker = Waker::from(wakes.clone());
    let mut join = list.spawn(async { 1 });
    assert!(pin!(&mut join).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    list.run();
    assert_eq!(wakes.wakes.load(Ordering::Relaxed), 1);
    assert_eq!(Arc::strong_count(&wakes), 1, "the join waker is dropped eagerly");
    assert_eq!(output(&mut join).unwrap(), 1);
    drop(join);
    list.check_all_freed();
}

#[test]
fn dropping_the_handle_drops_its_waker() {
    let list = Arc::new(List::default());
    let wakes = Arc::new(CountWakes { wakes: AtomicUsize::new(0), panics: false });
    let waker = Waker::from(wakes.clone());
    let mut join = list.spawn(pending::<()>());
    let other = Waker::noop();
    for waker in [&waker, other, &waker, &waker] {
        assert!(pin!(&mut join).poll(&mut Context::from_waker(waker)).is_pending());
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&wakes), 2);
    drop(join);
    assert_eq!(Arc::strong_count(&wakes), 1);
    list.shut_down();
    list.run();
    list.check_all_freed();
}

#[test]
fn abort_before_during_and_after() {
    let list = Arc::new(List::default());
    // Before the first poll.
    let mut join = list.spawn(async {});
    join.abort();
    list.run();
    assert!(output(&mut join).unwrap_err().is_cancelled());
    drop(join);
    // While it waits: the abort alone schedules it.
    let mut join = list.spawn(pending::<()>());
    list.run();
    join.abort_handle().abort();
    assert_eq!(list.run(), 1);
    assert!(output(&mut join).unwrap_err().is_cancelled());
    drop(join);
    // During its poll.
    let cell: Arc<Mutex<Option<AbortHandle>>> = Arc::default();
    let inner = cell.clone();
    let mut join = list.spawn(poll_fn(move |_| {
        inner.lock().unwrap().take().unwrap().abort();
        Poll::<()>::Pending
    }));
    *cell.lock().unwrap() = Some(join.abort_handle());
    list.run();
    assert!(output(&mut join).unwrap_err().is_cancelled());
    drop(join);
    // After it is done: too late.
    let mut join = list.spawn(async { 3 });
    list.run();
    join.abort();
    assert_eq!(list.run(), 0);
    assert_eq!(output(&mut join).unwrap(), 3);
    drop(join);
    list.check_all_freed();
}

#[test]
fn wake_during_poll_is_not_lost_and_wakes_do_not_add_up() {
    let list = Arc::new(List::default());
    let polls = Cell::new(0);
    let mut join = list.spawn(poll_fn(|cx| {
        polls.set(polls.get() + 1);
        for _ in 0..3 {
            cx.waker().wake_by_ref();
            let owned = cx.waker().clone();
            owned.wake();
        }
        if polls.get() == 3 { Poll::Ready(()) } else { Poll::Pending }
    }));
    assert_eq!(list.run(), 3);
    output(&mut join).unwrap();
    drop(join);
    list.check_all_freed();
}

/// All at once, on threads of their own: a waker that is cloned, woken and dropped, an abort, and the drop of the handle, beside whoever runs the task.
#[test]
fn wakes_an_abort_and_the_drop_of_the_handle_race_the_polls() {
    struct CountDrops(Arc<AtomicUsize>);

    impl Drop for CountDrops {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    for _ in 0..if cfg!(miri) { 2 } else { 300 } {
        let list = Arc::new(List::default());
        let drops = Arc::new(AtomicUsize::new(0));
        let place: Arc<Mutex<Option<Waker>>> = Arc::default();
        let (guard, inner) = (CountDrops(drops.clone()), place.clone());
        let mut polls = 0;
        let join = list.spawn(poll_fn(move |cx| {
            let _held = &guard;
            inner.lock().unwrap().get_or_insert_with(|| cx.waker().clone());
            polls += 1;
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        }));
        list.run();
        let waker = place.lock().unwrap().take().unwrap();
        let abort = join.abort_handle();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let another = waker.clone();
                waker.wake_by_ref();
                drop(waker);
                another.wake();
            });
            scope.spawn(move || abort.abort());
            scope.spawn(move || drop(join));
            for _ in 0..3 {
                list.run();
                std::thread::yield_now();
            }
        });
        list.run();
        drop(place.lock().unwrap().take());
        assert_eq!(drops.load(Ordering::Relaxed), 1, "aborted, or polled three times: once");
        list.check_all_freed();
    }
}

#[test]
fn wakers_outlive_the_task_and_the_last_one_frees_it() {
    let list = Arc::new(List::default());
    let place: Arc<Mutex<Option<Waker>>> = Arc::default();
    let inner = place.clone();
    let join = list.spawn(poll_fn(move |cx| {
        let mut place = inner.lock().unwrap();
        if place.replace(cx.waker().clone()).is_some() { Poll::Ready(()) } else { Poll::Pending }
    }));
    list.run();
    let waker = place.lock().unwrap().clone().unwrap();
    assert!(waker.will_wake(place.lock().unwrap().as_ref().unwrap()));
    waker.wake_by_ref();
    list.run();
    assert!(join.is_finished());
    drop(join);
    place.lock().unwrap().take();
    assert_eq!(list.schedulers.load(Ordering::Relaxed), 1, "a waker still holds the task");
    waker.wake_by_ref();
    assert_eq!(list.run(), 0);
    waker.wake();
    list.check_all_freed();
}

#[test]
fn shutdown_takes_idle_and_queued_tasks_once() {
    let list = Arc::new(List::default());
    let drops = Cell::new(0);
    let mut idle = list.spawn(async {
        let _guard = Dropped(&drops, false);
        pending::<()>().await;
    });
    list.run();
    let mut queued = list.spawn(async {
        let _guard = Dropped(&drops, false);
        pending::<()>().await;
    });
    list.shut_down();
    assert!(output(&mut idle).unwrap_err().is_cancelled());
    assert!(output(&mut queued).unwrap_err().is_cancelled());
    assert_eq!(drops.get(), 1, "the queued one never began");
    assert_eq!(list.run(), 1, "its runnable finds the task gone");
    drop((idle, queued));
    list.check_all_freed();
}

#[test]
fn ids_are_current_in_poll_and_in_drops() {
    struct Ids(Arc<Mutex<Vec<Option<Id>>>>);

    impl Drop for Ids {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(try_id());
        }
    }

    let list = Arc::new(List::default());
    let seen: Arc<Mutex<Vec<Option<Id>>>> = Arc::default();
    let ids = Ids(seen.clone());
    let join = list.spawn(async move {
        let _in_poll = Ids(ids.0.clone());
        drop(ids);
        Ids(_in_poll.0.clone())
    });
    let id = join.id();
    list.run();
    drop(join);
    assert_eq!(*seen.lock().unwrap(), [Some(id); 3]);
    assert_eq!(try_id(), None);
}

mod registry {
    use super::*;

    #[test]
    fn slots_are_reused_and_chunks_grow() {
        let list = Arc::new(List::default());
        for round in 0..3 {
            let joins: Vec<_> = (0..200).map(|_| list.spawn(async {})).collect();
            assert_eq!(list.run(), 200);
            drop(joins);
            list.check_all_freed();
            // SAFETY: this thread owns the registry.
            let slots = unsafe { list.registry.slots() };
            assert_eq!(slots, 64 + 128 + 256, "round {round}");
        }
    }

    #[test]
    fn what_others_free_comes_back_to_the_owner() {
        let list = Arc::new(List::default());
        let joins: Vec<_> = (0..64).map(|_| list.spawn(pending::<()>())).collect();
        for _ in 0..64 {
            let runnable = list.pop().unwrap();
            // SAFETY: the task was inserted, and its runnable holds a reference; the slot's becomes ours.
            unsafe {
                assert!(list.registry.remove(runnable.header(), false));
                assert!(!list.registry.remove(runnable.header(), false), "only once");
                drop(TaskRef::from_header(runnable.as_ptr()));
            }
            runnable.cancel();
        }
        drop(joins);
        list.check_all_freed();
        let more: Vec<_> = (0..64).map(|_| list.spawn(async {})).collect();
        // SAFETY: this thread owns the registry.
        assert_eq!(unsafe { list.registry.slots() }, 64);
        list.run();
        drop(more);
        list.check_all_freed();
    }

    #[test]
    fn closed_refuses() {
        let list = Arc::new(List::default());
        list.shut_down();
        list.schedulers.fetch_add(1, Ordering::Relaxed);
        // SAFETY: this thread owns the registry; the reference that it does not take is given up below.
        let (runnable, mut join) = unsafe {
            let (runnable, join) = new_task(async {}, Home(Arc::clone(&list)), Origin::here());
            assert!(list.registry.insert(runnable.as_ptr()).is_err());
            drop(TaskRef::from_header(runnable.as_ptr()));
            (runnable, join)
        };
        runnable.cancel();
        assert!(output(&mut join).unwrap_err().is_cancelled());
        drop(join);
        list.check_all_freed();
    }
}

/// More than the tally counts: the rest goes into the word. All are dropped in a later poll of the task, where the tally counts down.
#[test]
fn clones_in_a_poll_may_be_more_than_the_tally_holds() {
    let list = Arc::new(List::default());
    let count = if cfg!(miri) { 10 } else { tally::HELD + 10 };
    let mut clones: Vec<Waker> = Vec::new();
    let join = list.spawn(poll_fn(move |cx| {
        if !clones.is_empty() {
            clones.clear();
            return Poll::Ready(());
        }
        clones.extend((0..count).map(|_| cx.waker().clone()));
        // By value and by reference, both within its own poll.
        clones.pop().unwrap().wake();
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    assert_eq!(list.run(), 2, "both wakes together make one further poll");
    assert!(join.is_finished());
    drop(join);
    list.check_all_freed();
}

/// The task is over, but for what is left of the clones of its last poll.
#[test]
fn clones_in_a_poll_that_is_the_last_keep_the_task() {
    let list = Arc::new(List::default());
    let kept = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let join = list.spawn({
        let kept = kept.clone();
        poll_fn(move |cx| {
            *kept.borrow_mut() = vec![cx.waker().clone(), cx.waker().clone()];
            Poll::Ready(())
        })
    });
    drop(join);
    assert_eq!(list.run(), 1);
    assert_eq!(list.schedulers.load(Ordering::Relaxed), 1, "held by two wakers");
    let last = kept.borrow_mut().pop().unwrap();
    kept.borrow_mut().clear();
    last.wake_by_ref();
    drop(last);
    list.check_all_freed();
}

/// As where a task polls those of a `LocalSet`: each poll counts for itself.
#[test]
fn clones_in_a_poll_and_its_wakes_outlast_a_poll_inside_it() {
    let (list, inner) = (Arc::new(List::default()), Arc::new(List::default()));
    let kept = std::rc::Rc::new(std::cell::RefCell::new(None));
    let join = list.spawn({
        let (inner, kept) = (inner.clone(), kept.clone());
        poll_fn(move |cx| {
            if kept.borrow().is_some() {
                return Poll::Ready(());
            }
            *kept.borrow_mut() = Some(cx.waker().clone());
            cx.waker().wake_by_ref();
            drop(inner.spawn(poll_fn(|cx| {
                drop(cx.waker().clone());
                Poll::Ready(())
            })));
            assert_eq!(inner.run(), 1);
            Poll::Pending
        })
    });
    assert_eq!(list.run(), 2, "it was woken before the poll inside");
    assert!(join.is_finished());
    drop(join);
    assert_eq!(list.schedulers.load(Ordering::Relaxed), 1, "held by a waker");
    drop(kept.take());
    list.check_all_freed();
    inner.check_all_freed();
}
