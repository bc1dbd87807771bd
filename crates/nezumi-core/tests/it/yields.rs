//! What has yielded is out of the way, but never out of reach.

use crate::support::eventually;
use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::spawn::{self, spawn, yield_now};
use nezumi_core::task::Priority;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

const AT_MOST: Duration = Duration::from_secs(20);

fn runtime(workers: usize, spares: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .max_spare_workers(spares)
        .enable_all()
        .build()
        .unwrap()
}

/// A task yields in the way of `yields`, and the next one of its worker blocks until it goes on. Whoever can must take it over.
fn is_taken_over<F: Future<Output = ()> + Send>(
    workers: usize,
    spares: usize,
    yields: impl Fn() -> F + Send + Sync + 'static,
) {
    let rt = runtime(workers, spares);
    let yields = Arc::new(yields);
    for _ in 0..20 {
        let yields = yields.clone();
        let task = rt.spawn(async move {
            let (goes_on, has_gone_on) = mpsc::channel();
            // Hot: this worker's next, and nobody else's.
            let blocks = spawn(async move { has_gone_on.recv_timeout(AT_MOST) });
            yields().await;
            goes_on.send(()).unwrap();
            blocks.await.unwrap()
        });
        assert_eq!(rt.block_on(task).unwrap(), Ok(()), "{workers} workers, {spares} spares");
    }
}

#[test]
fn a_task_that_has_yielded_is_taken_over_from_a_stuck_worker() {
    is_taken_over(2, 0, yield_now);
    is_taken_over(1, 1, yield_now);
}

/// Wakes a task by way of another waker, as combinators do that poll many futures each by its own.
struct Relays(Mutex<Waker>);

impl Wake for Relays {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().wake_by_ref();
    }
}

/// Yields by a waker that is not the task's.
async fn yield_apart() {
    let mut yielding = pin!(yield_now());
    poll_fn(|cx| {
        let relays = Waker::from(Arc::new(Relays(Mutex::new(cx.waker().clone()))));
        yielding.as_mut().poll(&mut Context::from_waker(&relays))
    })
    .await;
}

#[test]
fn whoever_yields_by_a_waker_of_its_own_is_taken_over_too() {
    is_taken_over(2, 0, yield_apart);
    is_taken_over(1, 1, yield_apart);
}

#[test]
fn who_yields_goes_on_after_all_that_is_runnable() {
    let rt = runtime(1, 0);
    for apart in [false, true] {
        let order = rt.block_on(rt.spawn(async move {
            let order = Arc::new(Mutex::new(Vec::new()));
            let others: Vec<_> = (0..10)
                .map(|i| {
                    let order = order.clone();
                    spawn(async move { order.lock().unwrap().push(i) })
                })
                .collect();
            if apart {
                yield_apart().await;
            } else {
                yield_now().await;
            }
            order.lock().unwrap().push(10);
            for other in others {
                other.await.unwrap();
            }
            Arc::into_inner(order).unwrap().into_inner().unwrap()
        }));
        let mut order = order.unwrap();
        assert_eq!(order.pop(), Some(10), "apart: {apart}");
        order.sort_unstable();
        assert_eq!(order, (0..10).collect::<Vec<_>>());
    }
}

/// More of them than the shelf has places for, and again and again.
#[test]
fn any_number_may_yield_before_the_drivers_turn() {
    for interval in [1, 61, 10_000] {
        let rt = Builder::new_multi_thread().worker_threads(1).event_interval(interval).build().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        for _ in 0..500 {
            let count = count.clone();
            rt.spawn(async move {
                for _ in 0..10 {
                    yield_now().await;
                    yield_apart().await;
                }
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
        eventually("all have ended", || count.load(Ordering::Relaxed) == 500);
    }
}

/// Yielding makes nothing more urgent than it is.
#[test]
fn a_background_task_that_yields_stays_in_the_background() {
    let rt = runtime(1, 0);
    let end = Arc::new(AtomicBool::new(false));
    let spawn_one = |priority| {
        let (polls, end) = (Arc::new(AtomicUsize::new(0)), end.clone());
        let count = polls.clone();
        let task = async move {
            while !end.load(Ordering::Relaxed) {
                count.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
        };
        spawn::Builder::new().priority(priority).spawn_on(task, rt.handle()).unwrap();
        polls
    };
    let background = spawn_one(Priority::Background);
    let normal = [(); 4].map(|()| spawn_one(Priority::Normal));
    let of_normal = || normal.iter().map(|polls| polls.load(Ordering::Relaxed)).sum::<usize>();
    eventually("it ran long enough", || of_normal() > 20_000);
    end.store(true, Ordering::Relaxed);
    let (of_background, of_normal) = (background.load(Ordering::Relaxed), of_normal());
    assert!(of_background * 8 < of_normal, "{of_background} polls of it against {of_normal}");
    assert!((of_background + 1) * 128 > of_normal, "{of_background} polls of it against {of_normal}");
}
