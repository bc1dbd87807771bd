//! Does an operation cost more when there is more of everything?
//!
//! The workloads of other files at more sizes than their definitions name, for the curves on the page. An operation is the
//! same at each point of a curve, and so is the number of operations.
//!
//! How the answer could mislead: a curve rises where the caches end, whatever the runtime does. More workers than cores
//! cost what the kernel's scheduling costs.

use super::{mpsc, rt, spawn_burst, spawn_join, start, timer_churn};
use crate::case::{Case, Done, Round, Setup};

const NUMBER: u32 = 28;
/// Where it is not the workers whose number grows.
const WORKERS: usize = 2;
const YIELDS: u64 = 100_000;

pub(crate) fn cases() -> Vec<Case> {
    [tasks(), timers(), producers(), workers()].into_iter().flatten().collect()
}

fn tasks() -> Vec<Case> {
    let case = |variant, tasks| {
        let what = "so many tasks yield, 100 k times in all";
        Case::new(NUMBER, "growth_tasks", what, 1.0, move |setup| yielding(setup, tasks))
            .variant(variant)
            .at("tasks that yield", tasks)
            .workers(WORKERS)
    };
    vec![case("10", 10), case("100", 100), case("1k", 1000), case("10k", 10_000), case("100k", 100_000)]
}

fn yielding(setup: &Setup, tasks: u64) -> Round {
    let runtime = start::runtime(setup);
    let yields = YIELDS / tasks;
    Box::new(move || {
        start::on_worker(&runtime, async move {
            let yielding = |_| {
                rt::spawn(async move {
                    for _ in 0..yields {
                        rt::task::yield_now().await;
                    }
                })
            };
            let tasks: Vec<_> = (0..tasks).map(yielding).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        Done::ops(tasks * yields)
    })
}

fn timers() -> Vec<Case> {
    let case = |variant, pending: u64| {
        let what = "a sleep is created, polled once and dropped while so many others are pending";
        Case::new(NUMBER, "growth_timers", what, 1.0, move |setup| {
            timer_churn::prepare(setup, setup.size(pending, pending, pending / 100))
        })
        .variant(variant)
        .at("timers pending", pending)
        .workers(WORKERS)
    };
    vec![
        case("100", 100),
        case("1k", 1000),
        case("10k", 10_000),
        case("100k", 100_000).slow(),
        case("1M", 1_000_000).slow(),
    ]
}

fn producers() -> Vec<Case> {
    let case = |variant, senders| {
        let what = "so many tasks send messages of 64 bytes to one that receives them, bounded";
        Case::new(NUMBER, "growth_producers", what, 1.0, move |setup| {
            mpsc::fan_in(setup, mpsc::Kind::Bounded, 1, senders)
        })
        .variant(variant)
        .at("senders", senders)
        .workers(WORKERS)
    };
    vec![case("1", 1), case("4", 4), case("20", 20), case("100", 100)]
}

fn workers() -> Vec<Case> {
    let join = |variant, workers: u64| {
        let what = "a task spawns a no-op task and awaits it, on so many workers";
        Case::new(NUMBER, "growth_workers", what, 1.0, spawn_join::prepare)
            .variant(variant)
            .at("workers, spawn and join", workers)
            .workers(workers as usize)
    };
    let burst = |variant, workers: u64| {
        let what = "a task spawns 10 k no-op tasks, then joins all, on so many workers";
        Case::new(NUMBER, "growth_workers", what, 1.0, spawn_burst::prepare)
            .variant(variant)
            .at("workers, burst", workers)
            .workers(workers as usize)
    };
    let counts = [1, 2, 4, 8, 16];
    let joins = counts.map(|workers| join("spawn and join", workers));
    let bursts = counts.map(|workers| burst("burst", workers));
    joins.into_iter().chain(bursts).collect()
}
