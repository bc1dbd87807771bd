//! Fuzz targets of Nezumi, under libFuzzer: `cargo xtask fuzz`.
//!
//! One program for all of them, which is built and linked once; `NEZUMI_FUZZ_TARGET` says which one it is this time. Each reads its bytes as
//! operations, does them to the real thing and to a plain model, and panics where the two differ. `ops`: how bytes become operations;
//! `polled`: futures that are polled by hand, and only when they were woken.
#![no_main]

mod broadcast;
mod buffered;
mod mpsc;
mod ops;
mod pipes;
mod polled;
mod queues;
mod scripted;
mod semaphore;
mod timers;
mod watch;

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

type Target = fn(&[u8]);

const TARGETS: &[(&str, Target)] = &[
    ("buffered", buffered::target),
    ("pipes", pipes::target),
    ("mpsc", mpsc::target),
    ("broadcast", broadcast::target),
    ("watch", watch::target),
    ("semaphore", semaphore::target),
    ("timers", timers::target),
    ("queues", queues::target),
];

fn chosen() -> Target {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("NEZUMI_FUZZ_TARGET").unwrap_or_default();
        let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        let found = TARGETS.iter().find(|(of, _)| *of == name);
        found.unwrap_or_else(|| panic!("NEZUMI_FUZZ_TARGET must be one of {names:?}")).1
    })
}

fuzz_target!(|data: &[u8]| chosen()(data));
