//! How soon do others take over what a blocked worker leaves behind?
//!
//! Something waits behind a worker that blocks its thread for 20 ms: a task in its queue, an event of the I/O driver that it was the last to sit
//! in, or a timer of its own; and, where all workers are blocked, a task from outside. Each is done again and again, at rest in between. The
//! figure is the median of the waits, in milliseconds; the longest is a note, and both have a limit of their own.
//!
//! How the answer could mislead: what is waited for is the runtime's own patience, so a longer block would make the ratio larger at will, and a
//! crowded machine adds its own delays, above all to the longest.

use std::io::Write;
use std::os::unix::net::UnixStream as StdStream;
use std::pin::pin;
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::floor::{BLOCKED, REST};
use rt::io::AsyncReadExt;
use rt::net::UnixStream;
use rt::runtime::Runtime;

/// How long after it was armed a timer is due.
const SOON: Duration = Duration::from_millis(1);

pub(crate) fn cases() -> Vec<Case> {
    // A spare needs a thread, and is begun only when it is known that the worker does not compute.
    let case = |variant, median_ms, most_ms, prepare: fn(&Runtime) -> Wait| {
        let what = "a worker blocks for 20 ms: how long what it left behind waits";
        Case::new(26, "rescue", what, 4.0, move |setup| rounds(setup, prepare))
            .variant(variant)
            .workers(2)
            .figure("ms, median")
            .at_most("ms, median", median_ms)
            .at_most("ms, at most", most_ms)
            .scaled("30 times instead of 1000")
            .glacial()
    };
    vec![
        case("a task in its queue", 2.0, 5.0, queue),
        case("an event of the driver", 2.0, 5.0, driver),
        // Tokio's timers belong to no worker, so there is nothing to take over there.
        Case { must: 1.0, ..case("a timer of its own", 2.0, 5.0, timer) },
        case("a task from outside, all blocked", 4.0, 10.0, outside),
    ]
}

/// Blocks a worker, or all, and says how long what was left behind waited. Returns when nobody is blocked any more.
type Wait = Box<dyn FnMut(&Runtime) -> Duration>;

fn rounds(setup: &Setup, prepare: fn(&Runtime) -> Wait) -> Round {
    let times = setup.size(1000, 30, 2);
    let runtime = start::runtime(setup);
    let mut wait = prepare(&runtime);
    Box::new(move || {
        let mut waits = Vec::with_capacity(times);
        for _ in 0..times {
            waits.push(wait(&runtime));
            thread::sleep(REST);
        }
        waits.sort();
        let ms = |wait: Duration| wait.as_secs_f64() * 1e3;
        let (median, most) = (ms(waits[times / 2]), ms(waits[times - 1]));
        let notes = vec![("ms, median", median), ("ms, at most", most)];
        Done { figure: Some(median), notes, ..Done::ops(1) }
    })
}

fn queue(_: &Runtime) -> Wait {
    Box::new(|runtime| {
        let (sender, receiver) = mpsc::channel();
        let blocker = runtime.spawn(async move {
            let spawned = Instant::now();
            rt::spawn(async move { sender.send(spawned.elapsed()).unwrap() });
            thread::sleep(BLOCKED);
        });
        let waited = receiver.recv().unwrap();
        runtime.block_on(blocker).unwrap();
        waited
    })
}

/// The worker that sits in the driver is woken by an event whose task blocks, and so is nobody in it when the next event comes.
fn driver(runtime: &Runtime) -> Wait {
    let (to_blocker, mut blocker) = pair(runtime);
    let (to_other, mut other) = pair(runtime);
    let (tell_blocked, blocked) = mpsc::channel();
    let (tell_read, read) = mpsc::channel();
    runtime.spawn(async move {
        while blocker.read_u8().await.is_ok() {
            tell_blocked.send(()).unwrap();
            thread::sleep(BLOCKED);
            tell_blocked.send(()).unwrap();
        }
    });
    runtime.spawn(async move {
        while other.read_u8().await.is_ok() {
            tell_read.send(Instant::now()).unwrap();
        }
    });
    Box::new(move |_| {
        (&to_blocker).write_all(b"x").unwrap();
        blocked.recv().unwrap();
        let written = Instant::now();
        (&to_other).write_all(b"x").unwrap();
        let waited = read.recv().unwrap().saturating_duration_since(written);
        blocked.recv().unwrap();
        waited
    })
}

fn pair(runtime: &Runtime) -> (StdStream, UnixStream) {
    let (ours, theirs) = StdStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let _inside = runtime.enter();
    (ours, UnixStream::from_std(theirs).unwrap())
}

/// When a timer fired.
struct Fired(mpsc::Sender<Instant>);

impl Wake for Fired {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(Instant::now());
    }
}

/// As for the driver. The task arms a timer in one poll and blocks in the next; where another worker took it in between, it is done again.
fn timer(runtime: &Runtime) -> Wait {
    let (to_blocker, mut blocker) = pair(runtime);
    let (tell_due, due) = mpsc::channel();
    let (tell_fired, fired) = mpsc::channel();
    runtime.spawn(async move {
        while blocker.read_u8().await.is_ok() {
            let due = Instant::now() + SOON;
            let mut timer = pin!(rt::time::sleep_until(due.into()));
            let waker = Waker::from(Arc::new(Fired(tell_fired.clone())));
            assert!(timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let at_home = thread::current().id();
            rt::task::yield_now().await;
            let is_at_home = thread::current().id() == at_home;
            if is_at_home {
                thread::sleep(BLOCKED);
            }
            tell_due.send(is_at_home.then_some(due)).unwrap();
        }
    });
    Box::new(move |_| {
        loop {
            (&to_blocker).write_all(b"x").unwrap();
            let due = due.recv().unwrap();
            if let Some(due) = due {
                return fired.recv().unwrap().saturating_duration_since(due);
            }
            // It may have fired before it was dropped.
            while fired.try_recv().is_ok() {}
        }
    })
}

fn outside(runtime: &Runtime) -> Wait {
    let workers = runtime.metrics().num_workers();
    Box::new(move |runtime| {
        let all_blocked = Arc::new(Barrier::new(workers + 1));
        let blockers: Vec<_> = (0..workers)
            .map(|_| {
                let all_blocked = all_blocked.clone();
                runtime.spawn(async move {
                    all_blocked.wait();
                    thread::sleep(BLOCKED);
                })
            })
            .collect();
        all_blocked.wait();
        let spawned = Instant::now();
        let waited = runtime.block_on(runtime.spawn(async move { spawned.elapsed() })).unwrap();
        for blocker in blockers {
            runtime.block_on(blocker).unwrap();
        }
        waited
    })
}
