//! How often does a thread go to sleep and wake up for a little work now and then?
//!
//! The figure is voluntary context switches per task, of all threads but the one that spawns. It takes one to wake somebody
//! and let him sleep again; what is above that was woken for nothing.
//!
//! How the answer could mislead: on a crowded machine a worker may not have fallen asleep before the next task comes. The
//! time per operation is the pause between the tasks, and says nothing.

use std::time::{Duration, Instant};

use super::start;
use crate::case::{Case, Done, Round, Setup};
use crate::meter::Usage;

const PAUSE: Duration = Duration::from_micros(500);
const ITERATIONS: u64 = 3000;

pub(crate) fn cases() -> Vec<Case> {
    let what = "a task of 3000 iterations every 500 µs for 10 s on 4 workers: voluntary context switches";
    vec![Case::new(24, "sparse", what, 1.0, prepare).workers(4).figure("switches per task").slow()]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let tasks = setup.size(20_000, 600, 50);
    Box::new(move || {
        let (all, own) = (Usage::of_process(), Usage::of_thread());
        let mut next = Instant::now();
        for _ in 0..tasks {
            runtime.spawn(async {
                for i in 0..ITERATIONS {
                    std::hint::black_box(i);
                }
            });
            next += PAUSE;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        let all = Usage::of_process().since(all).voluntary_switches;
        let own = Usage::of_thread().since(own).voluntary_switches;
        Done { figure: Some((all - own) as f64), ..Done::ops(tasks) }
    })
}
