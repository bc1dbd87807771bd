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

/// A part of a run that can be run alone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Round(Seed),
    Program(u64),
}

impl Part {
    /// The command that does it: the one by which this program was called, with more behind it.
    pub(crate) fn again(self, seed: Seed) -> String {
        self.after(std::env::args().skip(1), seed)
    }

    fn after(self, given: impl Iterator<Item = String>, seed: Seed) -> String {
        let (option, value) = match self {
            Part::Round(seed) => ("--round", seed.to_string()),
            Part::Program(index) => ("--program", index.to_string()),
        };
        let mut words: Vec<_> = ["cargo", "xtask"].into_iter().map(str::to_owned).chain(given).collect();
        for (option, value) in [("--seed", seed.to_string()), (option, value)] {
            let is_it = |word: &String| {
                word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            };
            if !words.iter().any(is_it) {
                words.extend([option.to_owned(), value]);
            }
        }
        words.join(" ")
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

#[cfg(test)]
mod tests {
    use super::{Part, Seed};

    #[test]
    fn a_seed_reads_back() {
        for seed in [0, 7, u64::MAX] {
            assert_eq!(Seed(seed).to_string().parse(), Ok(Seed(seed)));
            assert_eq!(seed.to_string().parse(), Ok(Seed(seed)));
        }
    }

    #[test]
    fn the_same_seed_chooses_the_same() {
        let numbers = |seed: Seed| {
            let mut rand = seed.part(3).rand();
            let mut fork = rand.fork();
            (rand.next(), rand.below(100), fork.next())
        };
        assert_eq!(numbers(Seed(7)), numbers(Seed(7)));
        assert_ne!(numbers(Seed(7)), numbers(Seed(8)));
    }

    #[test]
    fn a_part_is_run_by_what_ran_the_whole_and_more() {
        let given = || ["chaos", "--filter", "notify"].into_iter().map(str::to_owned);
        let again = Part::Round(Seed(1)).after(given(), Seed(2));
        assert_eq!(
            again,
            "cargo xtask chaos --filter notify --seed 0x0000000000000002 --round 0x0000000000000001"
        );
        let again = Part::Program(7).after(given().chain(["--seed=2".into()]), Seed(2));
        assert_eq!(again, "cargo xtask chaos --filter notify --seed=2 --program 7");
    }
}
