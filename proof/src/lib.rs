//! Long, hostile and random runs on real threads, and who watches over them.
//!
//! Nothing here is published. In reading order:
//!
//! - `seed`: one number from which a run follows. `ledger`: the oracle, which knows of each task what has happened to it; `task`: how tasks get
//!   into it. `census`: what the process has: descriptors, threads, children, heap. `watchdog`: ends a run in which something stands still, and
//!   says what the runtime is at. `resident`: the size of the process over time, and its slope.
//! - `load`: scenes that programs play, a few milliseconds each, and which check their own outcome.
//! - `soak`: these, for hours, in one runtime. `chaos`: in many short-lived ones, with every atomic access of the runtime a place where its
//!   thread may be held up (`--cfg nezumi_chaos`); `queues`: the queues alone.
//! - `faults`: what goes wrong around a runtime, case by case, each in a process of its own; `shim`: calls of the system that fail when asked to;
//!   `scarcity`: a heap that does.
//!
//! A run that fails prints its seed and how to run again what has failed, and exits with 1. The same seed chooses the same scenes in the same
//! order, with the same numbers; how the threads interleave is the machine's.
#![cfg(target_os = "linux")]

mod census;
mod chaos;
mod faults;
mod ledger;
mod load;
mod queues;
mod resident;
mod scarcity;
mod seed;
mod shim;
mod soak;
mod task;
mod watchdog;

use clap::Parser;
use std::process::ExitCode;

#[global_allocator]
static HEAP: census::Counting = census::Counting;

#[derive(Parser)]
#[command(name = "nezumi-proof", bin_name = "cargo xtask", about = "Long, hostile and random runs of Nezumi")]
enum Command {
    /// Plays mixed scenes in one runtime for long.
    Soak(soak::Options),
    /// Lets everything go wrong that can.
    Faults(faults::Options),
    /// Lets many runtimes live shortly, with threads held up at random.
    Chaos(chaos::Options),
}

/// What the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    let is_proven = match Command::parse() {
        Command::Soak(options) => soak::run(&options),
        Command::Faults(options) => faults::run(&options),
        Command::Chaos(options) => chaos::run(&options),
    };
    if is_proven { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
