//! What can be counted of an operation, which no other program on the machine changes.
//!
//! **Instructions.** Five workloads of the benchmark on one worker, under callgrind, twice each: with few rounds and with more. What the second run
//! counts more than the first is the rounds' alone. Without the watch: under callgrind a poll takes fifty times as long, so that the watch takes one
//! or another for stuck, and whoever stands in needs a few instructions more to find its timers. `bench/instructions.json` says what it was. It is
//! the compiler's work, too: another one may do with more or fewer, and then the table wants `--update`.
//!
//! **Writes to shared lines, locks, allocations** (`--shared`): a build with `--cfg nezumi_count` (`nezumi_prim::count`) says how often a thread modified
//! what another had written to last. On two cores that costs little, and on many it is what limits a scheduler.

use crate::shell;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::{fs, str};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write the table instead.
    #[arg(long)]
    update: bool,
    /// Count read-modify-writes of lines that others write, locks and allocations, and hold them to their limits.
    #[arg(long, conflicts_with = "update")]
    shared: bool,
}

/// Name and variant of each.
const WORKLOADS: [(&str, &str); 5] = [
    ("spawn_join", ""),
    ("yield_many", ""),
    ("ping_pong", ""),
    ("mpsc", "bounded, uncontended"),
    ("timer_churn", "0 pending"),
];
/// Rounds of the two runs.
const ROUNDS: [u64; 2] = [1, 3];
const TOLERANCE: f64 = 0.05;

/// What an operation may do at the most in the steady state, on average over two workers or more.
struct Limit {
    workload: &'static str,
    variant: &'static str,
    shared: f64,
    locks: f64,
    allocations: f64,
}

/// So many runs may be disturbed before a figure counts as above its limit.
const TRIES: usize = 5;

/// As good as never: what starting, and waking others up, comes to per operation of a run.
const NEVER: f64 = 0.02;
/// One lock in each round of 61 polls, two of which a spawn and its join are; none is taken for the operation.
const PER_ROUND: f64 = 0.05;

const LIMITS: [Limit; 6] = [
    Limit { workload: "spawn_join", variant: "", shared: NEVER, locks: PER_ROUND, allocations: 1.0 },
    Limit { workload: "chained_spawn", variant: "", shared: NEVER, locks: PER_ROUND, allocations: 1.0 },
    Limit { workload: "yield_many", variant: "", shared: NEVER, locks: PER_ROUND, allocations: NEVER },
    Limit { workload: "timer_churn", variant: "0 pending", shared: NEVER, locks: NEVER, allocations: NEVER },
    Limit {
        workload: "timer_churn",
        variant: "100k pending",
        shared: NEVER,
        locks: NEVER,
        allocations: NEVER,
    },
    // A worker sleeps for each answer, and takes two locks for that. With 64 connections it is a quarter of a lock per operation.
    Limit {
        workload: "tcp_echo",
        variant: "64 B, 1 connection",
        shared: 0.1,
        locks: 2.5,
        allocations: NEVER,
    },
];

/// `bench/instructions.json`.
#[derive(Serialize, Deserialize)]
struct Table {
    compiler: String,
    results: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    workload: String,
    variant: String,
    instructions: f64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.shared {
        return count_shared();
    }
    let path = shell::root().join("bench/instructions.json");
    let bench = build("bench-count", "")?;
    let results = WORKLOADS.iter().map(|workload| count(&bench, *workload)).collect::<Result<Vec<Row>>>()?;
    let compiler =
        String::from_utf8(shell::output(Command::new("rustc").arg("--version"))?)?.trim().to_owned();
    if options.update {
        let text = serde_json::to_string_pretty(&Table { compiler, results })? + "\n";
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
        return Ok(());
    }
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: Table = serde_json::from_slice(&text).context("bench/instructions.json is not a table")?;
    if table.compiler != compiler {
        println!("The table was made with {}, this is {compiler}.", table.compiler);
    }
    let complaints = complaints(&results, &table.results);
    complaints.iter().for_each(|complaint| println!("{complaint}"));
    ensure!(complaints.is_empty(), "{} of {} are not what they were", complaints.len(), results.len());
    Ok(())
}

/// Builds the benchmark, and says where it lies.
fn build(directory: &str, flags: &str) -> Result<std::path::PathBuf> {
    let target = shell::target_dir().join(directory);
    let mut cargo = shell::cargo();
    cargo.current_dir(shell::root().join("bench"));
    cargo.env("CARGO_TARGET_DIR", &target).args(["build", "--quiet", "--release"]);
    if !flags.is_empty() {
        cargo.env("RUSTFLAGS", flags);
    }
    shell::run(&mut cargo)?;
    Ok(target.join("release/bench"))
}

fn count(bench: &Path, (workload, variant): (&str, &str)) -> Result<Row> {
    let [few, more] = ROUNDS.map(|rounds| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(bench);
        valgrind.args([
            "--quick",
            "--workers",
            "1",
            "--profile",
            "unwatched",
            "--only",
            workload,
            "--variant",
            variant,
        ]);
        valgrind.args(["--rounds", &rounds.to_string()]);
        eprintln!("$ {}", shell::shown(&valgrind));
        let output = valgrind.output().context("cannot start valgrind")?;
        let (said, told) = (str::from_utf8(&output.stdout)?, str::from_utf8(&output.stderr)?);
        ensure!(output.status.success(), "failed ({}): {told}", output.status);
        let counted = number_after(told, "Collected : ").context("callgrind told no count")?;
        Ok((counted, number_after(said, " workers: ").context("the benchmark told no operations")?))
    });
    let ((few, few_ops), (more, more_ops)) = (few?, more?);
    let instructions = (more - few) / (more_ops - few_ops);
    println!("{workload} {variant}: {instructions:.1} instructions per operation");
    Ok(Row {
        workload: workload.to_owned(),
        variant: variant.to_owned(),
        instructions: (instructions * 10.0).round() / 10.0,
    })
}

/// What `--shared` does.
fn count_shared() -> Result<()> {
    let (directory, flags) = ("nezumi_count", "--cfg nezumi_count");
    // What counts is tested where it counts.
    let mut counters = shell::cargo();
    counters.env("CARGO_TARGET_DIR", shell::target_dir().join(directory)).env("RUSTFLAGS", flags);
    counters.args(["test", "--quiet", "--release", "--package", "nezumi-prim", "--lib", "count::"]);
    shell::run(&mut counters)?;
    let bench = build(directory, flags)?;
    let mut complaints = Vec::new();
    for limit in &LIMITS {
        for workers in ["2", "4"] {
            complaints.extend(count_within(&bench, limit, workers)?);
        }
    }
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    ensure!(complaints.is_empty(), "{} figures are above their limits", complaints.len());
    Ok(())
}

/// Counts until a run keeps to the limit, and returns the complaints of the last if none does. Workers that rob each other, as they do when the
/// machine has other work, write to what is the other's: that can only add.
fn count_within(bench: &Path, limit: &Limit, workers: &str) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for _ in 0..TRIES {
        let mut run = Command::new(bench);
        run.args(["--quick", "--workers", workers, "--profile", "nezumi", "--rounds", "3"]);
        run.args(["--only", limit.workload, "--variant", limit.variant]);
        let said = String::from_utf8(shell::output(&mut run)?)?;
        let line = said.trim_end();
        ensure!(!line.is_empty(), "the benchmark has no {} {}", limit.workload, limit.variant);
        println!("{line}");
        complaints = excesses(line, limit)?;
        if complaints.is_empty() {
            break;
        }
    }
    Ok(complaints
        .into_iter()
        .map(|it| format!("{} {}, {workers} workers: {it}", limit.workload, limit.variant))
        .collect())
}

/// What is above its limit in a line that the benchmark has said.
fn excesses(line: &str, limit: &Limit) -> Result<Vec<String>> {
    let mut excesses = Vec::new();
    for (what, most) in [("shared", limit.shared), ("locks", limit.locks), ("allocations", limit.allocations)]
    {
        let count =
            number_after(line, &format!(", {what} ")).with_context(|| format!("{line}: no {what}"))?;
        if count > most {
            excesses.push(format!("{what} is to be {most} at the most"));
        }
    }
    Ok(excesses)
}

fn number_after(text: &str, what: &str) -> Option<f64> {
    let (_, rest) = text.rsplit_once(what)?;
    rest.split_whitespace().next()?.trim_end_matches(',').parse().ok()
}

/// What does not hold, a line each. Fewer than there were are no complaint, but the table should say so.
fn complaints(now: &[Row], then: &[Row]) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in now {
        let Row { workload, variant, instructions } = row;
        let same = |old: &&Row| (&old.workload, &old.variant) == (workload, variant);
        let Some(old) = then.iter().find(same).map(|old| old.instructions) else {
            complaints.push(format!("{workload} {variant} is not in the table"));
            continue;
        };
        if *instructions > old * (1.0 + TOLERANCE) {
            complaints
                .push(format!("{workload} {variant}: {instructions:.1} instructions, which were {old:.1}"));
        } else if *instructions < old * (1.0 - TOLERANCE) {
            println!(
                "{workload} {variant}: {instructions:.1} instructions, which were {old:.1}: `--update` would hold that"
            );
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(workload: &str, instructions: f64) -> Row {
        Row { workload: workload.to_owned(), variant: String::new(), instructions }
    }

    #[test]
    fn a_twentieth_more_is_allowed() {
        let table = [row("a", 1000.0)];
        assert_eq!(complaints(&[row("a", 1049.0)], &table), [""; 0]);
        assert_eq!(complaints(&[row("a", 500.0)], &table), [""; 0]);
        let found = complaints(&[row("a", 1051.0)], &table);
        assert_eq!(found, ["a : 1051.0 instructions, which were 1000.0"]);
    }

    #[test]
    fn what_the_table_lacks_is_no_pass() {
        assert_eq!(complaints(&[row("b", 1.0)], &[row("a", 1.0)]), ["b  is not in the table"]);
    }

    #[test]
    fn what_is_above_its_limit_is_told() {
        let limit = Limit { workload: "w", variant: "", shared: 0.1, locks: 0.1, allocations: 1.0 };
        let line = "w , 2 workers: 10 operations, rmw 9.0, shared 0.2000, locks 0.1000, fences 0.0, allocations 1.5000";
        assert_eq!(excesses(line, &limit).unwrap().len(), 2);
        assert!(
            excesses("w , 2 workers: 10 operations", &limit).is_err(),
            "an ordinary build counts nothing"
        );
    }

    #[test]
    fn the_count_is_found_in_what_callgrind_tells() {
        let told = "==1== Events    : Ir\n==1== Collected : 12345\n==1== \n";
        assert_eq!(number_after(told, "Collected : "), Some(12345.0));
        assert_eq!(number_after("spawn_join , 1 workers: 400 operations", " workers: "), Some(400.0));
        assert_eq!(number_after(told, "nothing"), None);
    }
}
