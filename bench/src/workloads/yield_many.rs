//! What does it cost to go to the back of the queue?
//!
//! How the answer could mislead: the tasks do nothing, so this is the queue and the poll alone; 200 of them fit into one
//! worker's queue. With several workers it depends on how the tasks happened to spread.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};

const TASKS: u64 = 200;
const YIELDS: u64 = 1000;

pub(crate) fn cases() -> Vec<Case> {
    vec![Case::new(8, "yield_many", "200 tasks yield 1000 times each", 1.8, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        start::on_worker(&runtime, async {
            let yielding = |_| {
                rt::spawn(async {
                    for _ in 0..YIELDS {
                        rt::task::yield_now().await;
                    }
                })
            };
            let handles: Vec<_> = (0..TASKS).map(yielding).collect();
            for handle in handles {
                handle.await.unwrap();
            }
        });
        Done::ops(TASKS * YIELDS)
    })
}
