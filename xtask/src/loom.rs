//! The models: every interleaving of a few threads, up to a number of preemptions.
//!
//! Each crate that has models is built once with `--cfg nezumi_loom` and run once for each of its groups. A group is a
//! filter on the models' names, with the preemptions it can afford and the time it may take; that time is a budget, and a
//! group that exceeds it fails.

use crate::shell;
use anyhow::{Result, bail, ensure};
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// All models, one preemption more than usual, and ten times as long. Hours.
    #[arg(long)]
    full: bool,
    /// Only this crate.
    #[arg(long, value_name = "CRATE")]
    package: Option<String>,
    /// Only models whose path contains this.
    filter: Option<String>,
    /// As many preemptions, whatever the group says.
    #[arg(long, value_name = "N")]
    preemptions: Option<usize>,
}

struct Group {
    package: &'static str,
    /// Part of the path of the models meant.
    filter: &'static str,
    preemptions: usize,
    seconds: u64,
}

const fn group(package: &'static str, filter: &'static str, preemptions: usize, seconds: u64) -> Group {
    Group { package, filter, preemptions, seconds }
}

/// What a continuous check runs.
const GROUPS: &[Group] = &[
    group("nezumi-prim", "models", 2, 60),
    group("nezumi-wake", "models", 2, 120),
    group("nezumi-queue", "models", 2, 300),
    group("nezumi-sync", "models", 2, 300),
    group("nezumi-core", "models", 2, 300),
];

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    let mut total = 0;
    for group in GROUPS {
        if options.package.as_deref().is_some_and(|package| package != group.package) {
            continue;
        }
        let preemptions = options.preemptions.unwrap_or(group.preemptions + usize::from(options.full));
        let limit = Duration::from_secs(group.seconds * if options.full { 10 } else { 1 });
        shell::run(test(group.package, preemptions).arg("--no-run"))?;
        let filter = options.filter.as_deref().unwrap_or(group.filter);
        let count = shell::count_tests(test(group.package, preemptions).args([filter, "--"]))?;
        if count == 0 {
            ensure!(options.filter.is_some(), "{} has no model whose path contains {filter}", group.package);
            continue;
        }
        total += count;
        match shell::run_within(limit, test(group.package, preemptions).arg(filter)) {
            Ok(took) => println!("{} {filter}: {count} models, {:.1} s", group.package, took.as_secs_f64()),
            Err(error) => {
                eprintln!("{error:#}");
                failed.push(format!("{} {filter}", group.package));
            }
        }
    }
    ensure!(total > 0, "there is no such model, or no such crate among those that have some");
    if !failed.is_empty() {
        bail!("models failed: {}", failed.join(", "));
    }
    Ok(())
}

fn test(package: &str, preemptions: usize) -> std::process::Command {
    let mut test = shell::cargo();
    test.env("RUSTFLAGS", "--cfg nezumi_loom")
        .env("CARGO_TARGET_DIR", loom_target_dir())
        .env("LOOM_MAX_PREEMPTIONS", preemptions.to_string())
        .args(["test", "--quiet", "--release", "--lib", "--package", package]);
    test
}

/// A directory of its own, so that the flag does not throw away what was built without it.
fn loom_target_dir() -> PathBuf {
    shell::target_dir().join("loom")
}
