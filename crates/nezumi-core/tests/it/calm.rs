//! The watch leaves it to the system when exactly it looks, where nothing has been blocked lately.
#![cfg(target_os = "linux")]

use crate::support::{alone, burn, eventually, numbers_of_threads};
use nezumi_core::runtime::{self, Runtime};
use nezumi_core::spawn::yield_now;
use nezumi_core::time::sleep;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

fn with_a_busy_worker(test: impl FnOnce(&Runtime)) {
    let rt = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let end = Arc::new(AtomicBool::new(false));
    let busy = rt.spawn({
        let end = end.clone();
        async move {
            while !end.load(Ordering::Relaxed) {
                burn(Duration::from_micros(20));
                yield_now().await;
            }
        }
    });
    test(&rt);
    end.store(true, Ordering::Relaxed);
    rt.block_on(busy).unwrap();
}

/// By how much the system may delay the watch of the only runtime of this process; `None` where it does not say.
fn slack() -> Option<Duration> {
    let watch = numbers_of_threads("nezumi-watch")?.pop()?;
    let path = std::path::Path::new("/proc").join(watch).join("timerslack_ns");
    Some(Duration::from_nanos(std::fs::read_to_string(path).ok()?.trim().parse().ok()?))
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// Whether it pauses so. While it looks it may not be late.
fn is_calm() -> bool {
    (0..30).any(|_| {
        thread::sleep(2 * MILLISECOND);
        slack() > Some(MILLISECOND)
    })
}

#[test]
fn the_watch_is_calm_until_a_task_blocks() {
    alone("calm::the_watch_is_calm_until_a_task_blocks", || {
        with_a_busy_worker(|rt| {
            if slack().is_none() {
                eprintln!("SKIPPED: the system does not say by how much it may be late");
                return;
            }
            eventually("it gets calm", is_calm);
            // On a machine with other work one may pass before the watch has looked twice.
            eventually("it gets alert", || {
                rt.block_on(rt.spawn(async { thread::sleep(Duration::from_millis(50)) })).unwrap();
                !is_calm()
            });
            assert!(!is_calm(), "it is alert for seconds");
        });
    });
}

/// Calm as it is, it finds one that is.
#[test]
fn a_calm_watch_finds_a_blocked_worker() {
    let rt = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let busy = rt.spawn(async {
        let start = Instant::now();
        // Longer than the watch is alert at first.
        while start.elapsed() < Duration::from_millis(100) {
            burn(Duration::from_micros(20));
            yield_now().await;
        }
    });
    rt.block_on(busy).unwrap();
    let (end, ended) = mpsc::channel::<()>();
    let blocked = rt.spawn(async move { ended.recv_timeout(Duration::from_secs(20)).is_err() });
    // Nobody but a spare can run it.
    rt.block_on(rt.spawn(async move { end.send(()) })).unwrap().unwrap();
    assert!(!rt.block_on(blocked).unwrap(), "no spare came in time");
}

/// Notes by how much the system may be late for the thread that wakes it.
struct NotesSlack(mpsc::Sender<Duration>);

impl Wake for NotesSlack {
    fn wake(self: Arc<Self>) {
        // SAFETY: reads one number of this thread.
        let ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        // The test may have ended.
        let _ = self.0.send(Duration::from_nanos(ns.try_into().unwrap()));
    }
}

/// Nor what it begins: a new thread has the slack of the one that begins it.
#[test]
fn the_programs_code_on_a_calm_watch_is_not_late() {
    for _ in 0..5 {
        let rt = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (notes, noted) = mpsc::channel();
        let waker = Waker::from(Arc::new(NotesSlack(notes)));
        let task = rt.spawn(async move {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(100) {
                burn(Duration::from_micros(20));
                yield_now().await;
            }
            let mut timer = pin!(sleep(Duration::from_millis(3)));
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            // Nobody but the watch fires it.
            noted.recv_timeout(Duration::from_secs(20))
        });
        let slack = rt.block_on(task).unwrap().expect("the timer was not fired");
        assert!(slack < MILLISECOND, "{slack:?}");
    }
}
