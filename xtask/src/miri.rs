//! Unit tests under Miri: undefined behaviour, leaks, and, over many seeds, weak memory.

use crate::shell;
use anyhow::{Result, bail};
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Every test of every crate, over many seeds, under Tree Borrows, too. Hours.
    #[arg(long)]
    full: bool,
    /// Only this crate.
    #[arg(long, value_name = "CRATE")]
    package: Option<String>,
    /// Only tests whose path contains this.
    filter: Option<String>,
}

struct Share {
    package: &'static str,
    /// Parts of the paths of the tests meant; none: all.
    filters: &'static [&'static str],
    seconds: u64,
}

const fn share(package: &'static str, filters: &'static [&'static str], seconds: u64) -> Share {
    Share { package, filters, seconds }
}

/// What a continuous check runs.
const SHARES: &[Share] = &[
    share("nezumi-prim", &[], 60),
    share("nezumi-wake", &[], 120),
    share("nezumi-queue", &[], 300),
    share("nezumi-core", &["task::"], 600),
];

/// What only a full run has the time for.
const FULL_ONLY: &[Share] = &[share("nezumi-sync", &[], 600), share("nezumi-io", &[], 600)];

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    for share in SHARES.iter().chain(if options.full { FULL_ONLY } else { &[] }) {
        if options.package.as_deref().is_some_and(|package| package != share.package) {
            continue;
        }
        let filters: Vec<&str> = match &options.filter {
            Some(filter) => vec![filter],
            None if options.full => Vec::new(),
            None => share.filters.to_vec(),
        };
        let flags: &[&str] = if options.full {
            &["-Zmiri-many-seeds=0..32", "-Zmiri-many-seeds=0..8 -Zmiri-tree-borrows"]
        } else {
            &[""]
        };
        for flags in flags {
            let mut test = shell::cargo_nightly();
            test.env("MIRIFLAGS", format!("-Zmiri-strict-provenance -Zmiri-disable-isolation {flags}"))
                .env("CARGO_TARGET_DIR", shell::target_dir().join("miri"))
                .args(["miri", "test", "--quiet", "--lib", "--package", share.package, "--"])
                .args(&filters);
            let limit = Duration::from_secs(share.seconds * if options.full { 100 } else { 1 });
            match shell::run_within(limit, &mut test) {
                Ok(took) => println!("{}: {:.1} s", share.package, took.as_secs_f64()),
                Err(error) => {
                    eprintln!("{error:#}");
                    failed.push(share.package);
                }
            }
        }
    }
    if !failed.is_empty() {
        bail!("Miri found something in {}", failed.join(", "));
    }
    Ok(())
}
