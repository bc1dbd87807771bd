//! Random numbers of this thread, for choices that only have to be fair.
//!
//! `select!` draws its first branch here. A runtime that was given a seed puts it in place for the time it has the
//! thread, and the former state back when it leaves: the same seed then makes the same choices.

use nezumi_prim::FastRand;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;

struct Source {
    rand: FastRand,
    seeded: Cell<bool>,
}

nezumi_prim::thread_local! {
    static SOURCE: Source = Source { rand: FastRand::new(0), seeded: Cell::new(false) };
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

/// Starts over from `seed`, until the guard is dropped; the former state then goes on.
#[must_use]
pub fn seed(seed: u64) -> SeedGuard {
    SeedGuard { former: SOURCE.with(|source| source.seeded().replace_seed(seed)), _not_send: PhantomData }
}

/// Puts the former state back when dropped. Not `Send`: it belongs to its thread.
#[derive(Debug)]
pub struct SeedGuard {
    former: u64,
    _not_send: PhantomData<*const ()>,
}

impl Drop for SeedGuard {
    fn drop(&mut self) {
        SOURCE.with(|source| source.rand.replace_seed(self.former));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw() -> Vec<u32> {
        (0..8).map(|_| below(1000)).collect()
    }

    #[test]
    fn a_seed_repeats_and_the_former_state_goes_on() {
        let whole = {
            let _outer = seed(11);
            [draw(), draw()]
        };
        let _outer = seed(11);
        assert_eq!(draw(), whole[0]);
        let first = {
            let _inner = seed(7);
            draw()
        };
        assert_eq!(draw(), whole[1]);
        let _inner = seed(7);
        assert_eq!(draw(), first);
    }

    #[test]
    fn threads_draw_different_numbers() {
        let other = std::thread::spawn(draw).join().unwrap();
        assert_ne!(draw(), other);
    }
}
