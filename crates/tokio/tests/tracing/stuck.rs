//! Polls that do not end.
//!
//! They are told by the watch's thread, and so to the subscriber of the whole process. What else that one is told is of no concern here.

use crate::recorder::{Fields, Recorder};
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task;

static OF_THE_PROCESS: LazyLock<Recorder> = LazyLock::new(|| {
    let recorder = Recorder::new();
    tracing::subscriber::set_global_default(recorder.clone()).unwrap();
    recorder
});

fn runtime(stuck_after_ms: u64) -> Runtime {
    LazyLock::force(&OF_THE_PROCESS);
    Builder::new_multi_thread()
        .worker_threads(2)
        .stuck_after(Duration::from_millis(stuck_after_ms))
        .build()
        .unwrap()
}

/// What was told of this task.
fn told_of(id: task::Id) -> Vec<Fields> {
    let all = OF_THE_PROCESS.events("nezumi::stuck").into_iter().map(|(fields, _)| fields);
    all.filter(|fields| fields.get("task.id") == Some(&id.to_string())).collect()
}

/// Keeps a poll going until it is told of, or for so long that it never will be.
fn until_told(about_once: fn()) {
    let began = Instant::now();
    while told_of(task::id()).is_empty() && began.elapsed() < Duration::from_secs(20) {
        about_once();
    }
}

#[test]
fn a_stuck_poll_says_whose_it_is_and_whether_it_sleeps() {
    let rt = runtime(10);
    let line = line!() + 2;
    let glutton = async { until_told(|| std::thread::sleep(Duration::from_millis(20))) };
    let spawned = rt.block_on(async { task::Builder::new().name("glutton").spawn(glutton) });
    let task = spawned.unwrap();
    let id = task.id();
    rt.block_on(task).unwrap();
    let told = told_of(id);
    let [fields] = &told[..] else { panic!("{told:?}") };
    let expected = [
        ("elapsed_ms", fields["elapsed_ms"].clone()),
        ("loc.col", fields["loc.col"].clone()),
        ("loc.file", file!().to_owned()),
        ("loc.line", line.to_string()),
        ("message", fields["message"].clone()),
        ("pace", if cfg!(target_os = "linux") { "sleeps" } else { "burns" }.to_owned()),
        ("task.id", id.to_string()),
        ("task.name", "glutton".to_owned()),
        ("worker", fields["worker"].clone()),
    ];
    assert!(fields.iter().map(|(name, value)| (name.as_str(), value.clone())).eq(expected), "{fields:?}");
    assert!(fields["elapsed_ms"].parse::<u64>().unwrap() >= 10);
    assert!(fields["worker"].parse::<usize>().unwrap() < 2);
}

#[test]
fn a_stuck_poll_that_burns_its_processor_says_so() {
    let rt = runtime(10);
    let task = rt.spawn(async {
        until_told(|| {
            for _ in 0..100_000 {
                std::hint::spin_loop()
            }
        })
    });
    let id = task.id();
    rt.block_on(task).unwrap();
    assert_eq!(told_of(id)[0]["pace"], "burns");
}

#[test]
fn a_poll_that_ends_in_time_is_not_told_of() {
    let rt = runtime(10_000);
    let (seen, was_seen) = mpsc::channel();
    let task = rt.spawn(async move {
        // Long enough for the watch to see it stuck, and to have work taken from it.
        task::spawn(async move { seen.send(()).unwrap() });
        was_seen.recv().unwrap();
    });
    let id = task.id();
    rt.block_on(task).unwrap();
    assert!(told_of(id).is_empty());
}
