//! Both sides, side by side: as a table and as JSON.

use super::super::Options;
use super::client::Tally;
use super::{BLOCK, BURN, FLOOD, ROUNDS};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::fmt;

/// What came of the same load, with the watch off and on.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// How long each side was loaded.
    pub seconds: u32,
    /// Requests for each second, in the mean.
    pub rate: u32,
    /// What the times and kinds of the requests were drawn from.
    pub seed: u64,
    /// The watch is off.
    pub off: Side,
    /// The watch is on.
    pub on: Side,
}

/// What came of the load on one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Requests that asked for nothing bad, and were answered.
    pub others: u64,
    /// Answered requests that blocked a thread.
    pub blocking: u64,
    /// Answered requests that burned a processor's time.
    pub burning: u64,
    /// Answered requests that flooded the runtime with tasks.
    pub flooding: u64,
    /// Requests of any kind that were not answered as they should have been.
    pub errors: u64,
    /// Of the others, from when each was meant to be sent.
    pub latency: Latencies,
    /// Times a worker took over what another, stuck one had left behind.
    pub rescues: u64,
    /// Times a spare worker was begun.
    pub spares_begun: u64,
}

/// Latencies, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Latencies {
    /// Half of the requests took no longer.
    pub p50_us: u64,
    /// 99 in 100.
    pub p99_us: u64,
    /// 999 in 1000.
    pub p999_us: u64,
    /// The slowest.
    pub max_us: u64,
}

impl Comparison {
    pub(super) fn new(options: &Options, off: &Tally, on: &Tally) -> Self {
        let Options { seconds, rate, seed, .. } = *options;
        Self { seconds, rate, seed, off: off.into(), on: on.into() }
    }

    /// Whether both sides were asked something, and answered all of it.
    #[must_use]
    pub fn is_flawless(&self) -> bool {
        [&self.off, &self.on].iter().all(|side| side.errors == 0 && side.others > 0)
    }
}

impl From<&Tally> for Side {
    fn from(tally: &Tally) -> Self {
        Self {
            others: tally.plain,
            blocking: tally.blocking,
            burning: tally.burning,
            flooding: tally.flooding,
            errors: tally.errors,
            latency: Latencies::of(&tally.latency_us),
            rescues: tally.rescues,
            spares_begun: tally.spares_begun,
        }
    }
}

impl Latencies {
    fn of(latency_us: &Histogram<u64>) -> Self {
        Self {
            p50_us: latency_us.value_at_quantile(0.5),
            p99_us: latency_us.value_at_quantile(0.99),
            p999_us: latency_us.value_at_quantile(0.999),
            max_us: latency_us.max(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "two servers and the gateway in one runtime, asked by a client that waits for no answer"
        )?;
        writeln!(
            f,
            "{} requests/s for {} s on each side, in {ROUNDS} rounds each; both sides are asked the same (seed {})",
            self.rate, self.seconds, self.seed
        )?;
        writeln!(
            f,
            "1 in 100 blocks its thread for {BLOCK:?}, burns {BURN:?}, or spawns {FLOOD} tasks; latencies are those of the others"
        )?;
        writeln!(f)?;
        writeln!(f, "{:<26}{:>12}{:>12}", "", "watch off", "watch on")?;
        let mut row = |name: &str, value: fn(&Side) -> u64| {
            writeln!(f, "{name:<26}{:>12}{:>12}", value(&self.off), value(&self.on))
        };
        row("others answered", |side| side.others)?;
        row("blocked", |side| side.blocking)?;
        row("burned", |side| side.burning)?;
        row("flooded", |side| side.flooding)?;
        row("errors", |side| side.errors)?;
        let mut row = |name: &str, value: fn(&Latencies) -> u64| {
            let ms = |side: &Side| value(&side.latency) as f64 / 1e3;
            writeln!(f, "{name:<26}{:>12.2}{:>12.2}", ms(&self.off), ms(&self.on))
        };
        row("p50, ms", |latency| latency.p50_us)?;
        row("p99, ms", |latency| latency.p99_us)?;
        row("p99.9, ms", |latency| latency.p999_us)?;
        row("slowest, ms", |latency| latency.max_us)?;
        writeln!(f, "{:<26}{:>12}{:>12}", "rescues", self.off.rescues, self.on.rescues)?;
        write!(f, "{:<26}{:>12}{:>12}", "spare workers begun", self.off.spares_begun, self.on.spares_begun)
    }
}
