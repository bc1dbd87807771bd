//! Programs whose wakers panic, and others that ask for trouble: they get it, and nobody else does.

use crate::support::{Census, burn, current_thread, eventually, runtime};
use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::spawn::{block_in_place, spawn, yield_now};
use nezumi_core::time::sleep;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const FOR_EVER: Duration = Duration::from_secs(10);

struct PanicOnWake;

impl Wake for PanicOnWake {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics, on purpose");
    }
}

struct PanicOnDrop;

impl Wake for PanicOnDrop {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        panic!("a waker whose drop panics, on purpose");
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls `future` once, by a waker of its own.
fn poll_by(waker: Waker, future: Pin<&mut impl Future<Output = ()>>) -> Poll<()> {
    future.poll(&mut Context::from_waker(&waker))
}

fn one_worker(configure: impl FnOnce(&mut Builder)) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all();
    configure(&mut builder);
    builder.build().unwrap()
}

/// Yields by a waker that panics, and after it by one that does not; whether that one is woken.
fn yield_by_both(woken: &Arc<Flag>) {
    assert!(poll_by(Arc::new(PanicOnWake).into(), pin!(yield_now())).is_pending());
    assert!(poll_by(woken.clone().into(), pin!(yield_now())).is_pending());
}

#[test]
fn who_yields_beside_a_waker_that_panics_is_woken() {
    let (rt, woken) = (one_worker(|_| {}), Arc::new(Flag::default()));
    let task = woken.clone();
    rt.spawn(async move { yield_by_both(&task) });
    eventually("the other is woken", || woken.0.load(Ordering::SeqCst));
}

#[test]
fn who_yields_beside_a_waker_that_panics_is_woken_on_one_thread_too() {
    let (rt, woken) = (current_thread(), Arc::new(Flag::default()));
    let task = woken.clone();
    rt.spawn(async move { yield_by_both(&task) });
    let run = std::panic::AssertUnwindSafe(|| rt.block_on(async { sleep(Duration::from_millis(5)).await }));
    assert!(std::panic::catch_unwind(run).is_err());
    assert!(woken.0.load(Ordering::SeqCst));
}

/// The watch fires the timers of a worker that is stuck, and so calls their wakers.
#[test]
fn a_waker_that_panics_does_not_end_the_watch() {
    let rt = Arc::new(one_worker(|builder| {
        builder.max_spare_workers(0);
    }));
    let (end, blocked) = (mpsc::channel::<()>(), Arc::new(Barrier::new(2)));
    let (inside, ended) = (blocked.clone(), end.1);
    let task = rt.spawn(async move {
        let mut timer = pin!(sleep(Duration::from_millis(5)));
        assert!(poll_by(Arc::new(PanicOnWake).into(), timer.as_mut()).is_pending());
        inside.wait();
        let _ = ended.recv();
    });
    blocked.wait();
    // This one lies with the same worker.
    let (slept, has_slept) = mpsc::channel();
    let sleeper = rt.clone();
    let thread = std::thread::spawn(move || {
        sleeper.block_on(async { sleep(Duration::from_millis(50)).await });
        slept.send(()).unwrap();
    });
    let outcome = has_slept.recv_timeout(FOR_EVER);
    drop(end.0);
    thread.join().unwrap();
    rt.block_on(task).unwrap();
    outcome.expect("the timers of a stuck worker fire, also after one whose waker panicked");
}

/// As on a worker, which would have fired the timer: what the waker spawns is spawned on its runtime.
#[test]
fn a_waker_that_spawns_may_do_so_on_the_watch() {
    struct SpawnOnWake(mpsc::Sender<()>);

    impl Wake for SpawnOnWake {
        fn wake(self: Arc<Self>) {
            spawn(async move { self.0.send(()).unwrap() });
        }
    }

    let rt = one_worker(|builder| {
        builder.max_spare_workers(0);
    });
    let (spawned, has_spawned) = mpsc::channel();
    rt.block_on(rt.spawn(async move {
        let mut timer = pin!(sleep(Duration::from_millis(5)));
        assert!(poll_by(Arc::new(SpawnOnWake(spawned)).into(), timer.as_mut()).is_pending());
        std::thread::sleep(Duration::from_millis(50));
    }))
    .unwrap();
    has_spawned.recv_timeout(FOR_EVER).expect("the waker was called, and could spawn");
}

#[test]
fn a_hook_that_blocks_does_not_hold_up_who_ends_the_runtime_without_waiting() {
    let (called, is_called) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let ended = std::sync::Mutex::new(ended);
    let told = Arc::new(AtomicBool::new(false));
    let tells = told.clone();
    let rt = one_worker(|builder| {
        builder.stuck_after(Duration::from_millis(1)).on_stuck(move |_| {
            tells.store(true, Ordering::Relaxed);
            let _ = called.send(());
            let _ = ended.lock().unwrap().recv();
        });
    });
    let task = rt.spawn(async move {
        let start = Instant::now();
        while !told.load(Ordering::Relaxed) && start.elapsed() < FOR_EVER {
            burn(Duration::from_millis(1));
        }
    });
    is_called.recv_timeout(FOR_EVER).expect("the watch tells of a poll that takes so long");
    let (shut_down, is_shut_down) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        rt.shutdown_background();
        shut_down.send(()).unwrap();
    });
    let outcome = is_shut_down.recv_timeout(FOR_EVER);
    drop((end, task));
    thread.join().unwrap();
    outcome.expect("it waits for nothing, not for the hook either");
}

/// A runtime of one worker that looks at everything after each poll. Counted as alive as long as its memory is.
fn counted() -> (Runtime, Census) {
    let census = Census::default();
    let alive = census.enter();
    let rt = one_worker(|builder| {
        builder.event_interval(1).on_thread_start(move || {
            let _ = &alive;
        });
    });
    (rt, census)
}

#[test]
fn deferred_wakers_whose_drops_panic_do_not_hold_up_the_end() {
    let (rt, census) = counted();
    let (blocked, end) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, ended) = (blocked.clone(), end.clone());
    rt.spawn(async move {
        // Two in one scope would end the process.
        for _ in 0..3 {
            assert!(poll_by(Arc::new(PanicOnDrop).into(), pin!(yield_now())).is_pending());
        }
        inside.wait();
        ended.wait();
    });
    blocked.wait();
    rt.shutdown_background();
    end.wait();
    eventually("the runtime's memory is gone", || census.alive() == 0);
}

#[test]
fn polls_of_before_are_not_counted_again_when_another_thread_is_the_worker() {
    let rt = one_worker(|_| {});
    let task = async {
        for _ in 0..50_000 {
            yield_now().await;
        }
        for _ in 0..40 {
            burn(Duration::from_millis(1));
            block_in_place(|| {});
            yield_now().await;
        }
    };
    rt.block_on(rt.spawn(task)).unwrap();
    let mean = rt.metrics().worker_mean_poll_time(0);
    assert!(mean > Duration::from_micros(700), "polls of a millisecond and more took {mean:?} in the mean");
}

/// Who comes second to a single-threaded runtime waits for the first to leave, however often others have waited meanwhile.
#[test]
fn who_waits_for_the_core_is_told_after_others_came_and_went() {
    let rt = Arc::new(current_thread());
    let (inside, is_inside) = mpsc::channel();
    let (leave, may_leave) = (Arc::new(Flag::default()), mpsc::channel());
    let (first, left) = (rt.clone(), leave.clone());
    let first = std::thread::spawn(move || {
        first.block_on(poll_fn(|cx| {
            if left.0.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            let _ = inside.send(());
            let _ = may_leave.0.send(cx.waker().clone());
            Poll::Pending
        }));
    });
    is_inside.recv().unwrap();
    // Polled often, and done, without the core.
    let mut polls = 0;
    rt.block_on(poll_fn(|cx| {
        polls += 1;
        cx.waker().wake_by_ref();
        if polls < 100 { Poll::Pending } else { Poll::Ready(()) }
    }));
    let (slept, has_slept) = mpsc::channel();
    let (polled, is_polled) = mpsc::channel();
    let waiting = rt.clone();
    std::thread::spawn(move || {
        waiting.block_on(async {
            let mut timer = pin!(sleep(Duration::from_millis(1)));
            poll_fn(|cx| {
                let poll = timer.as_mut().poll(cx);
                let _ = polled.send(());
                poll
            })
            .await;
        });
        let _ = slept.send(());
    });
    is_polled.recv().unwrap();
    leave.0.store(true, Ordering::SeqCst);
    may_leave.1.recv().unwrap().wake();
    first.join().unwrap();
    has_slept.recv_timeout(FOR_EVER).expect("the core is free, and the timer is due");
}

/// Of several who wait for the core the first may be done without it: the others are told of it, too.
#[test]
fn all_who_wait_for_the_core_are_told_that_it_is_free() {
    let rt = Arc::new(current_thread());
    let (inside, is_inside) = mpsc::channel();
    let (leave, done) = (Arc::new(Flag::default()), Arc::new(Flag::default()));
    let (first, left) = (rt.clone(), leave.clone());
    let first = std::thread::spawn(move || {
        first.block_on(poll_fn(|cx| {
            if left.0.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            let _ = inside.send(cx.waker().clone());
            Poll::Pending
        }));
    });
    let waker = is_inside.recv().unwrap();
    let (polled, is_polled) = mpsc::channel();
    let (second, is_done, tell) = (rt.clone(), done.clone(), polled.clone());
    let second = std::thread::spawn(move || {
        second.block_on(poll_fn(|_| {
            let _ = tell.send(());
            if is_done.0.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        }));
    });
    is_polled.recv().unwrap();
    // It stands in line a moment after it was polled. Should it come late, this shows nothing.
    std::thread::sleep(Duration::from_millis(20));
    let (told, is_told) = mpsc::channel();
    let third = rt.clone();
    std::thread::spawn(move || {
        // Nobody wakes it but whoever gives the core back: who gets it polls anew.
        let mut is_first = true;
        third.block_on(poll_fn(|_| {
            let _ = polled.send(());
            if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }
        }));
        let _ = told.send(());
    });
    is_polled.recv().unwrap();
    // As above: behind the second.
    std::thread::sleep(Duration::from_millis(20));
    done.0.store(true, Ordering::SeqCst);
    leave.0.store(true, Ordering::SeqCst);
    waker.wake();
    first.join().unwrap();
    second.join().unwrap();
    is_told.recv_timeout(FOR_EVER).expect("the core is free");
}

/// Panics when dropped, with another of its kind.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any(Bomb);
    }
}

/// What a panic carries is the program's, too: where its drop panics, the worker, the counts and those who wait are none the worse for it.
#[test]
fn a_panic_whose_payload_panics_when_dropped_ends_in_its_task() {
    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            std::panic::panic_any(Bomb);
        }
    }

    /// Its field is dropped with it, and not by the unwinding of its own frame, which would abort the process.
    struct PollPanics(#[allow(dead_code)] PanicsInDrop);

    impl Future for PollPanics {
        type Output = ();

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            std::panic::panic_any(Bomb)
        }
    }

    for workers in [1, 2] {
        let rt = runtime(workers);
        rt.block_on(async {
            // Nobody waits for it: the payload is dropped with the output.
            drop(spawn(async { std::panic::panic_any(Bomb) }));
            // The poll panics, and then the drop of the future: of two payloads one is dropped at once.
            drop(spawn(PollPanics(PanicsInDrop)));
            // The drop of a cancelled future panics.
            let cancelled = spawn(async {
                let _one = PanicsInDrop;
                std::future::pending::<()>().await;
            });
            yield_now().await;
            cancelled.abort();
            let error = cancelled.await.unwrap_err();
            assert!(error.is_panic() || error.is_cancelled());
            // Its payload is not ours to defuse.
            std::mem::forget(error);
            assert_eq!(spawn(async { 7 }).await.unwrap(), 7);
        });
        eventually("all tasks have ended", || rt.metrics().num_alive_tasks() == 0);
    }
}

/// A runtime may end up in a thread-local of a thread of its own pool, and so end when that thread does.
#[test]
fn a_runtime_ends_in_a_thread_local_of_its_own_thread() {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<Runtime>> = const { std::cell::RefCell::new(None) };
    }

    let census = Census::default();
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let rt = builder.worker_threads(1).thread_keep_alive(Duration::from_millis(1)).build().unwrap();
        let alive = census.enter();
        rt.spawn(async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        let handle = rt.handle().clone();
        handle.spawn_blocking(move || KEPT.set(Some(rt)));
        drop(handle);
    }
    eventually("both runtimes have ended", || census.alive() == 0);
}

/// A waker that waits for a task is dropped with the task, at the latest when the runtime ends. If that panics, the rest ends all the same.
#[test]
fn a_join_waker_that_panics_when_dropped_does_not_hold_up_the_end() {
    for workers in [1, 2] {
        let census = Census::default();
        let rt = runtime(workers);
        let mut waiting = Vec::new();
        for _ in 0..10 {
            let alive = census.enter();
            let mut task = Box::pin(rt.spawn(async move {
                let _alive = alive;
                std::future::pending::<()>().await;
            }));
            let waker = Waker::from(Arc::new(PanicOnDrop));
            assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            // The task has the only one left.
            drop(waker);
            waiting.push(task);
        }
        // Nobody polls them any more, and nobody takes the wakers back, until the runtime has ended.
        drop(rt);
        assert_eq!(census.alive(), 0);
        drop(waiting);
    }
}
