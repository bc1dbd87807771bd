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
}

const THREAD: Sanitizer = Sanitizer {
    name: "tsan",
    flag: "-Zsanitizer=thread",
    // Memory of the longer past, so that the earlier of two accesses is still known; and the first report is enough.
    options: ("TSAN_OPTIONS", "history_size=4:halt_on_error=1:second_deadlock_stack=1"),
};

const ADDRESS: Sanitizer = Sanitizer {
    name: "asan",
    flag: "-Zsanitizer=address",
    options: ("ASAN_OPTIONS", "detect_stack_use_after_return=1:detect_leaks=1:strict_init_order=1"),
};

struct Share {
    package: &'static str,
    targets: &'static [&'static str],
    seconds: u64,
}

const SHARES: &[Share] = &[
    Share { package: "nezumi-prim", targets: &["--lib"], seconds: 120 },
    Share { package: "nezumi-wake", targets: &["--lib"], seconds: 120 },
    Share { package: "nezumi-queue", targets: &["--lib"], seconds: 600 },
    Share { package: "nezumi-sync", targets: &["--lib"], seconds: 900 },
    Share { package: "nezumi-core", targets: &["--lib", "--test=it"], seconds: 1800 },
];

pub(crate) fn thread(options: &Options) -> Result<()> {
    run(&THREAD, options)
}

pub(crate) fn address(options: &Options) -> Result<()> {
    run(&ADDRESS, options)
}

fn run(sanitizer: &Sanitizer, options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    let mut count = 0;
    for share in SHARES {
        if options.package.as_deref().is_some_and(|package| package != share.package) {
            continue;
        }
        count += 1;
        shell::run(tests(sanitizer, share).arg("--no-run"))?;
        let (begin, mut rounds) = (Instant::now(), 0);
        loop {
            let mut tests = tests(sanitizer, share);
            tests.env(sanitizer.options.0, sanitizer.options.1).arg("--").args(options.filter.as_slice());
            if let Err(error) = shell::run_within(Duration::from_secs(share.seconds), &mut tests) {
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
            "{}: {}: {rounds} rounds, {:.1} s of at most {} s each",
            sanitizer.name,
            share.package,
            begin.elapsed().as_secs_f64(),
            share.seconds
        );
    }
    ensure!(count > 0, "there is no such crate among those that are tested so");
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
        .args(share.targets);
    test
}

/// With a target given, build scripts and procedural macros are built without the sanitizer, which they could not be loaded with.
const TARGET: &str = "x86_64-unknown-linux-gnu";
