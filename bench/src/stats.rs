//! Medians, and how far to trust them.
//!
//! Samples come in pairs taken one right after the other, so each pair's ratio is free of what changes slowly: the clock
//! rate, the neighbours. The result is the median of those ratios, which one disturbed pair does not move, with an
//! interval from resampling the pairs (bootstrap, seeded: the same samples always give the same interval).

/// A ratio and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

const RESAMPLES: usize = 4000;

/// The middle value, or the mean of the two middle ones. NaN of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    median_of(&mut sorted)
}

/// The median of `over[i] / under[i]`, with its interval.
pub(crate) fn paired_ratio(over: &[f64], under: &[f64]) -> Ratio {
    assert_eq!(over.len(), under.len(), "every sample needs its partner");
    let logs: Vec<f64> = over.iter().zip(under).map(|(a, b)| (a / b).ln()).collect();
    let mut rng = Rng(0x9E37_79B9_7F4A_7C15);
    let mut drawn = vec![0.0; logs.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| logs[rng.below(logs.len())]);
            median_of(&mut drawn)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    Ratio {
        value: median(&logs).exp(),
        lo: medians[RESAMPLES / 40].exp(),
        hi: medians[RESAMPLES - 1 - RESAMPLES / 40].exp(),
    }
}

/// The geometric mean. NaN of nothing.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

fn median_of(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// At least 0 and less than 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_median_is_the_middle() {
        assert!(near(median(&[3.0, 1.0, 2.0]), 2.0));
        assert!(near(median(&[4.0, 1.0, 2.0, 3.0]), 2.5));
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn pairs_that_agree_leave_no_interval() {
        let ratio = paired_ratio(&[2.0, 4.0, 8.0, 16.0], &[1.0, 2.0, 4.0, 8.0]);
        assert!(near(ratio.value, 2.0) && near(ratio.lo, 2.0) && near(ratio.hi, 2.0), "{ratio:?}");
    }

    #[test]
    fn one_disturbed_pair_does_not_move_the_ratio() {
        let mut over = vec![30.0; 11];
        over[4] = 3000.0;
        let ratio = paired_ratio(&over, &[10.0; 11]);
        assert!(near(ratio.value, 3.0) && near(ratio.lo, 3.0) && near(ratio.hi, 3.0), "{ratio:?}");
    }

    #[test]
    fn the_interval_holds_the_ratio_and_lies_within_the_samples() {
        let over: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        let ratio = paired_ratio(&over, &[100.0; 10]);
        assert!(ratio.lo < ratio.value && ratio.value < ratio.hi, "{ratio:?}");
        assert!(ratio.lo >= 1.0 && ratio.hi <= 1.09, "{ratio:?}");
        // Order statistics 2 and 9 of 10 cover the median with 98 %: the interval cannot be wider by much.
        assert!(ratio.lo >= 1.005 && ratio.hi <= 1.085, "{ratio:?}");
    }

    #[test]
    fn the_interval_covers_the_truth_about_as_often_as_it_says() {
        let mut rng = Rng(7);
        let mut covered = 0;
        for _ in 0..100 {
            let mut noisy = || (0..20).map(|_| 1.0 + rng.below(1000) as f64 / 2000.0).collect::<Vec<_>>();
            let (over, under) = (noisy(), noisy());
            let ratio = paired_ratio(&over, &under);
            covered += usize::from(ratio.lo <= 1.0 && 1.0 <= ratio.hi);
        }
        assert!((88..=100).contains(&covered), "{covered} of 100");
    }

    #[test]
    fn swapping_the_sides_inverts_the_ratio() {
        let (a, b) = ([5.0, 6.0, 7.0, 9.0, 8.0], [1.0, 2.0, 3.0, 2.0, 1.5]);
        let (there, back) = (paired_ratio(&a, &b), paired_ratio(&b, &a));
        assert!(near(there.value * back.value, 1.0));
    }

    #[test]
    fn the_geometric_mean_of_a_number_and_its_inverse_is_one() {
        assert!(near(geometric_mean(&[4.0, 0.25]), 1.0));
    }
}
