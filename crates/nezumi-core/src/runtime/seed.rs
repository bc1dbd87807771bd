//! Seeds: all randomness of a runtime follows from one.

use nezumi_prim::FastRand;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a runtime's random choices follow from: which worker is robbed first, which branch of `select!` is polled first.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Builder, RngSeed};
///
/// let seed = RngSeed::from_bytes(b"the same choices each time");
/// let runtime = Builder::new_current_thread().rng_seed(seed).build().unwrap();
/// # drop(runtime);
/// ```
#[derive(Clone, Debug)]
pub struct RngSeed(u64);

impl RngSeed {
    /// A seed made of `bytes`, whatever their number.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // FNV-1a (Fowler, Noll, Vo 1991): the same on every platform and in every release.
        Self(bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
        }))
    }

    /// A seed that nobody could have known.
    pub(crate) fn random() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self(RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Gives each part of a runtime a seed of its own.
#[derive(Debug)]
pub(crate) struct Seeds(AtomicU64);

impl Seeds {
    pub(crate) fn new(seed: &RngSeed) -> Self {
        Self(AtomicU64::new(seed.0))
    }

    pub(crate) fn next(&self) -> u64 {
        // An odd step reaches every value before it repeats one. Scrambled, since `FastRand` counts by the same step: taken
        // as they are, the seeds would make one sequence, each a number further on.
        let count = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        FastRand::new(!count).next_u64()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_runtime_draw_different_numbers() {
        let seeds = Seeds::new(&RngSeed::from_bytes(b"seed"));
        let draw = |seed: u64| {
            let rand = FastRand::new(seed);
            (0..100).map(|_| rand.next_u64()).collect::<std::collections::HashSet<_>>()
        };
        let (first, second) = (draw(seeds.next()), draw(seeds.next()));
        assert!(first.is_disjoint(&second));
    }
}
