use std::cell::Cell;

/// A small, fast, seedable random number generator: SplitMix64 (Steele, Lea, Flood 2014). Not for secrets.
///
/// One word of state behind a `Cell`, so that it can sit in thread-local worker state and be used through `&`.
#[derive(Debug)]
pub struct FastRand(Cell<u64>);

impl FastRand {
    /// A generator whose whole future follows from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.set(state);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, nearly even; 0 when `n` is 0. By multiplication, not division (Lemire 2019).
    #[inline]
    pub fn below(&self, n: u32) -> u32 {
        let low = self.next_u64() & u64::from(u32::MAX);
        ((low * u64::from(n)) >> 32) as u32
    }

    /// Starts over from `seed` and returns the state that stood before.
    pub fn replace_seed(&self, seed: u64) -> u64 {
        self.0.replace(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::FastRand;

    #[test]
    fn same_seed_same_numbers() {
        let (a, b) = (FastRand::new(7), FastRand::new(7));
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let rand = FastRand::new(1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[rand.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(rand.below(0), 0);
    }
}
