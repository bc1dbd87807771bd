//! The multi-threaded scheduler.

use crate::support::{Census, burn, current_thread, eventually, runtime};
use nezumi_core::runtime::{self, Builder};
use nezumi_core::spawn::{self, block_in_place, spawn, spawn_blocking, yield_now};
use nezumi_core::task::Priority;
use nezumi_core::time::sleep;
use nezumi_wake::coop;
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn tasks_spawned_everywhere_all_complete() {
    for workers in [1, 2, 4, 8] {
        let rt = runtime(workers);
        let done = Arc::new(AtomicUsize::new(0));
        rt.block_on(async {
            let outer: Vec<_> = (0..20)
                .map(|_| {
                    let done = done.clone();
                    spawn(async move {
                        let inner: Vec<_> = (0..500)
                            .map(|i| {
                                let done = done.clone();
                                spawn(async move {
                                    if i % 3 == 0 {
                                        yield_now().await;
                                    }
                                    done.fetch_add(1, Ordering::Relaxed);
                                })
                            })
                            .collect();
                        for task in inner {
                            task.await.unwrap();
                        }
                    })
                })
                .collect();
            for task in outer {
                task.await.unwrap();
            }
        });
        assert_eq!(done.load(Ordering::Relaxed), 10_000);
        eventually("no task alive", || rt.metrics().num_alive_tasks() == 0);
        assert_eq!(rt.metrics().spawned_tasks_count(), 10_020);
    }
}

/// Many more tasks than a ring holds, pushed by one worker: overflow, relay, stealing.
#[test]
fn overflow_loses_nothing_and_runs_in_bounded_time() {
    let rt = runtime(2);
    let (sum, count) = rt.block_on(async {
        spawn(async {
            let tasks: Vec<_> = (0..50_000u64).map(|i| spawn(async move { i })).collect();
            let (mut sum, mut count) = (0, 0);
            for task in tasks {
                sum += task.await.unwrap();
                count += 1;
            }
            (sum, count)
        })
        .await
        .unwrap()
    });
    assert_eq!((sum, count), (49_999 * 50_000 / 2, 50_000));
    assert!((0..2).map(|i| rt.metrics().worker_overflow_count(i)).sum::<u64>() > 0);
}

#[test]
fn idle_workers_take_from_a_busy_one() {
    let rt = runtime(2);
    let workers = rt.block_on(async {
        spawn(async {
            let tasks: Vec<_> = (0..200)
                .map(|_| {
                    spawn(async {
                        burn(Duration::from_micros(200));
                        runtime::worker_index().unwrap()
                    })
                })
                .collect();
            let mut workers = HashSet::new();
            for task in tasks {
                workers.insert(task.await.unwrap());
            }
            workers
        })
        .await
        .unwrap()
    });
    assert_eq!(workers.len(), 2, "both workers had a share");
    assert!((0..2).map(|i| rt.metrics().worker_steal_count(i)).sum::<u64>() > 0);
}

/// The one task behind a blocked worker is its hot task: nobody was woken for it. The watch sees that. How soon on a machine that does
/// nothing else is measured by the workload `stranded` of the benchmarks.
#[test]
fn a_stranded_hot_task_is_rescued_while_its_worker_is_blocked() {
    let rt = runtime(2);
    for _ in 0..5 {
        let (tx, rx) = mpsc::channel();
        let (unblock, blocked) = mpsc::channel::<()>();
        rt.spawn(async move {
            // By thread, since a spare has the number of the worker that it stands in for.
            let own = thread::current().id();
            spawn(async move { tx.send(thread::current().id() != own).unwrap() });
            // Blocks the worker as a careless program does, until its hot task has run.
            blocked.recv_timeout(Duration::from_secs(10)).unwrap();
        });
        assert!(rx.recv_timeout(Duration::from_secs(10)).unwrap(), "another worker ran it");
        unblock.send(()).unwrap();
    }
    assert!((0..2).map(|i| rt.metrics().worker_rescue_count(i)).sum::<u64>() > 0);
}

#[test]
fn a_blocked_worker_stops_neither_timers_nor_other_tasks() {
    let rt = runtime(2);
    rt.block_on(async {
        let blocked = spawn(async { std::thread::sleep(Duration::from_millis(300)) });
        // Timers of their own, armed on whichever worker runs them.
        let ticks: Vec<_> = (0..20)
            .map(|i| {
                spawn(async move {
                    let start = Instant::now();
                    sleep(Duration::from_millis(10 + i)).await;
                    start.elapsed()
                })
            })
            .collect();
        for tick in ticks {
            let took = tick.await.unwrap();
            assert!(took < Duration::from_millis(150), "a timer waited for the blocked worker: {took:?}");
        }
        assert!(!blocked.is_finished());
        blocked.await.unwrap();
    });
}

#[test]
fn ping_pong_does_not_starve_a_third() {
    let rt = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    rt.block_on(async {
        // Two tasks that always wake each other: each is the hot task of the other.
        let wakers: Arc<Mutex<[Option<std::task::Waker>; 2]>> = Arc::default();
        let pair: Vec<_> = (0..2)
            .map(|me| {
                let (wakers, stop) = (wakers.clone(), stop.clone());
                spawn(poll_fn(move |cx| {
                    if stop.load(Ordering::Relaxed) {
                        if let Some(other) = wakers.lock().unwrap()[1 - me].take() {
                            other.wake();
                        }
                        return Poll::Ready(());
                    }
                    let mut wakers = wakers.lock().unwrap();
                    wakers[me] = Some(cx.waker().clone());
                    if let Some(other) = wakers[1 - me].clone() {
                        drop(wakers);
                        other.wake();
                    }
                    Poll::Pending
                }))
            })
            .collect();
        let start = Instant::now();
        spawn(async {}).await.unwrap();
        sleep(Duration::from_millis(5)).await;
        assert!(start.elapsed() < Duration::from_secs(1), "starved: {:?}", start.elapsed());
        stop.store(true, Ordering::Relaxed);
        for task in pair {
            task.await.unwrap();
        }
    });
}

#[test]
fn self_wakers_do_not_starve_timers_or_outside_tasks() {
    let rt = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..4 {
        let stop = stop.clone();
        rt.spawn(poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            if stop.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        }));
    }
    let start = Instant::now();
    rt.block_on(rt.spawn(async { sleep(Duration::from_millis(5)).await })).unwrap();
    rt.block_on(rt.spawn(async {})).unwrap();
    assert!(start.elapsed() < Duration::from_secs(1));
    stop.store(true, Ordering::Relaxed);
}

#[test]
fn yield_lets_every_other_task_run_first() {
    let rt = runtime(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    rt.block_on(async {
        let order = order.clone();
        spawn(async move {
            for i in 0..3 {
                let order = order.clone();
                spawn(async move { order.lock().unwrap().push(i) });
            }
            yield_now().await;
            order.lock().unwrap().push(99);
        })
        .await
        .unwrap();
    });
    assert_eq!(order.lock().unwrap().last(), Some(&99));
}

#[test]
fn block_in_place_lets_the_rest_go_on() {
    let rt = runtime(1);
    rt.block_on(async {
        let (tx, rx) = mpsc::channel();
        let blocked = spawn(async move {
            spawn(async move { tx.send(7).unwrap() });
            // The only worker waits for a task that only this worker can run.
            let got = block_in_place(|| rx.recv_timeout(Duration::from_secs(10)).unwrap());
            yield_now().await;
            got
        });
        assert_eq!(blocked.await.unwrap(), 7);
    });
}

#[test]
fn block_in_place_nests_and_may_block_on() {
    let rt = runtime(2);
    let handle = rt.handle().clone();
    let value = rt.block_on(async move {
        spawn(async move {
            block_in_place(|| block_in_place(|| handle.block_on(async { spawn(async { 5 }).await.unwrap() })))
        })
        .await
        .unwrap()
    });
    assert_eq!(value, 5);
    // Outside a runtime it only runs the closure.
    assert_eq!(block_in_place(|| 1), 1);
}

#[test]
fn many_block_in_place_at_once() {
    let rt = runtime(2);
    rt.block_on(async {
        let barrier = Arc::new(Barrier::new(16));
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let barrier = barrier.clone();
                spawn(async move { block_in_place(|| barrier.wait()).is_leader() })
            })
            .collect();
        let mut leaders = 0;
        for task in tasks {
            leaders += usize::from(task.await.unwrap());
        }
        assert_eq!(leaders, 1);
    });
}

#[test]
fn spawn_blocking_runs_returns_and_panics_into_its_handle() {
    let rt = runtime(1);
    rt.block_on(async {
        assert_eq!(spawn_blocking(|| 3).await.unwrap(), 3);
        assert!(spawn_blocking(|| panic!("boom")).await.unwrap_err().is_panic());
        let inside = spawn_blocking(|| {
            runtime::Handle::current().block_on(async { spawn(async { 4 }).await.unwrap() })
        });
        assert_eq!(inside.await.unwrap(), 4);
    });
}

#[test]
fn panicking_tasks_hurt_nobody() {
    let rt = runtime(2);
    let census = Census::default();
    rt.block_on(async {
        for i in 0..200 {
            let alive = census.enter();
            let task = spawn(async move {
                let _alive = alive;
                yield_now().await;
                if i % 2 == 0 {
                    std::panic::panic_any(i);
                }
                i
            });
            match task.await {
                Ok(value) => assert_eq!(value, i),
                Err(error) => assert_eq!(*error.into_panic().downcast::<i32>().unwrap(), i),
            }
        }
    });
    assert_eq!(census.alive(), 0);
}

#[test]
fn high_goes_first_and_background_last_but_not_never() {
    let rt = runtime(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    rt.block_on(async {
        let order = order.clone();
        spawn(async move {
            let mut tasks = Vec::new();
            for i in 0..300 {
                for priority in [Priority::Background, Priority::Normal, Priority::High] {
                    let order = order.clone();
                    let task = async move { order.lock().unwrap().push((priority, i)) };
                    tasks.push(spawn::Builder::new().priority(priority).spawn(task).unwrap());
                }
            }
            for task in tasks {
                task.await.unwrap();
            }
        })
        .await
        .unwrap();
    });
    let order = order.lock().unwrap();
    assert_eq!(order.len(), 900);
    let mean = |priority| {
        let places: Vec<usize> =
            order.iter().enumerate().filter(|(_, (p, _))| *p == priority).map(|(place, _)| place).collect();
        places.iter().sum::<usize>() / places.len()
    };
    let (high, normal, background) =
        (mean(Priority::High), mean(Priority::Normal), mean(Priority::Background));
    assert!(high < normal && normal < background, "mean places: {high} {normal} {background}");
    let first_background = order.iter().position(|(p, _)| *p == Priority::Background).unwrap();
    assert!(first_background < 300, "background waited for everything: {first_background}");
}

/// On one worker, so that the order in which tasks run is that of their priorities.
#[test]
fn children_inherit_the_priority_of_their_parent_and_others_have_the_default() {
    for inherit in [false, true] {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).max_spare_workers(0).default_priority(Priority::Background);
        let rt = builder.inherit_priority(inherit).build().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let push = |what: &'static str| {
            let order = order.clone();
            async move { order.lock().unwrap().push(what) }
        };
        let (normal, child) = (push("normal"), push("child"));
        let parent = async move {
            let normal = spawn::Builder::new().priority(Priority::Normal).spawn(normal).unwrap();
            // The second to be spawned is the first to run if it is urgent, and else the last.
            let child = spawn(child);
            (normal, child)
        };
        rt.block_on(async {
            let parent = spawn::Builder::new().priority(Priority::High).spawn(parent).unwrap();
            let (normal, child) = parent.await.unwrap();
            normal.await.unwrap();
            child.await.unwrap();
        });
        let expected = if inherit { ["child", "normal"] } else { ["normal", "child"] };
        assert_eq!(*order.lock().unwrap(), expected);
    }
}

#[test]
fn hooks_see_threads_polls_and_tasks() {
    let [started, stopped, spawned, ended, before, after] =
        std::array::from_fn(|_| Arc::new(AtomicUsize::new(0)));
    let count = |counter: &Arc<AtomicUsize>| {
        let counter = counter.clone();
        move || {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    let count_task = |counter: &Arc<AtomicUsize>| {
        let counter = counter.clone();
        move |_: &runtime::TaskMeta<'_>| {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(count(&started))
        .on_thread_stop(count(&stopped))
        .on_task_spawn(count_task(&spawned))
        .on_task_terminate(count_task(&ended))
        .on_before_task_poll(count_task(&before))
        .on_after_task_poll(count_task(&after))
        .build()
        .unwrap();
    rt.block_on(async {
        for _ in 0..10 {
            spawn(yield_now()).await.unwrap();
        }
    });
    drop(rt);
    let read = |counter: &Arc<AtomicUsize>| counter.load(Ordering::Relaxed);
    assert_eq!((read(&started), read(&stopped)), (2, 2));
    assert_eq!((read(&spawned), read(&ended)), (10, 10));
    assert_eq!((read(&before), read(&after)), (20, 20));
}

/// A hook that makes something runnable each time must starve neither the timers nor the driver.
#[test]
fn a_park_hook_that_wakes_starves_nothing() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_thread_park(|| {
            if let Ok(handle) = runtime::Handle::try_current() {
                handle.spawn(async {});
            }
        })
        .build()
        .unwrap();
    rt.block_on(async {
        spawn(sleep(Duration::from_millis(20))).await.unwrap();
    });
}

#[test]
fn a_hook_that_panics_does_not_end_its_worker() {
    let first = Arc::new(AtomicBool::new(true));
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_thread_park(move || assert!(!first.swap(false, Ordering::Relaxed), "a hook that panics"))
        .build()
        .unwrap();
    rt.block_on(async {
        for _ in 0..10 {
            spawn(sleep(Duration::from_millis(1))).await.unwrap();
        }
    });
}

#[test]
fn an_idle_runtime_does_not_wake_up() {
    let rt = runtime(4);
    rt.block_on(async {
        for _ in 0..100 {
            spawn(yield_now()).await.unwrap();
        }
    });
    let parks = || (0..4).map(|i| rt.metrics().worker_park_count(i)).sum::<u64>();
    std::thread::sleep(Duration::from_millis(100));
    let before = parks();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(parks(), before);
}

#[test]
fn spawn_outside_a_runtime_panics_with_the_phrase_and_the_callers_place() {
    let message = std::panic::catch_unwind(|| spawn(async {})).unwrap_err();
    let message = message.downcast::<String>().unwrap();
    assert!(
        message.starts_with(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime"
        ),
        "{message}"
    );
}

#[test]
fn nested_block_on_panics() {
    let rt = runtime(1);
    let error = rt.block_on(async {
        let handle = runtime::Handle::current();
        spawn(async move { handle.block_on(async {}) }).await.unwrap_err()
    });
    assert!(error.to_string().contains("Cannot start a runtime from within a runtime"));
}

/// More than one word of the idle bitmap.
#[test]
fn more_than_64_workers() {
    let rt = runtime(70);
    rt.block_on(async {
        let tasks: Vec<_> = (0..1000).map(|i| spawn(async move { i })).collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap();
        }
        assert_eq!(sum, 499_500);
    });
}

#[test]
fn wakes_from_plain_threads_arrive() {
    let rt = runtime(2);
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let woken = Arc::new(AtomicBool::new(false));
            let mut started = false;
            let wait: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(poll_fn(move |cx| {
                if woken.load(Ordering::Acquire) {
                    return Poll::Ready(());
                }
                if !std::mem::replace(&mut started, true) {
                    let (woken, waker) = (woken.clone(), cx.waker().clone());
                    std::thread::spawn(move || {
                        woken.store(true, Ordering::Release);
                        waker.wake();
                    });
                }
                Poll::Pending
            }));
            rt.spawn(wait)
        })
        .collect();
    rt.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
}

/// Timers, and the driver, are looked at after a certain number of polls, or after a certain time.
#[test]
fn long_polls_make_rounds_come_sooner() {
    let rt = Builder::new_multi_thread().worker_threads(1).watch(false).enable_time().build().unwrap();
    let polls = rt.block_on(rt.spawn(async {
        let polls = Arc::new(AtomicUsize::new(0));
        let end = Arc::new(AtomicBool::new(false));
        let busy = spawn({
            let (polls, end) = (polls.clone(), end.clone());
            poll_fn(move |cx| {
                burn(Duration::from_millis(3));
                polls.fetch_add(1, Ordering::Relaxed);
                if end.load(Ordering::Relaxed) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
        });
        sleep(Duration::from_millis(20)).await;
        end.store(true, Ordering::Relaxed);
        busy.await.unwrap();
        polls.load(Ordering::Relaxed)
    }));
    let polls = polls.unwrap();
    assert!(polls < 30, "the timer came after {polls} polls of 3 ms");
}

#[test]
fn branches_of_one_poll_that_run_out_of_budget_are_one_forced_yield() {
    async fn until_refused() {
        let mut refused = false;
        poll_fn(|cx| {
            while !refused {
                if pin!(coop::consume_budget()).poll(cx).is_pending() {
                    refused = true;
                    return Poll::Pending;
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    async fn two_branches() {
        let (mut one, mut other) = (pin!(until_refused()), pin!(until_refused()));
        poll_fn(|cx| {
            let polled = (one.as_mut().poll(cx), other.as_mut().poll(cx));
            if polled.0.is_ready() && polled.1.is_ready() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    for rt in [runtime(1), current_thread()] {
        rt.block_on(rt.spawn(two_branches())).unwrap();
        assert_eq!(rt.metrics().budget_forced_yield_count(), 1);
        rt.block_on(rt.spawn(two_branches())).unwrap();
        assert_eq!(rt.metrics().budget_forced_yield_count(), 2);
    }
    let rt = current_thread();
    rt.block_on(two_branches());
    assert_eq!(rt.metrics().budget_forced_yield_count(), 1);
}

/// A worker that comes back from its sleep with one task runs that itself: a wake of another would find nothing.
#[test]
fn one_task_at_a_time_wakes_one_worker() {
    const SLEEPS: u64 = 50;
    let rt = runtime(2);
    rt.block_on(async {
        spawn(async {
            for _ in 0..SLEEPS {
                sleep(Duration::from_millis(1)).await;
            }
        })
        .await
        .unwrap();
    });
    let parks = |worker| rt.metrics().worker_park_count(worker);
    assert!(parks(0).min(parks(1)) < SLEEPS / 2, "{} and {}", parks(0), parks(1));
}
