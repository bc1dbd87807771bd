//! Whether something has become slower than it was, or than Tokio.
//!
//! Runs the benchmark in its quick form and holds each ratio against `bench/gate.json`. What both the table's runs and this
//! one could owe to noise is allowed for; a workload below 1 is not, unless its whole interval is not below.

use crate::shell;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table instead, from several runs. Only on a machine that does nothing else.
    #[arg(long)]
    update: bool,
    /// How many runs the table is made of.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Of these results of earlier runs (`bench -- --quick --json FILE`), and of no new ones. Once for each run.
    #[arg(long, value_name = "FILE", requires = "update", conflicts_with = "runs")]
    from: Vec<PathBuf>,
    /// At these numbers of workers.
    #[arg(long, value_name = "N,…", default_value = "1,2")]
    workers: String,
    /// Only these workloads.
    #[arg(long, value_name = "NAME,…")]
    only: Option<String>,
}

/// Even a workload that does not vary within a run does so between runs.
const LEAST_NOISE: f64 = 0.05;
/// What varies more than this says nothing.
const MOST_NOISE: f64 = 0.5;
/// Nothing may be slower than Tokio.
const FLOOR: f64 = 1.0;

/// What the benchmark writes, as much as is of interest here.
#[derive(Deserialize)]
struct Report {
    machine: String,
    commit: String,
    results: Vec<Measured>,
}

#[derive(Clone, Deserialize)]
struct Measured {
    #[serde(flatten)]
    key: Key,
    ratio: f64,
    ratio_lo: f64,
    ratio_hi: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    workload: String,
    variant: String,
    workers: u32,
}

/// `bench/gate.json`.
#[derive(Serialize, Deserialize)]
struct Table {
    machine: String,
    commit: String,
    results: Vec<Row>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    key: Key,
    ratio: f64,
    /// As a share of the ratio, to either side.
    noise: f64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let path = shell::root().join("bench/gate.json");
    if options.update {
        return update(options, &path);
    }
    let table: Option<Table> = match fs::read(&path) {
        Ok(text) => Some(serde_json::from_slice(&text).context("bench/gate.json is not a table")?),
        Err(_) => None,
    };
    let report = measure(options)?;
    if table.is_none() {
        println!(
            "There is no bench/gate.json yet (`cargo xtask bench-gate --update`): only what is below {FLOOR} fails."
        );
    }
    let rows = table.map_or_else(Vec::new, |table| table.results);
    let complaints = complaints(&report.results, &rows, options.only.is_none());
    for complaint in &complaints {
        println!("{complaint}");
    }
    ensure!(complaints.is_empty(), "{} of {} do not hold", complaints.len(), report.results.len());
    println!("{} workloads hold", report.results.len());
    Ok(())
}

fn update(options: &Options, path: &Path) -> Result<()> {
    if options.only.is_some() {
        bail!("a table of some workloads would lose the others: --update goes without --only");
    }
    let runs = if options.from.is_empty() {
        (0..options.runs).map(|_| measure(options)).collect::<Result<Vec<Report>>>()?
    } else {
        options.from.iter().map(|path| read(path)).collect::<Result<_>>()?
    };
    let first = &runs[0];
    let row = |measured: &Measured| {
        let of_key = |run: &Report| run.results.iter().find(|other| other.key == measured.key).cloned();
        summary(&runs.iter().filter_map(of_key).collect::<Vec<_>>())
    };
    let results = first.results.iter().map(row).collect();
    let table = Table { machine: first.machine.clone(), commit: first.commit.clone(), results };
    let text = serde_json::to_string_pretty(&table)? + "\n";
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// One run of the quick form.
fn measure(options: &Options) -> Result<Report> {
    let json: PathBuf = shell::target_dir().join("bench-gate.json");
    if let Some(directory) = json.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut bench = shell::cargo();
    bench.current_dir(shell::root().join("bench"));
    bench.args(["run", "--quiet", "--release", "--", "--quick", "--workers", &options.workers]);
    bench.arg("--json").arg(&json);
    if let Some(only) = &options.only {
        bench.args(["--only", only]);
    }
    shell::run(&mut bench)?;
    read(&json)
}

/// What a run has written.
fn read(path: &Path) -> Result<Report> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} is not what the benchmark writes", path.display()))
}

/// What several runs say of one workload: the middle ratio, and how far their intervals reach together.
fn summary(runs: &[Measured]) -> Row {
    let mut ratios: Vec<f64> = runs.iter().map(|run| run.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    let lo = runs.iter().map(|run| run.ratio_lo).fold(f64::INFINITY, f64::min);
    let hi = runs.iter().map(|run| run.ratio_hi).fold(0.0, f64::max);
    Row { key: runs[0].key.clone(), ratio: rounded(ratio), noise: rounded(noise(ratio, lo, hi)) }
}

fn noise(ratio: f64, lo: f64, hi: f64) -> f64 {
    ((hi - lo) / 2.0 / ratio).clamp(LEAST_NOISE, MOST_NOISE)
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// What does not hold, a line each.
fn complaints(measured: &[Measured], table: &[Row], everything: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for now in measured {
        let Key { workload, variant, workers } = &now.key;
        let name = format!("{workload} {variant}, {workers} workers");
        let found = format!("{:.2} ({:.2}..{:.2})", now.ratio, now.ratio_lo, now.ratio_hi);
        if now.ratio_hi < FLOOR {
            complaints.push(format!("{name}: {found}, which is slower than Tokio"));
        }
        let Some(then) = table.iter().find(|row| row.key == now.key) else { continue };
        let allowed = then.noise.hypot(noise(now.ratio, now.ratio_lo, now.ratio_hi)).min(MOST_NOISE);
        let least = then.ratio * (1.0 - allowed);
        if now.ratio < least {
            let was = then.ratio;
            complaints.push(format!("{name}: {found}, which was {was:.2} and may be {least:.2} for noise"));
        }
    }
    if everything {
        let lost = table.iter().filter(|row| !measured.iter().any(|now| now.key == row.key));
        complaints.extend(lost.map(|row| format!("{:?} is in the table and was not measured", row.key)));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(workload: &str) -> Key {
        Key { workload: workload.to_owned(), variant: String::new(), workers: 2 }
    }

    fn measured(workload: &str, ratio: f64, share: f64) -> Measured {
        let (ratio_lo, ratio_hi) = (ratio * (1.0 - share), ratio * (1.0 + share));
        Measured { key: key(workload), ratio, ratio_lo, ratio_hi }
    }

    fn row(workload: &str, ratio: f64, noise: f64) -> Row {
        Row { key: key(workload), ratio, noise }
    }

    #[test]
    fn only_an_interval_that_lies_below_tokio_is_slower() {
        assert_eq!(complaints(&[measured("a", 0.9, 0.2)], &[], true), [""; 0]);
        let found = complaints(&[measured("a", 0.9, 0.05)], &[], true);
        assert_eq!(found, ["a , 2 workers: 0.90 (0.85..0.95), which is slower than Tokio"]);
    }

    #[test]
    fn a_fall_is_one_if_the_noise_of_both_does_not_explain_it() {
        let table = [row("a", 4.0, 0.1)];
        assert_eq!(complaints(&[measured("a", 3.5, 0.1)], &table, true), [""; 0]);
        let found = complaints(&[measured("a", 3.0, 0.1)], &table, true);
        assert_eq!(found, ["a , 2 workers: 3.00 (2.70..3.30), which was 4.00 and may be 3.43 for noise"]);
    }

    #[test]
    fn noise_excuses_half_at_the_most() {
        assert_eq!(complaints(&[measured("a", 1.9, 0.9)], &[row("a", 4.0, 0.5)], true).len(), 1);
    }

    #[test]
    fn what_was_not_measured_is_missed_unless_only_some_were_asked_for() {
        let table = [row("a", 4.0, 0.1)];
        assert_eq!(complaints(&[], &table, true).len(), 1);
        assert_eq!(complaints(&[], &table, false), [""; 0]);
    }

    #[test]
    fn runs_are_summed_up_by_their_middle_and_how_far_they_reach() {
        let runs = [measured("a", 2.0, 0.1), measured("a", 2.2, 0.0), measured("a", 1.9, 0.0)];
        assert_eq!(summary(&runs), row("a", 2.0, 0.1));
        assert_eq!(summary(&runs[1..2]), row("a", 2.2, LEAST_NOISE));
    }
}
