//! What does a spawn from outside cost when many threads do it at once?
//!
//! How the answer could mislead: on few cores sixteen threads mostly take turns, so contention shows as little more than the
//! kernel's scheduling; what it can show is a lock whose holder was put to sleep. The tasks count down one number, which is
//! the same on every side. Starting the threads is not timed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use super::start;
use crate::case::{Case, Done, Round, Setup};
use crate::signal::Signal;

const TASKS: u64 = 12_800;

pub(crate) fn cases() -> Vec<Case> {
    let case = |variant, threads| {
        let what = "12.8 k tasks are spawned by so many outside threads; until the last has run";
        Case::new(7, "remote_spawn_threads", what, 1.5, move |setup| prepare(setup, threads))
            .variant(variant)
            .at("threads that spawn", threads)
    };
    vec![
        case("1 thread", 1),
        case("2 threads", 2),
        case("4 threads", 4),
        case("8 threads", 8),
        case("16 threads", 16),
    ]
}

fn prepare(setup: &Setup, threads: u64) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        let barrier = Barrier::new(threads as usize + 1);
        let left = Arc::new(AtomicU64::new(TASKS));
        let last = Signal::default();
        let elapsed = thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..TASKS / threads {
                        let (left, last) = (left.clone(), last.clone());
                        runtime.spawn(async move {
                            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                                last.fire();
                            }
                        });
                    }
                });
            }
            let start = Instant::now();
            barrier.wait();
            runtime.block_on(last.clone());
            start.elapsed()
        });
        Done { elapsed: Some(elapsed), ..Done::ops(TASKS) }
    })
}
