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
    ///
    /// `loads` has, for each kind of load, what it was at each sample. What the loads explain counts for nothing (a multiple regression): on a machine that has other
    /// work at first and none in the end, more is under way in the end.
    pub(crate) fn of(samples: &[f64], loads: &[Vec<f64>], every: Duration) -> Option<Slope> {
        let group = samples.len().div_ceil(30).max(1);
        let means = |samples: &[f64]| -> Vec<f64> {
            samples.chunks_exact(group).map(|group| group.iter().sum::<f64>() / group.len() as f64).collect()
        };
        let sizes = means(samples);
        let minutes = every.as_secs_f64() * group as f64 / 60.0;
        let times: Vec<f64> = (0..sizes.len()).map(|index| index as f64 * minutes).collect();
        let mut explained = vec![vec![1.0; sizes.len()]];
        for load in loads {
            let load = means(load);
            let rest = without(&load, &explained);
            // One that never changed, or changed as another did, explains nothing more.
            if product(&rest, &rest) > 1e-9 * product(&load, &load) {
                explained.push(rest);
            }
        }
        let freedom = sizes.len().checked_sub(explained.len() + 1).filter(|freedom| *freedom >= 3)? as f64;
        let (times, sizes) = (without(&times, &explained), without(&sizes, &explained));
        let spread = product(&times, &times);
        let slope = product(&times, &sizes) / spread;
        let rest: f64 = times.iter().zip(&sizes).map(|(time, size)| (size - slope * time).powi(2)).sum();
        let error = (rest / freedom / spread).sqrt();
        // The quantile of Student's t for the few samples there are, near enough: 3.2 for 3 degrees of freedom, 2.05 for 28.
        let quantile = 1.96 + 3.7 / freedom;
        Some(Slope { per_minute: slope, margin: quantile * error })
    }
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// What is left of a series without the part that lies in the space of these, which are at right angles to each other.
fn without(series: &[f64], explained: &[Vec<f64>]) -> Vec<f64> {
    explained.iter().fold(series.to_vec(), |rest, axis| {
        let share = product(&rest, axis) / product(axis, axis);
        rest.iter().zip(axis).map(|(value, along)| value - share * along).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::Slope;
    use std::time::Duration;

    #[test]
    fn a_straight_line_has_its_slope_and_no_margin() {
        let samples: Vec<f64> = (0..120).map(|second| 1000.0 + 5.0 * f64::from(second)).collect();
        let slope = Slope::of(&samples, &[], Duration::from_secs(1)).unwrap();
        assert!((slope.per_minute - 300.0).abs() < 1e-6 && slope.margin < 1e-6, "{slope:?}");
    }

    #[test]
    fn noise_without_a_slope_is_within_its_margin() {
        let samples: Vec<f64> = (0..600).map(|second| f64::from((second * 7919) % 101)).collect();
        let slope = Slope::of(&samples, &[], Duration::from_secs(1)).unwrap();
        assert!(slope.per_minute.abs() <= slope.margin, "{slope:?}");
    }

    /// Twice as much load in the last third, and a size that follows it, beside noise.
    fn sizes_and_load(leak_per_second: f64) -> (Vec<f64>, Vec<f64>) {
        let load: Vec<f64> = (0..600).map(|second| if second < 400 { 100.0 } else { 200.0 }).collect();
        let size = |(second, load): (i32, &f64)| {
            1000.0 * load + f64::from((second * 7919) % 101) + leak_per_second * f64::from(second)
        };
        ((0..).zip(&load).map(size).collect(), load)
    }

    #[test]
    fn what_the_load_explains_is_no_growth() {
        let (sizes, load) = sizes_and_load(0.0);
        let every = Duration::from_secs(1);
        let plain = Slope::of(&sizes, &[], every).unwrap();
        assert!(plain.per_minute > plain.margin, "{plain:?}");
        let beside = Slope::of(&sizes, &[load.clone(), load, vec![3.0; 600]], every).unwrap();
        assert!(beside.per_minute.abs() <= beside.margin, "{beside:?}");
    }

    #[test]
    fn growth_beside_a_load_is_seen() {
        let (sizes, load) = sizes_and_load(5.0);
        let slope = Slope::of(&sizes, &[load], Duration::from_secs(1)).unwrap();
        assert!((slope.per_minute - 300.0).abs() <= slope.margin && slope.margin < 30.0, "{slope:?}");
    }

    #[test]
    fn a_few_samples_say_nothing() {
        assert!(Slope::of(&[1.0, 2.0, 3.0], &[], Duration::from_secs(1)).is_none());
    }
}
