//! Developer commands: `cargo xtask help`.
//!
//! What a continuous check needs is in `.ci/run`, which calls these; what is too long for it stands here with its options.

mod api_diff;
mod bench_count;
mod bench_gate;
mod cold;
mod conformance;
mod cross;
mod features;
mod fuzz;
mod lock_check;
mod loom;
mod miri;
mod mutate;
#[cfg(test)]
mod names;
mod proof;
mod sanitizers;
mod shell;
mod shuttle;
mod stress;

use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of Nezumi", version)]
enum Command {
    /// Runs the models of the lock-free structures under loom: three minutes, and the builds. Nothing in it is random.
    Loom(loom::Options),
    /// Weakens each memory ordering, one at a time, and runs the models, which must notice: ten minutes, builds included. Nothing in it is random.
    MutateOrderings(mutate::Options),
    /// Runs unit tests under Miri: some minutes, half an hour at most. `--seeds N` runs, of each structure, the tests in which threads meet with so many seeds, and
    /// `--seed S` with one; `--full` runs everything.
    Miri(miri::Options),
    /// Runs the published tests of Tokio and its companions on Nezumi.
    Conformance(conformance::Options),
    /// Compares the public API with Tokio's, item by item.
    ApiDiff(api_diff::Options),
    /// Checks that every feature compiles alone.
    Features(features::Options),
    /// Checks that the workspace compiles for other systems.
    Cross(cross::Options),
    /// Checks that the package `tokio` in Cargo.lock is ours, and the only one.
    LockCheck(lock_check::Options),
    /// Runs the runtime's tests many times in a row.
    Stress(stress::Options),
    /// Plays mixed scenes in one runtime for long: by default a minute on 2 and one on 4 workers. `--minutes M --workers N,N --seed S`.
    Soak(proof::Arguments),
    /// Runs whole runtimes under shuttle: 10 000 random and PCT schedules of each program, a fresh seed each time, in five
    /// minutes at most. `--seed S`, and as many schedules, for an earlier one.
    Shuttle(shuttle::Options),
    /// Lets everything go wrong that can: panics, refusals, memory that ends, signals, forks, crowds; each case in a process of its own, some ten minutes in all. `--short --seed S`.
    Faults(proof::Arguments),
    /// Lets many runtimes live shortly, with threads held up at random: two minutes at most by default. `--seconds S --steals N --queue-seconds S
    /// --seed S`.
    Chaos(proof::Arguments),
    /// Measures what a hello world costs before it does anything, on Tokio and on Nezumi: build, binary, start, stop.
    Cold(cold::Options),
    /// Runs tests under ThreadSanitizer, on real threads: some minutes, and the build. Needs a nightly toolchain with rust-src.
    Tsan(sanitizers::Options),
    /// The same under AddressSanitizer.
    Asan(sanitizers::Options),
    /// Fuzzes what takes bytes, or operations in any order: eight targets, a minute each. Needs a nightly toolchain and a C++ compiler.
    Fuzz(fuzz::Options),
    /// Counts the instructions of an operation in five workloads under callgrind: they must be what they were, within 5 %.
    BenchCount(bench_count::Options),
    /// Checks that no workload of the benchmark has become slower than it was, or than Tokio.
    BenchGate(bench_gate::Options),
}

fn main() -> ExitCode {
    let outcome = match Command::parse() {
        Command::Loom(options) => loom::run(&options),
        Command::MutateOrderings(options) => mutate::run(&options),
        Command::Miri(options) => miri::run(&options),
        Command::Conformance(options) => conformance::run(&options),
        Command::ApiDiff(options) => api_diff::run(&options),
        Command::Features(options) => features::run(&options),
        Command::Cross(options) => cross::run(&options),
        Command::LockCheck(options) => lock_check::run(&options),
        Command::Stress(options) => stress::run(&options),
        Command::Shuttle(options) => shuttle::run(&options),
        Command::Faults(arguments) => proof::faults(&arguments),
        Command::Soak(arguments) => proof::soak(&arguments),
        Command::Chaos(arguments) => proof::chaos(&arguments),
        Command::Cold(options) => cold::run(&options),
        Command::Tsan(options) => sanitizers::thread(&options),
        Command::Asan(options) => sanitizers::address(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::BenchCount(options) => bench_count::run(&options),
        Command::BenchGate(options) => bench_gate::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
