//! Timers that are only noted until the poll of their task has ended, and what can happen to them before.

use super::{Wakes, each_kind, ms, poll_here, poll_once, single, workers};
use nezumi_core::runtime::{Builder, Handle, Runtime};
use nezumi_core::spawn::{LocalSet, block_in_place, spawn, spawn_local, yield_now};
use nezumi_core::time::{Instant, Sleep, advance, sleep, timeout};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};

type Boxed = Pin<Box<Sleep>>;

/// Runs `future` as a task of `runtime`.
#[track_caller]
fn as_task<F>(runtime: &Runtime, future: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    runtime.block_on(async { spawn(future).await.unwrap() })
}

fn standing() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

fn is_noted(timer: &Sleep) -> bool {
    format!("{timer:?}").contains("noted")
}

fn is_armed(timer: &Sleep) -> bool {
    format!("{timer:?}").contains("deadline_ms")
}

/// A timer that was polled, and is noted. Where a thread may have to wait for a processor for longer than that, its time may pass before.
async fn noted(after_ms: u64) -> Boxed {
    loop {
        let start = Instant::now();
        let mut timer = Box::pin(sleep(ms(after_ms)));
        if poll_here(timer.as_mut()).await.is_pending() {
            assert!(is_noted(&timer), "{timer:?}");
            return timer;
        }
        assert!(start.elapsed() >= ms(after_ms), "{timer:?}");
    }
}

/// So far away that it does not fire before it is looked at, however slow the machine is.
const FAR_MS: u64 = 60_000;

#[test]
fn armed_when_the_poll_ends() {
    for runtime in each_kind() {
        as_task(&runtime, async {
            let far = noted(FAR_MS).await;
            yield_now().await;
            assert!(is_armed(&far), "{far:?}");
            let start = Instant::now();
            let timer = noted(5).await;
            yield_now().await;
            timer.await;
            assert!(start.elapsed() >= ms(5));
        });
    }
}

#[test]
fn more_than_there_is_room_for() {
    as_task(&standing(), async {
        let start = Instant::now();
        let mut timers: Vec<_> = (0..20).map(|n| Box::pin(sleep(ms(100 - n)))).collect();
        let mut fired = Vec::new();
        poll_fn(|cx| {
            timers.retain_mut(|timer| {
                let pending = timer.as_mut().poll(cx).is_pending();
                if !pending {
                    fired.push(start.elapsed().as_millis());
                }
                pending
            });
            if timers.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        assert_eq!(fired, (81..=100).collect::<Vec<_>>());
    });
}

#[test]
fn a_clock_that_stands_moves_to_them() {
    as_task(&standing(), async {
        let start = Instant::now();
        assert!(timeout(ms(70), pending::<()>()).await.is_err());
        let other = spawn(async { sleep(ms(30)).await });
        sleep(ms(50)).await;
        other.await.unwrap();
        assert_eq!(start.elapsed(), ms(120));
    });
}

#[test]
fn a_clock_moved_by_hand_passes_them() {
    as_task(&standing(), async {
        let timer = noted(50).await;
        advance(ms(50)).await;
        timer.await;
        let mut timer = noted(50).await;
        let mut moved = pin!(advance(ms(60)));
        let _ = poll_here(moved.as_mut()).await;
        assert!(timer.is_elapsed());
        assert!(poll_here(timer.as_mut()).await.is_ready());
    });
}

#[test]
fn polled_again_in_the_same_poll_they_are_armed() {
    for runtime in each_kind() {
        as_task(&runtime, async {
            let mut timer = noted(FAR_MS).await;
            assert!(poll_here(timer.as_mut()).await.is_pending() && is_armed(&timer));
            let timer = noted(1).await;
            // A loop that never lets go sees the time pass.
            while !timer.is_elapsed() {
                std::hint::spin_loop();
            }
            timer.await;
        });
    }
}

#[test]
fn a_reset_before_the_poll_has_ended() {
    for after_ms in [5, 5000] {
        as_task(&standing(), async move {
            let start = Instant::now();
            let mut timer = noted(100).await;
            timer.as_mut().reset(start + ms(after_ms));
            assert!(is_noted(&timer));
            timer.await;
            assert_eq!(start.elapsed(), ms(after_ms));
        });
        as_task(&standing(), async move {
            let start = Instant::now();
            let mut timer = noted(100).await;
            timer.as_mut().reset(start + ms(after_ms));
            let mut timer = Some(timer);
            let mut first = true;
            // Not polled again before it fires.
            poll_fn(|_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }).await;
            assert!(timer.take().unwrap().is_elapsed());
            assert_eq!(start.elapsed(), ms(after_ms));
        });
    }
}

#[test]
fn polled_with_another_waker_they_are_armed_for_that() {
    for runtime in each_kind() {
        let (wakes, waker) = Wakes::new();
        as_task(&runtime, async move {
            let mut timer = noted(FAR_MS).await;
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() && is_armed(&timer));
            timer.as_mut().reset(Instant::now() + ms(1));
            sleep(ms(5)).await;
            while !timer.is_elapsed() {
                yield_now().await;
            }
        });
        assert_eq!(wakes.count(), 1);
    }
}

/// Sends a timer to another thread in the middle of the poll that has noted it, and waits for that thread's answer there.
fn sent_away(there: fn(Handle, Boxed) -> Option<Boxed>) {
    for runtime in [workers(1), workers(4)] {
        let handle = runtime.handle().clone();
        as_task(&runtime, async move {
            for _ in 0..20 {
                let timers = [noted(3).await, noted(3).await, noted(3).await];
                let [first, sent, last] = timers;
                let handle = handle.clone();
                let sent = std::thread::spawn(move || there(handle, sent)).join().unwrap();
                first.await;
                last.await;
                if let Some(sent) = sent {
                    sent.await;
                }
            }
        });
    }
}

#[test]
fn sent_away_and_dropped() {
    sent_away(|_, timer| {
        drop(timer);
        None
    });
}

#[test]
fn sent_away_and_waited_for() {
    sent_away(|handle, timer| {
        handle.block_on(timer);
        None
    });
}

#[test]
fn sent_away_and_back() {
    sent_away(|_, mut timer| {
        assert!(is_noted(&timer));
        timer.as_mut().reset(Instant::now() + ms(1));
        assert!(is_noted(&timer));
        assert!(poll_once(timer.as_mut()).is_pending() || timer.is_elapsed());
        Some(timer)
    });
}

#[test]
fn dropped_on_another_thread_while_the_poll_ends() {
    let runtime = workers(2);
    as_task(&runtime, async {
        let (send, receive) = mpsc::channel::<Boxed>();
        let other = std::thread::spawn(move || receive.into_iter().for_each(drop));
        for _ in 0..2000 {
            send.send(noted(1000).await).unwrap();
            yield_now().await;
        }
        drop(send);
        other.join().unwrap();
    });
}

#[test]
fn of_a_poll_that_panics() {
    for runtime in each_kind() {
        let kept = Arc::new(Mutex::new(None));
        let there = kept.clone();
        runtime.block_on(async {
            let task = spawn(async move {
                let _dropped = noted(1000).await;
                *there.lock().unwrap() = Some(noted(5).await);
                panic!("with two timers");
            });
            assert!(task.await.unwrap_err().is_panic());
            let timer = kept.lock().unwrap().take().unwrap();
            assert!(is_armed(&timer) || timer.is_elapsed());
            // It fires for a task that is no more, and then for this one.
            sleep(ms(10)).await;
            timer.await;
        });
    }
}

/// Polls a timer when it is dropped, with the waker of the task that it was made in.
#[derive(Debug)]
struct OnDrop {
    waker: Waker,
    kept: Arc<Mutex<Option<Boxed>>>,
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        let start = Instant::now();
        let mut timer = Box::pin(sleep(ms(3)));
        let polled = timer.as_mut().poll(&mut Context::from_waker(&self.waker));
        assert!(polled.is_pending() || start.elapsed() >= ms(3));
        *self.kept.lock().unwrap() = Some(timer);
    }
}

#[test]
fn made_by_what_is_dropped_with_its_task() {
    for runtime in each_kind() {
        for cancelled in [false, true] {
            let kept = Arc::new(Mutex::new(None));
            let there = kept.clone();
            let begun = Arc::new(AtomicBool::new(false));
            let has_begun = begun.clone();
            runtime.block_on(async {
                let task = spawn(async move {
                    let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
                    let on_drop = OnDrop { waker, kept: there };
                    begun.store(true, Ordering::SeqCst);
                    if cancelled {
                        pending::<()>().await;
                    }
                    on_drop
                });
                while !(has_begun.load(Ordering::SeqCst) && (cancelled || task.is_finished())) {
                    sleep(ms(1)).await;
                }
                if cancelled {
                    task.abort();
                    assert!(task.await.unwrap_err().is_cancelled());
                } else {
                    // Drops the output.
                    drop(task);
                }
                let timer = kept.lock().unwrap().take().unwrap();
                assert!(!is_noted(&timer), "{timer:?}");
                timer.await;
            });
        }
    }
}

#[test]
fn block_in_place_arms_them_first() {
    for runtime in [workers(1), workers(4)] {
        as_task(&runtime, async {
            let mut timer = noted(2).await;
            block_in_place(|| {
                assert!(is_armed(&timer) || timer.is_elapsed(), "{timer:?}");
                Handle::current().block_on(timer.as_mut());
            });
            yield_now().await;
            let late = noted(2).await;
            block_in_place(|| std::thread::sleep(ms(1)));
            // Beside the worker now, with nothing that is its own.
            let start = Instant::now();
            let mut later = Box::pin(sleep(ms(2)));
            assert!(poll_here(later.as_mut()).await.is_pending() || start.elapsed() >= ms(2));
            assert!(!is_noted(&later));
            late.await;
            later.await;
        });
    }
}

#[test]
fn a_runtime_that_comes_and_goes_in_the_poll() {
    let runtime = workers(1);
    as_task(&runtime, async {
        let outer = noted(3).await;
        let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
        let inner = block_in_place(|| {
            single().block_on(async {
                // With the waker of a task that runs on this thread, yet not on this runtime.
                let mut root = Box::pin(sleep(ms(2)));
                assert!(root.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                assert!(is_noted(&root));
                let outer = waker.clone();
                let task = spawn(async move {
                    let mut other = Box::pin(sleep(ms(2)));
                    assert!(other.as_mut().poll(&mut Context::from_waker(&outer)).is_pending());
                    assert!(is_armed(&other));
                    let mut own = Box::pin(sleep(ms(1)));
                    assert!(poll_here(own.as_mut()).await.is_pending());
                    own.await;
                    [other]
                });
                let [other] = task.await.unwrap();
                // Before this runtime slept.
                assert!(!is_noted(&root));
                let mut last = Box::pin(sleep(ms(2)));
                assert!(last.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                assert!(is_noted(&last));
                [root, other, last]
            })
        });
        // Their runtime is gone.
        assert!(inner.iter().all(|timer| timer.is_elapsed()));
        outer.await;
    });
}

#[test]
fn in_a_local_set() {
    let runtime = standing();
    LocalSet::new().block_on(&runtime, async {
        let start = Instant::now();
        let task = spawn_local(async {
            let timer = noted(40).await;
            drop(noted(10).await);
            timer.await;
        });
        // A set inside a task of this one: the inner task's poll ends first.
        let set = LocalSet::new();
        set.spawn_local(async {
            noted(20).await.await;
        });
        let nested = spawn_local(async move {
            let timer = noted(30).await;
            set.await;
            timer.await;
        });
        task.await.unwrap();
        nested.await.unwrap();
        assert_eq!(start.elapsed(), ms(40));
    });
}

#[test]
fn of_a_task_that_a_shutdown_ends() {
    for runtime in each_kind() {
        let wakes = Arc::new(Wakes::default());
        let there = wakes.clone();
        let (send, receive) = mpsc::channel();
        runtime.spawn(async move {
            loop {
                let timer = noted(FAR_MS).await;
                there.0.fetch_add(1, Ordering::SeqCst);
                let _ = send.send(());
                yield_now().await;
                drop(timer);
            }
        });
        runtime.block_on(async {
            while receive.try_recv().is_err() {
                yield_now().await;
            }
        });
        drop(runtime);
        assert!(wakes.count() > 0);
    }
}
