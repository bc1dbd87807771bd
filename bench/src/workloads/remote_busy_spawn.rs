//! How long does a spawn from outside wait while the workers are busy with tasks that spawn their successors?
//!
//! How the answer could mislead: as in `remote_busy_yield` it is fairness that is measured. The successor of a task is what
//! was woken last, which runtimes like to run first; one that never lets go of such a chain does not answer at all.
//!
//! What is counted besides time is that of the whole process, so here it is mostly the burning tasks'.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::load::{self, StopOnDrop};

const TASKS: u64 = 1000;
const CHAINS: u64 = 4;
const BURN: Duration = Duration::from_micros(10);

pub(crate) fn cases() -> Vec<Case> {
    let what =
        "an outside thread spawns 1 k tasks and joins them while 4 chains burn 10 µs and respawn themselves";
    vec![Case::new(6, "remote_busy_spawn", what, 10.0, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let tasks = setup.size(TASKS, 200, 20);
    let stop = StopOnDrop::default();
    runtime.block_on(async {
        for _ in 0..CHAINS {
            link(stop.flag());
        }
    });
    Box::new(move || {
        let _stop = &stop;
        let handles: Vec<_> = (0..tasks).map(|_| runtime.spawn(async {})).collect();
        runtime.block_on(async {
            for handle in handles {
                handle.await.unwrap();
            }
        });
        Done::ops(tasks)
    })
}

fn link(stop: Arc<AtomicBool>) {
    rt::spawn(async move {
        load::burn(BURN);
        if !stop.load(Ordering::Relaxed) {
            link(stop);
        }
    });
}
