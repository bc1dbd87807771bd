//! What does it cost for two tasks to answer each other once?
//!
//! How the answer could mislead: an operation is two spawns, two channels and two wakes, so a cheap spawn hides a dear
//! wake. All thousand pairs are there at once; it says nothing of the latency of one pair.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::sync::oneshot;

const PAIRS: u64 = 1000;
const REPEATS: u64 = 10;

pub(crate) fn cases() -> Vec<Case> {
    vec![Case::new(9, "ping_pong", "1000 pairs of tasks answer each other over two oneshots", 2.0, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        start::on_worker(&runtime, async {
            for _ in 0..REPEATS {
                let handles: Vec<_> = (0..PAIRS).map(|_| rt::spawn(pair())).collect();
                for handle in handles {
                    handle.await.unwrap();
                }
            }
        });
        Done::ops(PAIRS * REPEATS)
    })
}

async fn pair() {
    let (ping, pinged) = oneshot::channel();
    let (pong, ponged) = oneshot::channel();
    rt::spawn(async move {
        pinged.await.unwrap();
        pong.send(()).unwrap();
    });
    ping.send(()).unwrap();
    ponged.await.unwrap();
}
