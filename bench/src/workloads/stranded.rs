//! How long does a task wait behind one that blocks its worker?
//!
//! A task spawns another and then blocks its thread for 20 ms, while a second worker has nothing to do. The figure is the longest wait of
//! the other one, in milliseconds, over 20 times.
//!
//! How the answer could mislead: what is waited for is the runtime's own patience, so a crowded machine adds its own delays to it, and a
//! longer block would make the ratio larger at will.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};

const BLOCKED: Duration = Duration::from_millis(20);
const TIMES: u64 = 20;

pub(crate) fn cases() -> Vec<Case> {
    let what = "a task spawns another and blocks its worker for 20 ms: how long the other waits, at most";
    vec![Case::new(24, "stranded", what, 4.0, prepare).workers(2).figure("ms at most").slow()]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    Box::new(move || {
        let longest = (0..TIMES).map(|_| wait_once(&runtime)).max().unwrap_or_default();
        Done { figure: Some(longest.as_secs_f64() * 1e3), ..Done::ops(1) }
    })
}

fn wait_once(runtime: &rt::runtime::Runtime) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let blocker = runtime.spawn(async move {
        let spawned = Instant::now();
        rt::spawn(async move { sender.send(spawned.elapsed()).unwrap() });
        std::thread::sleep(BLOCKED);
    });
    let waited = receiver.recv().unwrap();
    runtime.block_on(blocker).unwrap();
    // So that both workers are asleep, and the next one meets the runtime at rest.
    std::thread::sleep(Duration::from_millis(2));
    waited
}
