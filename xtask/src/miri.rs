//! Unit tests under Miri: undefined behaviour, leaks, and, over many seeds, weak memory and the order of threads.
//!
//! A seed decides when a thread is interrupted, what an atomic load of an old value returns, and where memory lies. What depends on one of these is in
//! [`MODULES`], a structure at a time, and is run with as many seeds as asked for; the other tests are run once, with [`SHARES`]. A continuous check does the second,
//! and a little of the first.

use crate::shell;
use anyhow::{Result, bail, ensure};
use std::ops::Range;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Every test of every crate, then every module with 64 seeds, and with 8 under Tree Borrows: hours.
    #[arg(long)]
    full: bool,
    /// Of each module the tests in which threads meet, with so many seeds: 64 took an hour and a quarter on two processors that had other work, too.
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// The first of these seeds. Alone: only this one, as a replay.
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
    /// Under Tree Borrows.
    #[arg(long)]
    tree_borrows: bool,
    /// Only this crate.
    #[arg(long, value_name = "CRATE")]
    package: Option<String>,
    /// Only tests whose path contains this; of modules, only those whose name does.
    filter: Option<String>,
}

impl Options {
    /// Whether it is about seeds alone.
    fn only_modules(&self) -> bool {
        self.seeds.is_some() || self.seed.is_some()
    }
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

/// The tests of this one in which threads meet are small, for the sake of many seeds: a continuous check runs them with some more.
const PACKAGE_WITH_SEEDS: &str = "nezumi-queue";
const SEEDS_OF_A_SHARE: u32 = 4;

/// What only a full run has the time for: all of each crate.
const FULL_SHARES: &[Share] = &[
    share("nezumi-prim", &[], 60),
    share("nezumi-wake", &[], 300),
    share("nezumi-queue", &[], 600),
    share("nezumi-core", &[], 1800),
    share("nezumi-sync", &[], 1800),
    share("nezumi-io", &[], 1800),
];

/// A structure that threads share.
struct Module {
    name: &'static str,
    package: &'static str,
    /// Parts of the names of those of its tests in which threads meet.
    filters: &'static [&'static str],
}

const fn module(name: &'static str, package: &'static str, filters: &'static [&'static str]) -> Module {
    Module { name, package, filters }
}

const MODULES: &[Module] = &[
    module("parker", "nezumi-prim", &["parker::"]),
    module("atomic-waker", "nezumi-wake", &["atomic_waker::", "block_on::"]),
    module("ring", "nezumi-queue", &["ring::tests::many_threads"]),
    module("shelf", "nezumi-queue", &["shelf::tests::two_rescuers"]),
    module("relay", "nezumi-queue", &["relay::tests::many_threads"]),
    module("inject", "nezumi-queue", &["inject::tests::many_threads"]),
    module("task", "nezumi-core", &["wakes_an_abort_and_the_drop", "ids_are_unique_across"]),
    module("idle", "nezumi-core", &["no_push_is_slept_through"]),
    module("readiness", "nezumi-core", &["driver::tests::chaos"]),
    module("timers", "nezumi-core", &["owners_race_with_whoever_fires", "one_at_a_time"]),
    module(
        "blocking",
        "nezumi-core",
        &[
            "blocking::tests::expiry_against",
            "blocking::tests::jobs_that_wait",
            "blocking::tests::shutdown_cancels",
        ],
    ),
    module(
        "semaphore",
        "nezumi-sync",
        &["threads_that_give_up_lose_no_permit", "semaphore::tests::blocking"],
    ),
    module("locks", "nezumi-sync", &["threads_count_without_loss", "wait_for_another_thread"]),
    module("notify", "nezumi-sync", &["threads_that_give_up_lose_no_notification"]),
    module(
        "mpsc",
        "nezumi-sync",
        &["threads_lose_nothing", "senders_cross_borders", "try_recv_never_misses", "senders_race_the_end"],
    ),
    module("oneshot", "nezumi-sync", &["threads_hand_values_over", "blocking_recv_sleeps"]),
    module("watch", "nezumi-sync", &["the_final_value_is_seen_by_every_thread"]),
    module("broadcast", "nezumi-sync", &["never_cloned_twice_at_once"]),
    module("once", "nezumi-sync", &["threads_agree_on_one_value", "one_of_many_threads_sets_it"]),
];

/// A panic within a panic, whose backtrace takes Miri seconds to write.
const NOT_WITH_MANY_SEEDS: &str = "panic";

const SEEDS: u32 = 64;
/// On a machine that has other things to do.
const SECONDS_OF_A_SEED: u64 = 60;
const SEEDS_UNDER_TREE_BORROWS: u32 = 8;

pub(crate) fn run(options: &Options) -> Result<()> {
    let start = Instant::now();
    let mut failed = Vec::new();
    let only_modules = options.only_modules();
    if !only_modules {
        let shares = if options.full { FULL_SHARES } else { SHARES };
        let mut count = 0;
        for share in shares {
            count += run_share(share, options, &mut failed)?;
        }
        ensure!(count > 0, "there is no such test, or no such crate among those that are tested so");
    }
    let package = options.package.as_deref();
    if !options.full && !only_modules && options.filter.is_none() && is_meant(options, PACKAGE_WITH_SEEDS) {
        run_modules(options, Some(PACKAGE_WITH_SEEDS), SEEDS_OF_A_SHARE, options.tree_borrows, &mut failed)?;
    }
    if options.full || only_modules {
        // A seed alone is a replay.
        let seeds = options.seeds.unwrap_or(if options.seed.is_some() { 1 } else { SEEDS });
        run_modules(options, package, seeds, options.tree_borrows, &mut failed)?;
        if options.full {
            run_modules(options, package, SEEDS_UNDER_TREE_BORROWS, true, &mut failed)?;
        }
    }
    println!("{:.0} s in all", start.elapsed().as_secs_f64());
    if !failed.is_empty() {
        bail!("Miri found something, or was not done in time, in {}", failed.join(", "));
    }
    Ok(())
}

fn is_meant(options: &Options, package: &str) -> bool {
    options.package.as_deref().is_none_or(|wanted| wanted == package)
}

/// Returns how many tests that were.
fn run_share(share: &Share, options: &Options, failed: &mut Vec<String>) -> Result<usize> {
    if !is_meant(options, share.package) {
        return Ok(0);
    }
    let filters = options.filter.as_deref().map_or(share.filters.to_vec(), |filter| vec![filter]);
    let tests = || {
        // A test may look at the system.
        let mut tests = tests(share.package, options.tree_borrows, "-Zmiri-disable-isolation");
        tests.args(&filters);
        tests
    };
    let count = shell::count_tests(&mut tests())?;
    if count == 0 {
        ensure!(options.filter.is_some(), "{} has no tests in {filters:?}", share.package);
        return Ok(0);
    }
    match shell::run_within(Duration::from_secs(share.seconds), &mut tests()) {
        Ok(took) => {
            let (package, took) = (share.package, took.as_secs_f64());
            println!("{package}: {count} tests, {took:.1} s of at most {} s", share.seconds);
        }
        Err(error) => {
            eprintln!("{error:#}");
            failed.push(share.package.to_owned());
        }
    }
    Ok(count)
}

fn run_modules(
    options: &Options,
    package: Option<&str>,
    seeds: u32,
    tree_borrows: bool,
    failed: &mut Vec<String>,
) -> Result<()> {
    let first = options.seed.unwrap_or(0);
    let Some(end) = first.checked_add(seeds) else { bail!("there are not so many seeds") };
    let is_chosen = |module: &&Module| {
        package.is_none_or(|wanted| wanted == module.package)
            && options.filter.as_deref().is_none_or(|part| module.name.contains(part))
    };
    let chosen: Vec<_> = MODULES.iter().filter(is_chosen).collect();
    // Beside the shares what was asked for may be a test of a crate, or a crate in which no threads meet.
    ensure!(!options.only_modules() || !chosen.is_empty(), "there is no such module");
    // The modules of a package together: what takes longest is the start of the program, for each seed.
    for modules in chosen.chunk_by(|one, next| one.package == next.package) {
        let package = modules[0].package;
        let names: Vec<_> = modules.iter().map(|module| module.name).collect();
        let names = names.join(", ");
        // Miri runs as many seeds at once as there are processors, and says which of them fails. Apart from the system, with a clock of its own, it
        // does the same again with the same seed.
        let mut tests = tests(package, tree_borrows, &format!("-Zmiri-many-seeds={first}..{end}"));
        modules.iter().for_each(|module| _ = tests.args(module.filters));
        tests.args(["--skip", NOT_WITH_MANY_SEEDS]);
        // The build comes first.
        let seconds = 300 + SECONDS_OF_A_SEED * u64::from(seeds);
        let how = if tree_borrows { " --tree-borrows" } else { "" };
        let what = format!("{package}{how}: {names}, seeds {first} to {}", end - 1);
        let mut failing = Vec::new();
        let hear = |line: &str| failing.extend(failing_seed(line));
        match shell::run_within_and_hear(Duration::from_secs(seconds), &mut tests, hear) {
            Ok(took) => println!("{what}: {:.1} s of at most {seconds} s", took.as_secs_f64()),
            Err(error) => {
                eprintln!("{error:#}");
                eprintln!(
                    "{what}: {}",
                    again(options, package, tree_borrows, first..end, &failing).join("\n")
                );
                failed.push(package.to_owned());
            }
        }
    }
    Ok(())
}

/// What Miri says of a seed with which the tests fail, the first of which ends the run.
fn failing_seed(line: &str) -> Option<u32> {
    line.strip_prefix("FAILING SEED: ")?.trim().parse().ok()
}

/// How to have it again, for each seed of which is known that it fails, or else for all. A module runs beside the same others as before, which have their part in
/// what a seed comes to.
fn again(
    options: &Options,
    package: &str,
    tree_borrows: bool,
    seeds: Range<u32>,
    failing: &[u32],
) -> Vec<String> {
    let command = |first: u32, count: Option<usize>| {
        let mut arguments = vec!["--package".to_owned(), package.to_owned()];
        arguments.extend(tree_borrows.then(|| "--tree-borrows".to_owned()));
        arguments.extend(count.into_iter().flat_map(|count| ["--seeds".to_owned(), count.to_string()]));
        arguments.extend(["--seed".to_owned(), first.to_string()]);
        arguments.extend(options.filter.clone());
        format!("again: {}", shell::again("miri", arguments))
    };
    match failing {
        [] => vec![command(seeds.start, Some(seeds.len()))],
        failing => failing.iter().map(|&seed| command(seed, None)).collect(),
    }
}

/// The unit tests of a package; filters are to follow.
fn tests(package: &str, tree_borrows: bool, flags: &str) -> std::process::Command {
    let borrows = if tree_borrows { "-Zmiri-tree-borrows" } else { "" };
    let mut tests = shell::cargo_nightly();
    tests
        .env("MIRIFLAGS", format!("-Zmiri-strict-provenance {borrows} {flags}"))
        // To write one takes Miri seconds.
        .env("RUST_BACKTRACE", "0")
        .env("CARGO_TARGET_DIR", shell::target_dir().join("miri"))
        .args(["miri", "test", "--quiet", "--lib", "--package", package, "--"]);
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_seed_is_had_again_with_what_ran_beside_it() {
        let options = Options {
            full: false,
            seeds: Some(8),
            seed: None,
            tree_borrows: false,
            package: None,
            filter: Some("ring".to_owned()),
        };
        assert_eq!(
            ["FAILING SEED: 7", "Trying seed: 7", "error: x"].map(failing_seed),
            [Some(7), None, None]
        );
        let again = |failing: &[u32]| again(&options, "nezumi-queue", true, 0..8, failing);
        assert_eq!(
            again(&[7]),
            ["again: cargo xtask miri --package nezumi-queue --tree-borrows --seed 7 ring"]
        );
        assert_eq!(
            again(&[]),
            ["again: cargo xtask miri --package nezumi-queue --tree-borrows --seeds 8 --seed 0 ring"]
        );
    }
}
