//! One number from which a run follows.

use nezumi_prim::FastRand;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::time::Duration;

/// Printed when a run begins and when it fails, and taken back by `--seed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    /// One that no run had before.
    pub(crate) fn fresh() -> Self {
        Seed(RandomState::new().hash_one(std::process::id()))
    }

    /// That of the `index`th part of a run.
    pub(crate) fn part(self, index: u64) -> Self {
        // Twice, so that the parts of neighbouring seeds have nothing in common.
        Seed(FastRand::new(FastRand::new(self.0).next_u64() ^ index).next_u64())
    }

    pub(crate) fn rand(self) -> Rand {
        Rand(FastRand::new(self.0))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl FromStr for Seed {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).map(Seed),
            None => text.parse().map(Seed),
        }
    }
}

/// Numbers that follow from a seed. By `&mut`, so that a future may hold it over an await and still be `Send`.
#[derive(Debug)]
pub(crate) struct Rand(FastRand);

impl Rand {
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Another such, for a task of its own.
    pub(crate) fn fork(&mut self) -> Rand {
        Rand(FastRand::new(self.next()))
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }

    /// From `low` up to and with `high`.
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// Once in `n` times.
    pub(crate) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// Up to so many microseconds.
    pub(crate) fn micros(&mut self, most: u32) -> Duration {
        Duration::from_micros(self.below(most + 1).into())
    }
}
