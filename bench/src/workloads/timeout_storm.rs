//! What does a timeout around a short wait cost, when thousands of tasks have one?
//!
//! How the answer could mislead: no timeout ever fires, and each is registered only because what it guards is not ready at
//! once. A yield is in it. The deadlines all lie close together, so in a wheel they share few slots.

use std::time::Duration;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};

const TASKS: u64 = 8192;
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn cases() -> Vec<Case> {
    let what = "8192 tasks, each in a loop of timeout(30 s, yield_now())";
    vec![Case::new(17, "timeout_storm", what, 3.0, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let laps = setup.size(100, 5, 1);
    Box::new(move || {
        start::on_worker(&runtime, async move {
            let wait = |_| {
                rt::spawn(async move {
                    for _ in 0..laps {
                        rt::time::timeout(TIMEOUT, rt::task::yield_now()).await.unwrap();
                    }
                })
            };
            let tasks: Vec<_> = (0..TASKS).map(wait).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        Done::ops(TASKS * laps)
    })
}
