//! Random numbers of this thread, for choices that only have to be fair.
//!
//! `select!` draws its first branch here. A runtime that was given a seed puts it in place for the time it has the
//! thread, and the former state back when it leaves: the same seed then makes the same choices.

use nezumi_prim::FastRand;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

struct Source {
    rand: FastRand,
    seeded: Cell<bool>,
}

thread_local! {
    static SOURCE: Source = const { Source { rand: FastRand::new(0), seeded: Cell::new(false) } };
}

impl Source {
    #[inline]
    fn seeded(&self) -> &FastRand {
        if !self.seeded.get() {
            self.seed();
        }
        &self.rand
    }

    #[cold]
    fn seed(&self) {
        // The keys of `RandomState` are random per process and differ between two calls.
        self.rand.replace_seed(RandomState::new().hash_one(0));
        self.seeded.set(true);
    }
}

/// A number below `n`; 0 when `n` is 0.
#[inline]
#[must_use]
pub fn below(n: u32) -> u32 {
    SOURCE.with(|source| source.seeded().below(n))
}

/// Starts over from `seed`, and returns the state that stood before, which is a seed itself.
pub fn replace_seed(seed: u64) -> u64 {
    SOURCE.with(|source| source.seeded().replace_seed(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw() -> Vec<u32> {
        (0..8).map(|_| below(1000)).collect()
    }

    #[test]
    fn a_seed_repeats_and_the_former_state_goes_on() {
        let former = replace_seed(7);
        let first = draw();
        replace_seed(7);
        assert_eq!(draw(), first);
        replace_seed(former);
        let random = draw();
        replace_seed(former);
        assert_eq!(draw(), random);
    }

    #[test]
    fn threads_draw_different_numbers() {
        let other = std::thread::spawn(draw).join().unwrap();
        assert_ne!(draw(), other);
    }
}
