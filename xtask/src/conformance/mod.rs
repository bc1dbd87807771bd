//! Tokio's own published tests, run on Nezumi.
//!
//! `suite` says what there is to run. `scratch` finds the published sources in cargo's cache and lays them out under the
//! target directory, in a package whose `tokio` is ours. `nextest` builds and runs it. `expected` knows which tests are
//! allowed to fail, and why. `report` holds the outcome against that list and writes it down.

mod expected;
mod nextest;
mod report;
pub(crate) mod scratch;
mod suite;

use anyhow::{Result, ensure};
use std::path::PathBuf;

/// Whose `tokio` is tested.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub(crate) enum Implementation {
    /// The facade of this workspace.
    Nezumi,
    /// The published crate: for checking the runner itself, and for comparing.
    Upstream,
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which tests; may be repeated. All, when none is given.
    #[arg(long = "suite", value_name = "SUITE", value_parser = suite::names())]
    suites: Vec<String>,
    /// Only the files, or else the tests, whose name contains this. The list of expected failures is not enforced then.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Writes the outcome here, as JSON. With several suites, as an array.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "nezumi")]
    implementation: Implementation,
    /// Keeps the versions of the other dependencies found this time in conformance/locks.
    #[arg(long)]
    update_locks: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    nextest::assert_installed()?;
    let mut reports = Vec::new();
    for suite in suite::ALL {
        if !options.suites.is_empty() && !options.suites.iter().any(|name| name == suite.name) {
            continue;
        }
        let scratch = scratch::lay_out(suite, options.implementation, options.update_locks)?;
        let outcome = nextest::run(suite, &scratch, options.filter.as_deref())?;
        let expected = expected::read(suite.name)?;
        let report = report::Report::new(suite.name, outcome, &expected, options.filter.is_some());
        report.print();
        reports.push(report);
    }
    let total: usize = reports.iter().map(report::Report::total).sum();
    ensure!(total > 0, "no test was run: no suite, file or test has this name");
    if let Some(file) = &options.json {
        let text = match &reports[..] {
            [one] => serde_json::to_string_pretty(one)?,
            several => serde_json::to_string_pretty(several)?,
        };
        std::fs::write(file, text + "\n")?;
    }
    ensure!(reports.iter().all(report::Report::is_as_expected), "not as expected");
    Ok(())
}
