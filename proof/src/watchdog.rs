//! Ends a run in which something stands still, and says what the runtime is at.
//!
//! Two things are watched, from a thread that is none of the runtime's: that tasks are polled at all while scenes are being played, or a runtime that
//! is described lives or ends, and that no scene takes for ever. The second sees a single wake that was lost while everything else goes on.

use crate::ledger::{self, Totals};
use crate::seed::Seed;
use nezumi::runtime::Handle;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Nothing at all has moved for so long.
const STANDSTILL: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

struct Playing {
    name: &'static str,
    seed: Seed,
    since: Instant,
}

struct Watched {
    scenes: BTreeMap<u64, Playing>,
    played: u64,
    runtimes: Vec<Handle>,
}

impl Watched {
    /// A scene whose first poll does not come is not on stage yet: while there is a runtime, something is to be polled.
    fn has_nothing_to_do(&self) -> bool {
        self.scenes.is_empty() && self.runtimes.is_empty()
    }
}

static WATCHED: Mutex<Watched> =
    Mutex::new(Watched { scenes: BTreeMap::new(), played: 0, runtimes: Vec::new() });

fn watched() -> MutexGuard<'static, Watched> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stands while a scene is played.
#[derive(Debug)]
pub(crate) struct OnStage(u64);

impl OnStage {
    pub(crate) fn enter(name: &'static str, seed: Seed) -> Self {
        let mut watched = watched();
        watched.played += 1;
        let number = watched.played;
        watched.scenes.insert(number, Playing { name, seed, since: Instant::now() });
        OnStage(number)
    }
}

impl Drop for OnStage {
    fn drop(&mut self) {
        watched().scenes.remove(&self.0);
    }
}

/// How many scenes have been begun.
pub(crate) fn scenes_played() -> u64 {
    watched().played
}

/// Stands while a runtime is to be described when something stands still.
#[derive(Debug)]
pub(crate) struct Described;

impl Described {
    pub(crate) fn runtime(handle: &Handle) -> Self {
        watched().runtimes.push(handle.clone());
        Described
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        let handles = std::mem::take(&mut watched().runtimes);
        drop(handles);
    }
}

/// Starts the thread, once for the process. A scene may take `patience`.
pub(crate) fn start(patience: Duration) {
    let watch = move || {
        let (mut polls, mut moved) = (Totals::now().polls, Instant::now());
        loop {
            std::thread::sleep(LOOK);
            let now = Totals::now().polls;
            if now != polls || watched().has_nothing_to_do() {
                (polls, moved) = (now, Instant::now());
            }
            if moved.elapsed() > STANDSTILL {
                end("no task has been polled for 5 s");
            }
            if watched().scenes.values().any(|scene| scene.since.elapsed() > patience) {
                end(&format!("a scene has not come to its end in {} s", patience.as_secs()));
            }
        }
    };
    std::thread::Builder::new().name("watchdog".into()).spawn(watch).expect("a thread for the watchdog");
}

/// Says what is known, and ends the process: what stands still would not end by itself.
fn end(why: &str) -> ! {
    ledger::fault(why);
    let watched = watched();
    for scene in watched.scenes.values() {
        eprintln!(
            "  {} with seed {}, for {:.1} s",
            scene.name,
            scene.seed,
            scene.since.elapsed().as_secs_f64()
        );
    }
    eprintln!("  {:?}", Totals::now());
    for runtime in &watched.runtimes {
        eprintln!("{runtime:#?}");
    }
    eprintln!("threads: name, state, where in the kernel");
    for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        let stat = read("stat");
        let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest.get(1..2).unwrap_or(""));
        eprintln!("  {} {} {}", read("comm").trim(), state, read("wchan").trim());
    }
    if std::env::var_os("NEZUMI_PROOF_STAY").is_some() {
        eprintln!("staying for a debugger: process {}", std::process::id());
        loop {
            std::thread::park();
        }
    }
    std::process::exit(1);
}
