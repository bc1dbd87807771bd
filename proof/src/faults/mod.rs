//! What goes wrong around a runtime: code that panics, a system that refuses, interrupts and ends, memory that ends, and too
//! much of everything.
//!
//! Each case runs in a process of its own, which it may limit, fork or abort as it likes, and has a time by which it must be over. After it, as after
//! all else here, the ledger must be closed and the census as it was.

mod contexts;
mod crowds;
mod panics;
mod refusals;
mod shimmed;
mod signals;
mod starved;

pub(crate) use refusals::limit;

use crate::census::Census;
use crate::ledger;
use crate::load;
use crate::scarcity::Plan;
use crate::seed::Seed;
use crate::shim;
use crate::task::tracked;
use crate::watchdog;
use nezumi::runtime::{Builder, Runtime};
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only cases whose name contains this.
    #[arg(default_value = "")]
    filter: String,
    /// What an earlier run printed: the same choices and the same refusals. How threads interleave is the machine's, each time anew.
    #[arg(long)]
    seed: Option<Seed>,
    /// Only those cases that are over in a few seconds.
    #[arg(long)]
    short: bool,
    /// This one, in this process.
    #[arg(long, value_name = "CASE", hide = true)]
    case: Option<String>,
    /// This piece of work, in this process, with a heap that refuses by the plan.
    #[arg(long, value_name = "WORK", hide = true)]
    starve: Option<String>,
    #[arg(long, value_name = "PLAN", default_value = "none:0", hide = true)]
    plan: Plan,
    /// The same in a process of its own, and judged.
    #[arg(long, requires = "starve", hide = true)]
    judged: bool,
}

struct Case {
    name: &'static str,
    /// By then it must be over, on a machine that has other things to do.
    seconds: u64,
    run: fn(Seed),
    is_short: bool,
}

const fn case(name: &'static str, seconds: u64, run: fn(Seed)) -> Case {
    Case { name, seconds, run, is_short: true }
}

const fn long(name: &'static str, seconds: u64, run: fn(Seed)) -> Case {
    Case { name, seconds, run, is_short: false }
}

const CASES: &[Case] = &[
    case("panics_of_tasks", 60, panics::of_tasks),
    case("panics_of_wakers", 60, panics::of_wakers),
    case("panics_of_hooks", 60, panics::of_hooks),
    case("panics_of_closures", 60, panics::of_closures),
    case("descriptors_run_out", 60, refusals::descriptors_run_out),
    case("threads_are_refused_at_first", 60, refusals::threads_are_refused_at_first),
    case("threads_are_refused_later", 60, refusals::threads_are_refused_later),
    case("registrations_fail", 60, refusals::registrations_fail),
    case("writes_are_short", 60, refusals::writes_are_short),
    case("no_step_of_building_succeeds", 60, shimmed::no_step_of_building_succeeds),
    case("registrations_are_refused", 60, shimmed::registrations_are_refused),
    case("accepts_fail", 60, shimmed::accepts_fail),
    case("waits_are_interrupted", 60, shimmed::waits_are_interrupted),
    case("every_second_thread_is_refused", 60, shimmed::every_second_thread_is_refused),
    case("spares_are_refused", 60, shimmed::spares_are_refused),
    case("files_come_in_pieces", 60, shimmed::files_come_in_pieces),
    case("the_clock_steps_back", 60, shimmed::the_clock_steps_back),
    case("allocations_fail", 60, starved::some_allocations),
    long("every_allocation_fails", 240, starved::every_allocation),
    case("memory_runs_out", 60, starved::memory_runs_out),
    case("the_address_space_runs_out", 60, starved::the_address_space_runs_out),
    long("a_million_signals", 180, signals::a_million),
    long("forks", 60, signals::forks),
    case("runtimes_end_anywhere", 60, contexts::runtimes_end_anywhere),
    case("thread_locals_use_the_runtime", 60, contexts::thread_locals_use_the_runtime),
    long("ten_thousand_lives", 240, contexts::ten_thousand_lives),
    long("a_million_tasks", 120, crowds::a_million_tasks),
    long("a_million_timers", 120, crowds::a_million_timers),
    long("ten_thousand_connections", 120, crowds::ten_thousand_connections),
];

pub(crate) fn run(options: &Options) -> bool {
    let seed = options.seed.unwrap_or_else(Seed::fresh);
    match (&options.case, &options.starve) {
        (Some(name), _) => run_here(name, seed),
        (None, Some(work)) if options.judged => starved::run_apart(work, options.plan, seed),
        (None, Some(work)) => starved::run_here(work, options.plan, seed),
        (None, None) => run_all(options, seed),
    }
}

fn run_all(options: &Options, seed: Seed) -> bool {
    println!("faults: seed {seed}");
    let (mut passed, mut failed) = (0, Vec::new());
    let meant = |case: &&Case| case.name.contains(&options.filter) && (case.is_short || !options.short);
    for case in CASES.iter().filter(meant) {
        let begin = Instant::now();
        let outcome = run_apart(case, seed);
        let seconds = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                passed += 1;
                println!("ok      {} ({seconds:.1} s)", case.name);
            }
            Err(why) => {
                println!(
                    "FAILED  {} ({seconds:.1} s): {why}; again: cargo xtask faults {0} --seed {seed}",
                    case.name
                );
                failed.push(case.name);
            }
        }
    }
    println!("faults: {passed} cases passed, failed: {failed:?}");
    failed.is_empty() && passed > 0
}

fn run_apart(case: &Case, seed: Seed) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(this)
        .args(["faults", "--case", case.name, "--seed", &seed.to_string()])
        // The first backtrace has the standard library keep the symbols of the program, which the census would count.
        .env("RUST_BACKTRACE", "0")
        .spawn()
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(case.seconds);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            outcome => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("not over after {} s ({outcome:?})", case.seconds));
            }
        }
    }
}

fn run_here(name: &str, seed: Seed) -> bool {
    let Some(case) = CASES.iter().find(|case| case.name == name) else {
        ledger::fault("there is no such case");
        return false;
    };
    ledger::begin_run(seed);
    shim::begin(seed);
    load::silence_those_on_purpose();
    watchdog::start(Duration::from_secs(case.seconds));
    // What only a first use makes.
    for workers in [0, 1, 2] {
        expect_works(&runtime(workers));
    }
    let before = Census::take();
    (case.run)(seed);
    ledger::expect_all_closed(Duration::from_secs(10));
    if let Err(after) = Census::settled(&before, Duration::from_secs(10)) {
        ledger::fault(&format!("{name}: at first {before}, in the end {after}"));
    }
    ledger::faults() == 0
}

/// With so many workers, or the single-threaded one.
fn runtime(workers: usize) -> Runtime {
    builder(workers).build().expect("a runtime")
}

fn builder(workers: usize) -> Builder {
    let mut builder = match workers {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(workers.max(1)).enable_all();
    builder
}

/// Whatever has happened to it, a runtime spawns, sleeps, blocks and joins.
fn expect_works(rt: &Runtime) {
    let sum = rt.block_on(async {
        let tasks: Vec<_> = (1..=4)
            .map(|number| {
                nezumi::spawn(tracked(async move {
                    nezumi::time::sleep(Duration::from_millis(1)).await;
                    nezumi::task::spawn_blocking(move || number).await.unwrap()
                }))
            })
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap().get();
        }
        sum
    });
    assert_eq!(sum, 10);
}
