//! What does it cost to fan out to a million tasks and to sum up what they return?
//!
//! How the answer could mislead: whether a child runs before or after its siblings decides how many tasks are alive at
//! once, and with that how much of it is memory. An operation is one task, inner ones included.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::task::JoinHandle;

const LEAVES: u64 = 1_000_000;
const FAN_OUT: u64 = 10;

pub(crate) fn cases() -> Vec<Case> {
    let what = "fan-out 10, one million leaves, sums up through join handles";
    vec![Case::new(11, "skynet", what, 2.0, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let leaves = setup.size(LEAVES, 100_000, 1000);
    let runtime = start::runtime(setup);
    Box::new(move || {
        let sum = start::on_worker(&runtime, async move { below(0, leaves).await.unwrap() });
        assert_eq!(sum, leaves * (leaves - 1) / 2, "a leaf was lost");
        // 1 + 10 + 100 + … + leaves.
        Done::ops((leaves * FAN_OUT - 1) / (FAN_OUT - 1))
    })
}

/// The sum of the numbers of the `leaves` leaves that start with `first`.
fn below(first: u64, leaves: u64) -> JoinHandle<u64> {
    rt::spawn(async move {
        if leaves == 1 {
            return first;
        }
        let each = leaves / FAN_OUT;
        let children: Vec<_> = (0..FAN_OUT).map(|i| below(first + i * each, each)).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}
