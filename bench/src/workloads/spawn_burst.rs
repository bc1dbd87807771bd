//! What does it cost to spawn many tasks at once, and then to wait for all of them?
//!
//! How the answer could mislead: ten thousand cells do not fit into the nearest caches, so a good part of it is memory. Most
//! children overflow the spawner's own queue, so it says more about overflow than about the queue.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};

const TASKS: u64 = 10_000;
/// So many bursts per round, so that starting the round itself does not count.
const BURSTS: u64 = 10;

pub(crate) fn cases() -> Vec<Case> {
    vec![Case::new(2, "spawn_burst", "a task spawns 10 k no-op tasks, then joins all", 3.0, prepare)]
}

pub(super) fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        start::on_worker(&runtime, async {
            for _ in 0..BURSTS {
                let handles: Vec<_> = (0..TASKS).map(|_| rt::spawn(async {})).collect();
                for handle in handles {
                    handle.await.unwrap();
                }
            }
        });
        Done::ops(TASKS * BURSTS)
    })
}
