//! What does a spawn from outside cost while the runtime is idle?
//!
//! How the answer could mislead: it is idle only before the first spawn. After that it is a race between one producer and
//! the workers: if they are faster they fall asleep and are woken again and again, and the kernel's wakes are what is
//! measured; if they are slower they never sleep.

use super::start;
use crate::case::{Case, Done, Round, Setup};

const TASKS: u64 = 10_000;

pub(crate) fn cases() -> Vec<Case> {
    let what = "an outside thread spawns 10 k tasks on an idle runtime and joins them";
    vec![Case::new(4, "remote_idle", what, 1.5, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        let handles: Vec<_> = (0..TASKS).map(|_| runtime.spawn(async {})).collect();
        runtime.block_on(async {
            for handle in handles {
                handle.await.unwrap();
            }
        });
        Done::ops(TASKS)
    })
}
