//! Unit and integration tests under ThreadSanitizer or AddressSanitizer, on real threads.
//!
//! The standard library is built with the sanitizer, too, so that what its locks, channels and threads order is known. Nothing is suppressed.
//! ThreadSanitizer does not understand fences; no data that is not atomic is handed over by a fence alone, so that it need not.

use crate::shell;
use anyhow::{Result, bail, ensure};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this crate.
    #[arg(long, value_name = "CRATE")]
    package: Option<String>,
    /// Again and again, until so much time is over.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seconds: u64,
    /// Only tests whose path contains this.
    filter: Option<String>,
}

/// What is built in, and what it is told.
struct Sanitizer {
    name: &'static str,
    flag: &'static str,
    options: (&'static str, &'static str),
    shares: &'static [Share],
}

const THREAD: Sanitizer = Sanitizer {
    name: "tsan",
    flag: "-Zsanitizer=thread",
    // Memory of the longer past, so that the earlier of two accesses is still known; and the first report is enough.
    options: ("TSAN_OPTIONS", "history_size=4:halt_on_error=1:second_deadlock_stack=1"),
    shares: &[PRIM, WAKE, QUEUE, SYNC, CORE, CORE_WHOLE],
};

const ADDRESS: Sanitizer = Sanitizer {
    name: "asan",
    flag: "-Zsanitizer=address",
    options: ("ASAN_OPTIONS", "detect_stack_use_after_return=1:detect_leaks=1:strict_init_order=1"),
    shares: &[PRIM, WAKE, QUEUE, SYNC, CORE, CORE_WHOLE_ADDRESSES],
};

struct Share {
    package: &'static str,
    target: &'static str,
    /// Tests that are left out.
    without: &'static [&'static str],
    seconds: u64,
}

impl Share {
    const fn unit_tests(package: &'static str, seconds: u64) -> Self {
        Self { package, target: "--lib", without: &[], seconds }
    }
}

const PRIM: Share = Share::unit_tests("nezumi-prim", 120);
const WAKE: Share = Share::unit_tests("nezumi-wake", 120);
const QUEUE: Share = Share::unit_tests("nezumi-queue", 600);
const SYNC: Share = Share::unit_tests("nezumi-sync", 900);
const CORE: Share = Share::unit_tests("nezumi-core", 900);
const CORE_WHOLE: Share = Share {
    package: "nezumi-core",
    target: "--test=it",
    without: &[
        // A look may find the thread in a function of the sanitizer's, from which the unwinder knows no way back.
        "stuck::the_backtrace_of_a_task_that_burns_names_the_function_it_burns_in",
        // Compares how long two kinds of task wait, in polls of others; under this sanitizer the one kind was seen to wait for eleven only.
        "fairness::high_priority_waits_for_a_tenth_of_what_others_wait_for",
    ],
    seconds: 1800,
};

const CORE_WHOLE_ADDRESSES: Share = Share {
    without: &[
        // Look for functions by name on the stack of a thread, which this sanitizer keeps elsewhere.
        "stuck::the_backtrace_of_a_task_that_burns_names_the_function_it_burns_in",
        "stuck::the_backtrace_of_a_task_that_sleeps_names_the_function_it_sleeps_in",
        "stuck::a_dump_tells_where_the_thread_of_a_stuck_task_is",
    ],
    ..CORE_WHOLE
};

pub(crate) fn thread(options: &Options) -> Result<()> {
    run(&THREAD, options)
}

pub(crate) fn address(options: &Options) -> Result<()> {
    run(&ADDRESS, options)
}

fn run(sanitizer: &Sanitizer, options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    let mut count = 0;
    for share in sanitizer.shares {
        if options.package.as_deref().is_some_and(|package| package != share.package) {
            continue;
        }
        shell::run(tests(sanitizer, share).arg("--no-run"))?;
        let tests = || {
            let mut tests = tests(sanitizer, share);
            tests.env(sanitizer.options.0, sanitizer.options.1).arg("--").args(options.filter.as_slice());
            tests.args(share.without.iter().flat_map(|test| ["--skip", test]));
            tests
        };
        let meant = shell::count_tests(&mut tests())?;
        count += meant;
        if meant == 0 {
            ensure!(options.filter.is_some(), "{} {} has no tests", share.package, share.target);
            continue;
        }
        let (begin, mut rounds) = (Instant::now(), 0);
        loop {
            if let Err(error) = shell::run_within(Duration::from_secs(share.seconds), &mut tests()) {
                eprintln!("{error:#}");
                failed.push(share.package);
                break;
            }
            rounds += 1;
            if begin.elapsed() >= Duration::from_secs(options.seconds) {
                break;
            }
        }
        println!(
            "{}: {} {}: {meant} tests, {rounds} rounds, {:.1} s of at most {} s each",
            sanitizer.name,
            share.package,
            share.target,
            begin.elapsed().as_secs_f64(),
            share.seconds
        );
    }
    ensure!(count > 0, "there is no such test, or no such crate among those that are tested so");
    if !failed.is_empty() {
        bail!("{} has found something in {}", sanitizer.name, failed.join(", "));
    }
    Ok(())
}

fn tests(sanitizer: &Sanitizer, share: &Share) -> std::process::Command {
    let mut test = shell::cargo_nightly();
    test.env("RUSTFLAGS", sanitizer.flag)
        .env("CARGO_TARGET_DIR", shell::target_dir().join(sanitizer.name))
        // Without any optimisation the instrumented code is too slow for tests that wait for each other.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .args(["test", "--quiet", "-Zbuild-std", "--target", TARGET, "--package", share.package])
        .arg(share.target);
    test
}

/// With a target given, build scripts and procedural macros are built without the sanitizer, which they could not be loaded with.
const TARGET: &str = "x86_64-unknown-linux-gnu";
