//! How long does a spawn from outside wait while the workers are busy with tasks that yield?
//!
//! How the answer could mislead: a runtime that looks at the outside queue rarely, and then takes one task, is slow here
//! whatever its queue costs; it is fairness that is measured. The spawning thread needs a core too: with as many workers as
//! cores it competes with them.
//!
//! What is counted besides time is that of the whole process, so here it is mostly the burning tasks'.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::load::{self, StopOnDrop};

const TASKS: u64 = 10_000;
const BURNERS: u64 = 8;
const BURN: Duration = Duration::from_micros(10);

pub(crate) fn cases() -> Vec<Case> {
    let what =
        "an outside thread spawns 10 k tasks and joins them while 8 tasks burn 10 µs and yield in a loop";
    vec![Case::new(5, "remote_busy_yield", what, 1.5, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let tasks = setup.size(TASKS, 500, 50);
    let stop = StopOnDrop::default();
    for _ in 0..BURNERS {
        let stop = stop.flag();
        runtime.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                load::burn(BURN);
                rt::task::yield_now().await;
            }
        });
    }
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
