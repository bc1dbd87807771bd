//! What a program sees that knows this crate as `tokio`, and knows no other name of it.

use std::time::Duration;

#[tokio::test]
async fn the_attributes_and_macros_work_under_this_name() {
    let sum = tokio::join!(async { 1 }, async { 2 });
    assert_eq!(sum, (1, 2));
    assert_eq!(tokio::try_join!(async { Ok::<_, ()>(1) }), Ok((1,)));
    let winner = tokio::select! {
        biased;
        () = std::future::ready(()) => 1,
        () = std::future::pending() => 2,
    };
    assert_eq!(winner, 1);
    let future = async { 3 };
    tokio::pin!(future);
    assert_eq!(future.await, 3);
}

tokio::task_local! {
    static NUMBER: u8;
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn on_two_threads() -> u8 {
    tokio::spawn(NUMBER.scope(4, async { NUMBER.get() })).await.unwrap()
}

#[test]
fn main_builds_the_runtime_that_was_asked_for() {
    assert_eq!(on_two_threads(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_clock_can_be_stopped() {
    let start = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(60));
}

#[test]
fn version_and_features_are_those_that_dependents_ask_for() {
    // Cargo leaves a patch out, with no more than a warning, when a name is missing or the version is too low.
    let manifest = include_str!("../Cargo.toml");
    assert!(manifest.contains("version = \"1.54.1\""));
    let features = manifest.split("[features]").nth(1).unwrap().split("[dependencies]").next().unwrap();
    for name in [
        "bytes",
        "default",
        "fs",
        "full",
        "io-std",
        "io-uring",
        "io-util",
        "libc",
        "macros",
        "mio",
        "net",
        "parking_lot",
        "process",
        "rt",
        "rt-multi-thread",
        "schedule-latency",
        "signal",
        "signal-hook-registry",
        "socket2",
        "sync",
        "taskdump",
        "test-util",
        "time",
        "tokio-macros",
        "tracing",
        "windows-sys",
    ] {
        assert!(features.lines().any(|line| line.starts_with(&format!("{name} ="))), "{name}");
    }
}
