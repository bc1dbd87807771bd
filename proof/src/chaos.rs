//! Many short lives of runtimes, with threads held up before any atomic access; and the queues alone.
//!
//! Built with `--cfg nezumi_chaos`, `nezumi_prim` holds threads up: one access in so many spins, yields, or sleeps first. How often, that and
//! all else of a round follows from its seed: how many workers, which settings, which scenes, and how the runtime ends. After each
//! round the ledger must be closed, and the census as it was; no run is a success in which too little was stolen.

use crate::census::Census;
use crate::ledger::{self, Totals};
use crate::load;
use crate::queues::{self, Stolen};
use crate::seed::{Part, Rand, Seed};
use crate::task::cancellable;
use crate::watchdog::{self, Described};
use nezumi::runtime::{Builder, Runtime};
use nezumi::task::JoinSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// For the rounds with whole runtimes, which begin one after the other until it is over.
    #[arg(long, value_name = "S", default_value_t = 60)]
    seconds: u64,
    /// So many items are stolen in the programs of the queues alone, unless the time for them is up.
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    steals: u64,
    /// For the programs of the queues alone.
    #[arg(long, value_name = "S", default_value_t = 60)]
    queue_seconds: u64,
    /// What an earlier run printed: the same rounds and programs in the same order. How threads interleave in them is the machine's, each time anew.
    #[arg(long)]
    seed: Option<Seed>,
    /// Only this round, over and over.
    #[arg(long, value_name = "SEED")]
    round: Option<Seed>,
    /// Only this program of the queues, over and over.
    #[arg(long, value_name = "N", conflicts_with = "round")]
    program: Option<u64>,
    /// Only scenes whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
}

/// A scene that takes longer has lost something.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rounds between two censuses, which take a while.
const CENSUS_EVERY: u64 = 50;
const REPORTED_EVERY: Duration = Duration::from_secs(20);

/// One access in so many is held up from now on.
#[cfg(nezumi_chaos)]
fn hold_up(seed: Seed, one_in: u32) {
    nezumi_prim::chaos::begin(seed.0, one_in);
}

#[cfg(not(nezumi_chaos))]
fn hold_up(_: Seed, _: u32) {}

pub(crate) fn run(options: &Options) -> bool {
    let seed = options.seed.unwrap_or_else(Seed::fresh);
    println!("chaos: seed {seed}, {} s of rounds, {} stolen items", options.seconds, options.steals);
    if !cfg!(nezumi_chaos) {
        println!("chaos: built without --cfg nezumi_chaos; only the system holds threads up");
    }
    ledger::begin_run(seed);
    load::silence_those_on_purpose();
    watchdog::start(PATIENCE);
    if options.program.is_none() {
        rounds(options, seed);
    }
    if options.round.is_none() {
        queue_programs(options, seed);
    }
    let faults = ledger::faults();
    match faults {
        0 => println!("chaos: passed"),
        _ => println!("chaos: FAILED with {faults} faults; again with --seed {seed}"),
    }
    faults == 0
}

/// A panic is a fault, so that this, too, is told with how to have it again.
fn contain<T: Default>(what: &str, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        ledger::fault(&format!("{what} has panicked"));
        T::default()
    })
}

fn rounds(options: &Options, seed: Seed) {
    let (begin, mut reported) = (Instant::now(), Instant::now());
    let limit = Duration::from_secs(options.seconds);
    let (mut number, mut steals) = (0, 0);
    // The first rounds make what only a first use makes.
    let mut before = None;
    while begin.elapsed() < limit && ledger::faults() == 0 {
        let seed = options.round.unwrap_or_else(|| seed.part(number));
        ledger::begin_part(Part::Round(seed));
        steals += contain("a round", || round(seed, &options.filter));
        number += 1;
        if number % CENSUS_EVERY == 0 {
            hold_up(seed, 0);
            let before = *before.get_or_insert_with(Census::take);
            if let Err(after) = Census::settled(&before, Duration::from_secs(10)) {
                ledger::fault(&format!("after {CENSUS_EVERY} rounds {before}, after {number} {after}"));
            }
        }
        if reported.elapsed() > REPORTED_EVERY {
            reported = Instant::now();
            report(begin.elapsed(), number, steals);
        }
    }
    report(begin.elapsed(), number, steals);
}

fn report(elapsed: Duration, rounds: u64, steals: u64) {
    println!(
        "  {:.0} s: {rounds} rounds, {} scenes, {} tasks, {steals} steals; {}; {} faults",
        elapsed.as_secs_f64(),
        watchdog::scenes_played(),
        Totals::now().opened,
        Census::take(),
        ledger::faults()
    );
}

fn build(rand: &mut Rand) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    if rand.one_in(12) {
        builder = Builder::new_current_thread();
    }
    builder.worker_threads(rand.between(1, 5) as usize).enable_all();
    if rand.one_in(4) {
        builder.event_interval(rand.between(1, 8));
    }
    if rand.one_in(4) {
        builder.global_queue_interval(rand.between(2, 8));
    }
    if rand.one_in(6) {
        builder.disable_lifo_slot();
    }
    if rand.one_in(6) {
        builder.max_spare_workers(rand.below(3) as usize);
    }
    if rand.one_in(8) {
        builder.enable_eager_driver_handoff();
    }
    if rand.one_in(8) {
        builder.thread_keep_alive(Duration::from_millis(1));
    }
    if rand.one_in(8) {
        builder.stuck_after(Duration::from_millis(1)).on_stuck(|_| {});
    }
    builder.build().expect("a runtime")
}

/// One life. Returns how many steals there were.
fn round(seed: Seed, filter: &str) -> u64 {
    let mut rand = seed.rand();
    let one_in = [64, 256, 1024, 8192][rand.below(4) as usize];
    hold_up(seed, one_in);
    let rt = build(&mut rand);
    let described = Described::runtime(rt.handle());
    rt.block_on(async {
        let mut playing = JoinSet::new();
        for number in 0..u64::from(rand.between(1, 12)) {
            let Some(scene) = load::choose(&mut rand, filter) else {
                return ledger::fault("there is no such scene");
            };
            playing.spawn(load::play(scene, seed.part(number)));
            if rand.one_in(3) {
                let _ = playing.join_next().await;
            }
        }
        while playing.join_next().await.is_some() {}
    });
    let metrics = rt.metrics();
    let steals = (0..metrics.num_workers()).map(|worker| metrics.worker_steal_operations(worker)).sum();
    end(rt, &mut rand);
    drop(described);
    ledger::expect_all_closed(Duration::from_secs(20));
    steals
}

/// Ends a runtime that has tasks in every state.
fn end(rt: Runtime, rand: &mut Rand) {
    for _ in 0..rand.below(100) {
        let (mut inner, kind) = (rand.fork(), rand.below(4));
        rt.spawn(cancellable(async move {
            match kind {
                0 => std::future::pending().await,
                1 => nezumi::time::sleep(inner.micros(2000)).await,
                2 => {
                    for _ in 0..inner.below(20) {
                        nezumi::spawn(cancellable(nezumi::task::yield_now()));
                    }
                }
                _ => loop {
                    nezumi::task::yield_now().await;
                },
            }
        }));
    }
    // Somebody spawns while the runtime ends.
    let handle = rt.handle().clone();
    let spawns = rand.below(200);
    let outside = std::thread::spawn(move || {
        for _ in 0..spawns {
            drop(handle.spawn(cancellable(nezumi::task::yield_now())));
        }
    });
    if rand.one_in(2) {
        std::thread::sleep(rand.micros(1000));
    }
    match rand.below(4) {
        0 => rt.shutdown_background(),
        1 => rt.shutdown_timeout(Duration::from_secs(20)),
        2 => drop(std::thread::spawn(move || drop(rt)).join()),
        _ => drop(rt),
    }
    outside.join().expect("to spawn on a runtime that has ended is no panic");
}

/// Half of the time as fast as the machine can steal, the other half with hold-ups.
fn queue_programs(options: &Options, seed: Seed) {
    let mut sums = [Stolen::default(); 2];
    let limit = Duration::from_secs(options.queue_seconds);
    let mut number = 0;
    while sums[0].items + sums[1].items < options.steals
        && sums[0].time + sums[1].time < limit
        && ledger::faults() == 0
    {
        let index = options.program.unwrap_or(number);
        let part = seed.part(u64::MAX - index);
        ledger::begin_part(Part::Program(index));
        let is_held_up = index % 2 == 1;
        hold_up(part, if is_held_up { 256 } else { 0 });
        let threads = 2 + (index / 2 % 3) as usize;
        sums[usize::from(is_held_up)] += contain("a program of the queues", || {
            queues::run(part, threads, options.steals / 20, Duration::from_secs(2))
        });
        number += 1;
    }
    hold_up(seed, 0);
    for (what, sum) in ["freely", "held up"].iter().zip(sums) {
        println!(
            "  queues alone, {what}: {} items stolen by {} claims, {} of them from other threads, {} rescued, {} through the relay, in {:.1} s: {:.2} million per second",
            sum.items,
            sum.claims,
            sum.from_others,
            sum.rescued,
            sum.overflowed,
            sum.time.as_secs_f64(),
            sum.items as f64 / sum.time.as_secs_f64().max(1e-9) / 1e6
        );
    }
    println!("  queues alone: {number} programs, {} items stolen", sums[0].items + sums[1].items);
}
