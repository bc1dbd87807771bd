//! A test that fails once in a hundred runs is a bug that has not been caught yet.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often.
    #[arg(long, default_value_t = 20)]
    times: u32,
    /// Stop when this much time is up, whatever was reached.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    seconds: u64,
    /// Only tests whose name contains this.
    filter: Option<String>,
}

const PACKAGES: &[&str] = &["nezumi-core", "nezumi-queue", "nezumi-sync", "nezumi-os", "nezumi"];

pub(crate) fn run(options: &Options) -> Result<()> {
    let test = || {
        let mut test = shell::cargo();
        test.args(["test", "--release", "--quiet", "--lib", "--tests", "--all-features"]);
        for package in PACKAGES {
            test.args(["--package", package]);
        }
        test
    };
    shell::run(test().arg("--no-run"))?;
    let count = shell::count_tests(test().args(options.filter.as_slice()).arg("--"))?;
    ensure!(count > 0, "there is no such test");

    let start = Instant::now();
    let limit = Duration::from_secs(options.seconds);
    for round in 1..=options.times {
        let mut test = test();
        test.args(options.filter.as_slice());
        shell::run_within(limit, &mut test)
            .with_context(|| format!("in round {round} of {}", options.times))?;
        println!(
            "round {round} of {} passed, {count} tests, {} s in all",
            options.times,
            start.elapsed().as_secs()
        );
        if start.elapsed() > limit {
            println!("the time is up");
            break;
        }
    }
    Ok(())
}
