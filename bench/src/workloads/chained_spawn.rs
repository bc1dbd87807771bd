//! What does it cost when every task's last act is to spawn the next?
//!
//! How the answer could mislead: exactly one task can run at any time, so more workers can only harm. It says whether
//! a runtime leaves the next task where its data is, or wakes somebody for it.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use crate::signal::Signal;

const DEPTH: u64 = 1000;
const CHAINS: u64 = 50;

pub(crate) fn cases() -> Vec<Case> {
    vec![Case::new(10, "chained_spawn", "a task spawns the next, 1000 deep", 2.0, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        start::on_worker(&runtime, async {
            for _ in 0..CHAINS {
                let end = Signal::default();
                link(DEPTH, end.clone());
                end.await;
            }
        });
        Done::ops(DEPTH * CHAINS)
    })
}

fn link(left: u64, end: Signal) {
    rt::spawn(async move {
        match left {
            1 => end.fire(),
            _ => link(left - 1, end),
        }
    });
}
