//! Mixed scenes in one runtime, for long.
//!
//! What a run is judged by: no fault in the ledger; when the runtime is dropped nothing is left of what it had (census); and over the second
//! half of the run the process does not grow. Under load that is the heap in use, which would show what is given back only once there is
//! nothing to do. And it is the heap and the resident size at rest: now and then no scene is begun until all have ended, and the allocator is
//! told to give back what it does not use. The resident size under load follows how much of the machine the run has, which is nobody's leak.
//! No slope that is judged may be above zero by more than its own margin and a small allowance.

use crate::census::{self, Census};
use crate::ledger::{self, Totals};
use crate::load;
use crate::resident::{Slope, resident};
use crate::seed::Seed;
use crate::watchdog::{self, Described};
use nezumi::runtime::{Builder, Handle, Runtime};
use nezumi::task::JoinSet;
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// For each number of workers.
    #[arg(long, value_name = "M", default_value_t = 1.0)]
    minutes: f64,
    /// One run for each of these.
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', default_value = "2,4")]
    workers: Vec<usize>,
    /// What an earlier run printed: the same scenes in the same order. How threads interleave in them is the machine's, each time anew.
    #[arg(long)]
    seed: Option<Seed>,
    /// How many scenes are played at once, for each worker.
    #[arg(long, value_name = "N", default_value_t = 3)]
    scenes: usize,
    /// Only scenes whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
}

/// A scene that takes longer has lost something.
const PATIENCE: Duration = Duration::from_secs(120);
const SAMPLED_EVERY: Duration = Duration::from_secs(1);
const RESTS_EVERY: Duration = Duration::from_secs(15);
/// Of threads of the pool that nobody needs.
const KEEP_ALIVE: Duration = Duration::from_millis(300);
/// What a scene has aborted or detached ends a little after it, and so do the threads that it needed.
const SETTLES_WITHIN: Duration = Duration::from_millis(500);
/// By how much each may grow, in bytes per minute, beyond the margin.
const ALLOWED_RESIDENT: f64 = 32.0 * 1024.0;
const ALLOWED_HEAP: f64 = 16.0 * 1024.0;

pub(crate) fn run(options: &Options) -> bool {
    let seed = options.seed.unwrap_or_else(Seed::fresh);
    println!("soak: seed {seed}, {} min on each of {:?} workers", options.minutes, options.workers);
    ledger::begin_run(seed);
    load::silence_those_on_purpose();
    watchdog::start(PATIENCE);
    // What only a first use makes.
    for scene in load::SCENES {
        let rt = runtime(2);
        rt.block_on(load::play(*scene, seed));
    }
    ledger::expect_all_closed(Duration::from_secs(10));
    for &workers in &options.workers {
        soak(options, workers, seed.part(workers as u64));
    }
    let faults = ledger::faults();
    match faults {
        0 => println!("soak: passed"),
        _ => println!("soak: FAILED with {faults} faults; again with --seed {seed}"),
    }
    faults == 0
}

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()
        .expect("a runtime")
}

fn soak(options: &Options, workers: usize, seed: Seed) {
    let before = Census::take();
    println!("{workers} workers, seed {seed}; at first {before}");
    let length = Duration::from_secs_f64(options.minutes * 60.0);
    let rt = runtime(workers);
    let described = Described::runtime(rt.handle());
    let (end, ended) = mpsc::channel::<()>();
    let handle = rt.handle().clone();
    // Their memory is there from the beginning, so that it is no part of any slope.
    let room =
        |every: Duration| Vec::with_capacity((length.as_secs_f64() / every.as_secs_f64()) as usize + 1);
    let samples = room(SAMPLED_EVERY);
    let sampler = std::thread::spawn(move || sample(&handle, &ended, samples));

    let at_rest = rt.block_on(play(options, workers, seed, Instant::now() + length, room(RESTS_EVERY)));
    drop(end);
    let under_load = sampler.join().expect("the sampler has not panicked");
    let begin = Instant::now();
    drop(rt);
    drop(described);
    println!("  dropped in {:.3} s", begin.elapsed().as_secs_f64());

    ledger::expect_all_closed(Duration::from_secs(10));
    // The samples are ours, both of them.
    let kept = ((at_rest.capacity() + under_load.capacity()) * size_of::<Sample>()) as isize;
    let allowed =
        Census { heap_bytes: before.heap_bytes + kept, heap_blocks: before.heap_blocks + 2, ..before };
    match Census::settled(&allowed, Duration::from_secs(10)) {
        Ok(after) => println!("  in the end {after}"),
        Err(after) => ledger::fault(&format!("at first {before}, in the end {after}")),
    }
    judge(&under_load, &at_rest);
}

/// Scenes until the deadline, so many at once, with a rest now and then: what there was in each.
async fn play(
    options: &Options,
    workers: usize,
    seed: Seed,
    deadline: Instant,
    mut at_rest: Vec<Sample>,
) -> Vec<Sample> {
    let (mut rand, mut played) = (seed.rand(), 0);
    let mut playing = JoinSet::new();
    let mut next_rest = Instant::now() + RESTS_EVERY;
    loop {
        while Instant::now() < deadline.min(next_rest) && playing.len() < options.scenes * workers {
            let Some(scene) = load::choose(&mut rand, &options.filter) else {
                ledger::fault("there is no such scene");
                return at_rest;
            };
            playing.spawn(load::play(scene, seed.part(played)));
            played += 1;
        }
        if let Some(outcome) = playing.join_next().await {
            outcome.expect("a scene's panic is contained in its task");
            continue;
        }
        if Instant::now() >= deadline {
            return at_rest;
        }
        nezumi::time::sleep(SETTLES_WITHIN).await;
        trim();
        at_rest.push(Sample::take());
        next_rest += RESTS_EVERY;
    }
}

#[derive(Clone, Copy)]
struct Sample {
    resident: u64,
    heap: isize,
}

impl Sample {
    fn take() -> Sample {
        Sample { resident: resident(), heap: census::heap().0 }
    }
}

/// What an allocator keeps for itself, in the arena of each thread, creeps up for hours under a load like this. It is not the program's.
fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call has no conditions.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Each second, until `ended` says so; a line each minute.
fn sample(handle: &Handle, ended: &mpsc::Receiver<()>, mut samples: Vec<Sample>) -> Vec<Sample> {
    let begin = Instant::now();
    let mut then = Totals::now();
    let mut scenes_then = watchdog::scenes_played();
    while ended.recv_timeout(SAMPLED_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
        samples.push(Sample::take());
        if samples.len() % 60 != 0 {
            continue;
        }
        let (now, scenes, census) = (Totals::now(), watchdog::scenes_played(), Census::take());
        let metrics = handle.metrics();
        let sum = |of: &dyn Fn(usize) -> u64| (0..metrics.num_workers()).map(of).sum::<u64>();
        println!(
            "  {:4.0} s: {} scenes, {} tasks, {} polls; {} open, {} wakers; {} steals, {} rescues, {} spares, {} parks in all; \
             {:.1} MiB resident, {:.2} MiB of heap, {} descriptors, {} threads, {} children; {} faults",
            begin.elapsed().as_secs_f64(),
            scenes - scenes_then,
            now.opened - then.opened,
            now.polls - then.polls,
            now.open(),
            now.wakers,
            sum(&|worker| metrics.worker_steal_operations(worker)),
            sum(&|worker| metrics.worker_rescue_count(worker)),
            metrics.num_spare_workers(),
            sum(&|worker| metrics.worker_park_count(worker)),
            resident() as f64 / 1048576.0,
            census.heap_bytes as f64 / 1048576.0,
            census.descriptors,
            census.threads,
            census.children,
            ledger::faults(),
        );
        (then, scenes_then) = (now, scenes);
    }
    samples
}

/// Over the second half of each.
fn judge(under_load: &[Sample], at_rest: &[Sample]) {
    println!("  {} rests", at_rest.len());
    let second_half = |samples: &[Sample], of: &dyn Fn(&Sample) -> f64| -> Vec<f64> {
        samples[samples.len() / 2..].iter().map(of).collect()
    };
    let heap = |sample: &Sample| sample.heap as f64;
    let resident = |sample: &Sample| sample.resident as f64;
    grows("heap under load", &second_half(under_load, &heap), SAMPLED_EVERY, Some(ALLOWED_HEAP));
    grows("heap at rest", &second_half(at_rest, &heap), RESTS_EVERY, Some(ALLOWED_HEAP));
    grows("resident size at rest", &second_half(at_rest, &resident), RESTS_EVERY, Some(ALLOWED_RESIDENT));
    grows("resident size under load", &second_half(under_load, &resident), SAMPLED_EVERY, None);
}

/// Says how fast it grows. More than `allowed` is a fault.
fn grows(what: &str, samples: &[f64], every: Duration, allowed: Option<f64>) {
    let Some(slope) = Slope::of(samples, every) else {
        return println!("  {what}: too short a time for a slope");
    };
    println!(
        "  {what}: {:+.1} KiB per minute, ± {:.1}, over the second half; {:.2} MiB on average",
        slope.per_minute / 1024.0,
        slope.margin / 1024.0,
        samples.iter().sum::<f64>() / samples.len() as f64 / 1048576.0
    );
    if allowed.is_some_and(|allowed| slope.per_minute - slope.margin > allowed) {
        ledger::fault(&format!("the {what} grows"));
    }
}
