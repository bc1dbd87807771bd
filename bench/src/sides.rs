//! Each workload does on both sides what it says, as often as it says.
//!
//! Tiny rounds, two of each: the second finds what the first left behind. What a round can check of its own work (sums,
//! counts, answers) it asserts itself, also when it is timed.

use std::collections::HashSet;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::case::{Case, Done, Form, Setup, Side};
use crate::{on_nezumi, on_tokio};

/// As many as the machine has time for.
const ANY: u64 = 0;

/// How many operations a tiny round of each workload is, whatever the side; in the order of the table.
const OPS: &[(&str, u64)] = &[
    ("spawn_join", 1000),
    ("spawn_burst", 100_000),
    ("spawn_many_local", 10_000),
    ("remote_idle", 10_000),
    ("remote_busy_yield", 50),
    ("remote_busy_spawn", 20),
    ("remote_spawn_threads", 12_800),
    ("yield_many", 200_000),
    ("ping_pong", 10_000),
    ("chained_spawn", 50_000),
    ("skynet", 1111),
    ("ring 1 token", 1000),
    ("ring 100 tokens", 100_000),
    ("mpsc bounded, uncontended", 100),
    ("mpsc unbounded, uncontended", 100),
    ("mpsc", 1000),
    ("req_reply", 640),
    ("sync Notify", 10),
    ("sync Notify, 64 tasks", 128),
    ("sync Semaphore", 10),
    ("sync Semaphore, 64 tasks", 128),
    ("sync RwLock, read", 10),
    ("sync RwLock, write", 10),
    ("sync RwLock, 64 tasks", 128),
    ("sync watch", 10),
    ("sync watch, 64 tasks", 128),
    ("sync broadcast", 10),
    ("sync broadcast, 64 tasks", 2048),
    ("timer_churn", 1000),
    ("timeout_storm", 8192),
    ("million_sleep", 1000),
    ("spawn_blocking 1 producer", 32),
    ("spawn_blocking 4 producers", 128),
    ("million_sleep", 1000),
    ("spawn_blocking 16 producers", 512),
    ("fs 4 KiB cached random reads", 64),
    ("fs walk of 10 k files", 10_110),
    ("tcp_echo 64 B, 1024 connections", 1024),
    ("tcp_echo 64 KiB, 1024 connections", 1024),
    ("tcp_echo", 64),
    ("http", 256),
    ("churn", 32),
    ("sparse", 50),
    ("stranded", 1),
    ("idle", 1),
    ("rescue", 1),
    ("interference", ANY),
    ("overload", ANY),
    ("growth_tasks", 100_000),
    ("growth_timers", 1000),
    ("growth_producers", 1000),
    ("growth_workers spawn and join", 1000),
    ("growth_workers burst", 100_000),
];

/// Of a variant if it is named, else of the workload.
fn expected(case: &Case) -> u64 {
    let name = format!("{} {}", case.workload, case.variant);
    let named = |wanted: &str| OPS.iter().find(|(name, _)| *name == wanted);
    let found = named(name.trim()).or_else(|| named(case.workload));
    found.unwrap_or_else(|| panic!("{name} has no line in the list of counts")).1
}

fn two_rounds(case: &Case) -> Done {
    let setup = Setup { workers: case.workers.unwrap_or(2), form: Form::Tiny };
    let mut round = (case.prepare)(&setup);
    round();
    round()
}

fn check(side: Side, cases: Vec<Case>) {
    // What they prepare on disk is the same.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let watch = Watch::start();
    for case in cases {
        watch.now_at(format!("{} {} on {side:?}", case.workload, case.variant));
        let (done, expected) = (two_rounds(&case), expected(&case));
        let as_said = if expected == ANY { done.ops > 0 } else { done.ops == expected };
        assert!(as_said, "{} {} on {side:?}: {} operations", case.workload, case.variant, done.ops);
        assert_eq!(case.side, side);
    }
}

/// Names the workload that never ends, and ends the test.
struct Watch(mpsc::Sender<String>);

impl Watch {
    /// Building the HTTP servers, the longest of all, takes a minute or two.
    const PATIENCE: Duration = Duration::from_secs(300);

    fn start() -> Watch {
        let (sender, cases) = mpsc::channel();
        thread::spawn(move || {
            let mut at = String::new();
            loop {
                match cases.recv_timeout(Watch::PATIENCE) {
                    Ok(next) => at = next,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        // Not by a macro: what those print is kept until the test has ended.
                        let _ = writeln!(std::io::stderr(), "{at}: does not come to an end");
                        std::process::abort();
                    }
                }
            }
        });
        Watch(sender)
    }

    fn now_at(&self, case: String) {
        self.0.send(case).expect("it listens as long as there is somebody to listen to");
    }
}

#[test]
fn every_workload_does_on_tokio_what_it_says() {
    crate::meter::allow_many_files();
    check(Side::Tokio, on_tokio::all());
}

#[test]
fn every_workload_does_on_nezumi_what_it_says() {
    crate::meter::allow_many_files();
    check(Side::Nezumi, on_nezumi::all());
}

#[test]
fn the_sides_have_the_same_cases_and_no_two_are_called_alike() {
    let (tokio, nezumi) = (on_tokio::all(), on_nezumi::all());
    assert_eq!(tokio.len(), nezumi.len());
    assert!(tokio.iter().zip(&nezumi).all(|(a, b)| a.is_same_as(b) && a.number == b.number));
    let names: HashSet<_> = tokio.iter().map(|case| (case.workload, case.variant, case.workers)).collect();
    assert_eq!(names.len(), tokio.len());
}
