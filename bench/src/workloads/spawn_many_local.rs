//! What does it cost when `block_on` spawns many tasks?
//!
//! How the answer could mislead: the thread that blocks is no worker, so every spawn comes from outside. The tasks all
//! count down one number, which bounces between the cores and is the same on every side. With four workers on fewer cores
//! the kernel decides who runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::signal::Signal;

const TASKS: u64 = 10_000;

pub(crate) fn cases() -> Vec<Case> {
    let what = "block_on on a runtime of 4 workers spawns 10 k tasks that count down; until the last";
    vec![Case::new(3, "spawn_many_local", what, 2.0, prepare).workers(4)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        runtime.block_on(async {
            let left = Arc::new(AtomicU64::new(TASKS));
            let last = Signal::default();
            for _ in 0..TASKS {
                let (left, last) = (left.clone(), last.clone());
                rt::spawn(async move {
                    if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                        last.fire();
                    }
                });
            }
            last.await;
        });
        Done::ops(TASKS)
    })
}
