//! By which the watch is woken, and kept out of the program's code.
//!
//! Called by `looker` (sleeps, and calls the program), by workers that wake, and by whoever ends the runtime. Apart from the runtime's shared part, which
//! the watch's thread must not keep alive while it sleeps.
//!
//! Promise: a worker that is awake finds the watch awake, or wakes it; whoever ends the watch and is told that it is not in the program's code may
//! wait for its thread, for it will not be any more.
//!
//! ```text
//! worker that wakes           watch that goes to sleep
//! W1 clear my bit  (SeqCst)   V1 asleep = true     (SeqCst)
//! W2 asleep? wake  (SeqCst)   V2 all bits set?     (SeqCst)   if not, stay awake
//!
//! who ends the watch          watch that calls the program
//! E1 stop = true   (SeqCst)   C1 in program = true (SeqCst)
//! E2 in program?   (SeqCst)   C2 stop?             (SeqCst)   if so, do not call
//! ```
//!
//! If W1 comes first in the one total order, V2 sees that a bit is clear; if V1 does, W2 sees the sleeper. With E1 and C1 it is the same. Loom has its
//! fences between the two lines of each.
//!
//! Tests: the models `a_worker_that_wakes_finds_the_watch_awake_or_wakes_it` and `who_ends_the_watch_knows_whether_it_is_in_the_program`;
//! `tests/it/hostile.rs`.

use crate::scheduler::idle::{Idle, loom_fence};
use nezumi_prim::Parker;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Bell {
    parker: Parker,
    asleep: AtomicBool,
    stop: AtomicBool,
    /// The watch is in code of the program's, or about to be: a hook, or the waker of a timer.
    in_program: AtomicBool,
}

impl Bell {
    pub(super) fn new() -> Self {
        Self {
            parker: Parker::new(),
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            in_program: AtomicBool::new(false),
        }
    }

    /// For the watch: sleeps until a worker wakes, unless one is awake.
    pub(super) fn sleep(&self, idle: &Idle) {
        self.asleep.store(true, Ordering::SeqCst);
        loom_fence();
        if idle.all_sleeping(0) && !self.is_stopped() {
            self.parker.park();
        }
        // Relaxed: who still sees the sleeper leaves a token too many.
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// For the watch: pauses between two looks.
    pub(super) fn pause(&self, pause: Duration) {
        self.parker.park_timeout(pause);
    }

    /// W2: a worker is awake, or about to be.
    #[inline]
    pub(super) fn worker_woke(&self) {
        loom_fence();
        if self.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // Relaxed: it settles which of several wakes it, and nothing else.
        if self.asleep.swap(false, Ordering::Relaxed) {
            self.parker.unpark();
        }
    }

    /// Whether it sleeps until a worker wakes.
    pub(super) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    /// E1: the watch is to end.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        // A sleep that did not see it finds the token.
        self.parker.unpark();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// E2, after [`stop`](Self::stop): whether to wait for the watch may be to wait for the program.
    pub(super) fn is_in_program(&self) -> bool {
        loom_fence();
        self.in_program.load(Ordering::SeqCst)
    }

    /// Runs code of the program's, a hook or wakers, which must not end the watch. A panic has been reported.
    pub(super) fn contain(&self, f: impl FnOnce()) {
        self.in_program.store(true, Ordering::SeqCst);
        loom_fence();
        if !self.is_stopped() {
            nezumi_wake::contain(f);
        }
        // Relaxed: who does not see it yet does not wait for a thread that has only to end.
        self.in_program.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::Bell;
    use crate::scheduler::idle::Idle;
    use loom::thread;
    use nezumi_prim::sync::Arc;
    use nezumi_prim::sync::atomic::{AtomicBool, Ordering};

    /// If the watch sleeps on while the worker is awake, that is a deadlock here.
    #[test]
    fn a_worker_that_wakes_finds_the_watch_awake_or_wakes_it() {
        loom::model(|| {
            let (idle, bell) = (Arc::new(Idle::new(1, 0)), Arc::new(Bell::new()));
            idle.fall_asleep(0, false);
            let watch = {
                let (idle, bell) = (idle.clone(), bell.clone());
                thread::spawn(move || bell.sleep(&idle))
            };
            // As `park`.
            assert!(!idle.wake_up(0));
            bell.worker_woke();
            watch.join().unwrap();
            assert!(!bell.is_asleep());
        });
    }

    #[test]
    fn who_ends_the_watch_knows_whether_it_is_in_the_program() {
        loom::model(|| {
            let (bell, waits) = (Arc::new(Bell::new()), Arc::new(AtomicBool::new(false)));
            let watch = {
                let (bell, waits) = (bell.clone(), waits.clone());
                thread::spawn(move || {
                    let mut waited_for = false;
                    bell.contain(|| waited_for = waits.load(Ordering::SeqCst));
                    assert!(!waited_for, "whoever waits was told that nobody is in the program");
                })
            };
            bell.stop();
            if !bell.is_in_program() {
                waits.store(true, Ordering::SeqCst);
            }
            watch.join().unwrap();
        });
    }
}
