//! The size of the process over time, and whether it grows.

use std::time::Duration;

/// The resident size now, in bytes.
pub(crate) fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok())
        .unwrap_or(0);
    // SAFETY: the call has no conditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages * page.unsigned_abs()
}

/// How fast something grows, in bytes per minute: the most likely slope, and how far it may lie off with 95 % confidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    pub(crate) per_minute: f64,
    pub(crate) margin: f64,
}

impl Slope {
    /// Of samples taken `every` so often. Neighbouring samples resemble one another, which would make the margin too small: so a line is laid
    /// through the means of up to thirty groups of them. `None` for too few.
    pub(crate) fn of(samples: &[f64], every: Duration) -> Option<Slope> {
        let group = samples.len().div_ceil(30);
        let means: Vec<f64> = samples
            .chunks_exact(group.max(1))
            .map(|group| group.iter().sum::<f64>() / group.len() as f64)
            .collect();
        let count = means.len() as f64;
        if count < 5.0 {
            return None;
        }
        let minutes = every.as_secs_f64() * group as f64 / 60.0;
        let middle = (count - 1.0) / 2.0 * minutes;
        let mean = means.iter().sum::<f64>() / count;
        let at = |index: usize| index as f64 * minutes - middle;
        let spread: f64 = (0..means.len()).map(|index| at(index).powi(2)).sum();
        let slope = means.iter().enumerate().map(|(index, y)| at(index) * (y - mean)).sum::<f64>() / spread;
        let rest: f64 =
            means.iter().enumerate().map(|(index, y)| (y - mean - slope * at(index)).powi(2)).sum();
        let error = (rest / (count - 2.0) / spread).sqrt();
        // The quantile of Student's t for the few samples there are, near enough: 3.2 for 3 degrees of freedom, 2.05 for 28.
        let quantile = 1.96 + 3.7 / (count - 2.0);
        Some(Slope { per_minute: slope, margin: quantile * error })
    }
}

#[cfg(test)]
mod tests {
    use super::Slope;
    use std::time::Duration;

    #[test]
    fn a_straight_line_has_its_slope_and_no_margin() {
        let samples: Vec<f64> = (0..120).map(|second| 1000.0 + 5.0 * f64::from(second)).collect();
        let slope = Slope::of(&samples, Duration::from_secs(1)).unwrap();
        assert!((slope.per_minute - 300.0).abs() < 1e-6 && slope.margin < 1e-6, "{slope:?}");
    }

    #[test]
    fn noise_without_a_slope_is_within_its_margin() {
        let samples: Vec<f64> = (0..600).map(|second| f64::from((second * 7919) % 101)).collect();
        let slope = Slope::of(&samples, Duration::from_secs(1)).unwrap();
        assert!(slope.per_minute.abs() <= slope.margin, "{slope:?}");
    }

    #[test]
    fn a_few_samples_say_nothing() {
        assert!(Slope::of(&[1.0, 2.0, 3.0], Duration::from_secs(1)).is_none());
    }
}
