//! What does it cost to spawn a task and wait for it?
//!
//! How the answer could mislead: parent and child take turns, so the queue never holds more than one task and the
//! allocator always has the cell of the last child at hand. With several workers it says whether the others keep still: a
//! runtime that hands each child to a sleeping worker pays for that here, and would not if the child were long.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};

const SPAWNS: u64 = 200_000;

pub(crate) fn cases() -> Vec<Case> {
    vec![Case::new(1, "spawn_join", "a task spawns a no-op task and awaits it, 200 k times", 3.0, prepare)]
}

pub(super) fn prepare(setup: &Setup) -> Round {
    let spawns = setup.size(SPAWNS, 50_000, 1000);
    let runtime = start::runtime(setup);
    Box::new(move || {
        start::on_worker(&runtime, async move {
            for _ in 0..spawns {
                rt::spawn(async {}).await.unwrap();
            }
        });
        Done::ops(spawns)
    })
}
