//! Whole runtimes under shuttle: random schedules, and those of PCT, from a fresh seed each time.
//!
//! The programs are `crates/nezumi-core/src/scheduler/shuttled.rs`. Each gets ten thousand schedules, within five minutes for all, or with
//! `--full` a hundred thousand, within an hour.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Ten times as many schedules, within an hour.
    #[arg(long)]
    full: bool,
    /// So many schedules for each program.
    #[arg(long, value_name = "N")]
    schedules: Option<u64>,
    /// What an earlier run printed, which does the same again with as many schedules. Also what shuttle calls a failing seed: the first schedule is that
    /// one then, and `--schedules 2` will do.
    #[arg(long)]
    seed: Option<String>,
    /// Only programs whose name contains this.
    filter: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let schedules = options.schedules.unwrap_or(if options.full { 100_000 } else { 10_000 });
    let limit = Duration::from_secs(if options.full { 3600 } else { 300 });
    let seed = match &options.seed {
        Some(seed) => seed.clone(),
        None => format!("{:#018x}", shell::fresh_seed()),
    };
    let test = || {
        let mut test = shell::cargo();
        test.env("RUSTFLAGS", "--cfg nezumi_shuttle")
            .env("CARGO_TARGET_DIR", shell::target_dir().join("shuttle"))
            .args(["test", "--quiet", "--release", "--lib", "--package", "nezumi-core"]);
        test
    };
    let filter = options.filter.as_deref().unwrap_or("shuttled::");
    let count = shell::count_tests(test().args([filter, "--"]))?;
    ensure!(count > 0, "no program's name contains {filter}");
    let mut programs = test();
    programs
        .env("NEZUMI_SHUTTLE_SEED", &seed)
        .env("NEZUMI_SHUTTLE_SCHEDULES", schedules.to_string())
        // One after the other: what a program finds is found again by the same seed.
        .args([filter, "--", "--test-threads=1"]);
    let again = || {
        // With as many schedules: PCT has its turn after the random ones, which with more of them might find something else before.
        let count = schedules.to_string();
        let full = options.full.then_some("--full");
        let seeded = ["--schedules", &count, "--seed", &seed];
        shell::again("shuttle", options.filter.as_deref().into_iter().chain(full).chain(seeded))
    };
    let took = shell::run_within(limit, &mut programs).with_context(|| format!("again: {}", again()))?;
    println!(
        "{count} tests, {schedules} schedules of each program, seed {seed}: {:.1} s",
        took.as_secs_f64()
    );
    Ok(())
}
