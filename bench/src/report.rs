//! What came out.

use std::time::Duration;

use crate::args::{Args, Rivals};
use crate::case::{Bound, Figure};
use crate::machine;
use crate::stats::Ratio;

/// Everything of one run.
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) quick: bool,
    pub(crate) rivals: Rivals,
    pub(crate) results: Vec<Outcome>,
}

/// One workload in one variant at one number of workers.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) number: u32,
    pub(crate) workload: &'static str,
    pub(crate) variant: &'static str,
    pub(crate) what: &'static str,
    pub(crate) workers: usize,
    pub(crate) must: f64,
    pub(crate) must_user_cpu: Option<f64>,
    pub(crate) bounds: Vec<Bound>,
    /// How the quick form's question differs from the definition's; empty if it does not.
    pub(crate) scaled: &'static str,
    pub(crate) at: Option<(&'static str, f64)>,
    pub(crate) figure: Figure,
    /// Tokio's figure over ours.
    pub(crate) ratio: Ratio,
    /// The same of the CPU time that the process used, which waiting for a core does not count in.
    pub(crate) cpu_ratio: Ratio,
    pub(crate) tokio: Side,
    pub(crate) nezumi: Side,
    pub(crate) smol_ns: Option<f64>,
    pub(crate) pairs: usize,
}

/// One side, each figure per operation: medians of the samples, but for user and system time, which are means of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) ns: f64,
    /// The workload's own figure, where that is not the time.
    pub(crate) figure: f64,
    pub(crate) notes: Vec<(&'static str, f64)>,
    pub(crate) allocations: f64,
    /// Where the kernel lets them be counted.
    pub(crate) syscalls: Option<f64>,
    pub(crate) switches: f64,
    pub(crate) cpu_ns: f64,
    pub(crate) user_ns: f64,
    pub(crate) system_ns: f64,
    /// What `user_ns` rests on: the user time of all samples together.
    pub(crate) user_total: Duration,
}

/// Of most kernels: 250 a second.
const TICK: Duration = Duration::from_millis(4);

impl Report {
    pub(crate) fn new(args: &Args) -> Report {
        Report {
            machine: machine::machine(),
            commit: machine::commit(),
            date: machine::date(),
            quick: args.quick,
            rivals: args.rivals,
            results: Vec::new(),
        }
    }

    /// The geometric mean of the ratios of workloads 1 to 19, each variant and number of workers counting alike.
    pub(crate) fn geometric_mean(&self) -> Option<f64> {
        let ratios: Vec<f64> =
            self.results.iter().filter(|r| r.number <= 19).map(|r| r.ratio.value).collect();
        (!ratios.is_empty()).then(|| crate::stats::geometric_mean(&ratios))
    }
}

impl Outcome {
    /// Workload and variant, as one name.
    pub(crate) fn name(&self) -> String {
        if self.variant.is_empty() {
            self.workload.to_owned()
        } else {
            format!("{} {}", self.workload, self.variant)
        }
    }

    /// User CPU per operation as a share of Tokio's, and the least that it could be.
    ///
    /// The kernel tells user from system time by what its tick happens to meet, so a figure is so many ticks' worth, and as
    /// sure as a count of that size is.
    pub(crate) fn user_cpu_share(&self) -> (f64, f64) {
        let share = self.nezumi.user_ns / self.tokio.user_ns;
        let doubt = |side: &Side| TICK.as_secs_f64() / side.user_total.as_secs_f64();
        let deviation = (doubt(&self.tokio) + doubt(&self.nezumi)).sqrt();
        (share, share * (1.0 - 2.0 * deviation).max(0.0))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn around(value: f64) -> Ratio {
        Ratio { value, lo: value * 0.9, hi: value * 1.1 }
    }

    /// An outcome to show and to judge.
    pub(crate) fn sample(workload: &'static str, variant: &'static str, ratio: f64) -> Outcome {
        let side = |ns| Side {
            ns,
            allocations: 1.0,
            switches: 0.25,
            cpu_ns: ns,
            user_ns: ns,
            system_ns: 1.0,
            user_total: Duration::from_secs(1),
            figure: 0.0,
            notes: Vec::new(),
            syscalls: Some(2.0),
        };
        Outcome {
            number: 1,
            workload,
            variant,
            what: "a task spawns a no-op task & awaits it",
            workers: 2,
            must: 3.0,
            must_user_cpu: None,
            bounds: Vec::new(),
            scaled: "",
            at: None,
            figure: Figure::Time,
            ratio: around(ratio),
            cpu_ratio: around(ratio),
            tokio: side(100.0 * ratio),
            nezumi: side(100.0),
            smol_ns: Some(150.0),
            pairs: 10,
        }
    }

    pub(crate) fn report(results: Vec<Outcome>) -> Report {
        Report {
            machine: "a <machine>".to_owned(),
            commit: "0123456789ab".to_owned(),
            date: "2026-11-30".to_owned(),
            quick: true,
            rivals: Rivals::TokioAndNezumi,
            results,
        }
    }

    #[test]
    fn the_mean_leaves_out_what_is_about_the_kernel() {
        let mut kernel = sample("tcp_echo", "", 50.0);
        kernel.number = 21;
        let report = report(vec![sample("a", "", 2.0), sample("b", "", 8.0), kernel]);
        assert!((report.geometric_mean().unwrap() - 4.0).abs() < 1e-9);
    }
}
