//! Turns, warm-up, samples.
//!
//! A pair is one sample of each side, one right after the other; who goes first alternates (A B B A …), so that a drift
//! over time falls on both. Each sample builds its side anew, warms it up with one round, and then repeats the round until
//! enough time has passed. So what a round leaves behind (a grown queue, a burning task) never meets the other side, and
//! luck with where memory lies is drawn again for each sample.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::args::{self, Args};
use crate::case::{Case, Figure, Setup};
use crate::meter::{self, Usage};
use crate::report::{Outcome, Side};
use crate::stats;

/// One workload in one variant at one number of workers: what one row of the table is about.
pub(crate) struct Contest {
    tokio: Rc<Case>,
    nezumi: Rc<Case>,
    smol: Option<Rc<Case>>,
    setup: Setup,
}

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pairs: usize,
    sample: Duration,
}

impl Pace {
    pub(crate) fn of(args: &Args) -> Pace {
        Pace { pairs: args.pairs, sample: Duration::from_millis(if args.quick { 5 } else { 20 }) }
    }
}

/// Matches the sides, and picks what was asked for.
pub(crate) fn contests(
    tokio: Vec<Case>,
    nezumi: Vec<Case>,
    smol: Vec<Case>,
    args: &Args,
) -> Result<Vec<Contest>, String> {
    for name in &args.only {
        if !tokio.iter().any(|case| is_called(case, name)) {
            return Err(format!("no workload is called {name}; --list says what there is"));
        }
    }
    let smol: Vec<Rc<Case>> = smol.into_iter().map(Rc::new).collect();
    let mut contests = Vec::new();
    for (tokio, nezumi) in tokio.into_iter().map(Rc::new).zip(nezumi.into_iter().map(Rc::new)) {
        assert!(tokio.is_same_as(&nezumi), "the sides list their workloads in different orders");
        if !args.only.is_empty() && !args.only.iter().any(|name| is_called(&tokio, name)) {
            continue;
        }
        let smol = smol.iter().find(|case| case.is_same_as(&tokio));
        let workers = tokio.workers.map_or_else(|| args.workers.clone(), |fixed| vec![fixed]);
        contests.extend(workers.into_iter().map(|workers| Contest {
            tokio: tokio.clone(),
            nezumi: nezumi.clone(),
            smol: smol.cloned(),
            setup: Setup { workers, quick: args.quick },
        }));
    }
    Ok(contests)
}

fn is_called(case: &Case, name: &str) -> bool {
    case.workload == name || case.number.to_string() == name
}

impl Contest {
    /// As many samples of one side as a run takes of it, for a profiler. The median of their ns per operation.
    pub(crate) fn profile(&self, side: args::Side, pace: &Pace) -> (String, f64) {
        let case = match side {
            args::Side::Tokio => &self.tokio,
            args::Side::Nezumi => &self.nezumi,
        };
        let mut samples = Samples::default();
        for _ in 0..pace.pairs {
            samples.take(case, &self.setup, pace);
        }
        let name = format!("{} {}, {} workers", case.workload, case.variant, self.setup.workers);
        (name, stats::median(&samples.ns))
    }

    pub(crate) fn run(&self, pace: &Pace) -> Outcome {
        let pairs = if self.tokio.slow { pace.pairs.min(10) } else { pace.pairs };
        let (mut tokio, mut nezumi, mut smol) = (Samples::default(), Samples::default(), Samples::default());
        for pair in 0..pairs {
            let mut sides = [(&self.tokio, &mut tokio), (&self.nezumi, &mut nezumi)];
            if pair % 2 == 1 {
                sides.reverse();
            }
            for (case, samples) in sides {
                samples.take(case, &self.setup, pace);
            }
            // Not in the ratio, so it needs no partner, and not as many.
            if let Some(case) = self.smol.as_ref().filter(|_| pair % 2 == 0) {
                smol.take(case, &self.setup, pace);
            }
        }
        let case = &self.tokio;
        Outcome {
            number: case.number,
            workload: case.workload,
            variant: case.variant,
            what: case.what,
            workers: self.setup.workers,
            must: case.must,
            must_user_cpu: case.must_user_cpu,
            figure: case.figure,
            ratio: stats::paired_ratio(tokio.decisive(case.figure), nezumi.decisive(case.figure)),
            cpu_ratio: stats::paired_ratio(&tokio.cpu_ns, &nezumi.cpu_ns),
            tokio: tokio.medians(allocations_per_op(&self.tokio, &self.setup)),
            nezumi: nezumi.medians(allocations_per_op(&self.nezumi, &self.setup)),
            smol_ns: self.smol.as_ref().map(|_| stats::median(&smol.ns)),
            pairs,
        }
    }
}

/// All samples of one side, each value per operation.
#[derive(Default)]
struct Samples {
    ns: Vec<f64>,
    figure: Vec<f64>,
    switches: Vec<f64>,
    /// User and system together, which the kernel knows exactly.
    cpu_ns: Vec<f64>,
    /// How the kernel splits the CPU time is sampled by its tick, too coarse for one sample: so it is summed up over all.
    split: Split,
}

#[derive(Default)]
struct Split {
    ops: u64,
    user: Duration,
    system: Duration,
}

impl Samples {
    fn take(&mut self, case: &Case, setup: &Setup, pace: &Pace) {
        let mut round = (case.prepare)(setup);
        if !case.slow {
            round();
        }
        let (mut ops, mut elapsed, mut figure) = (0, Duration::ZERO, 0.0);
        let before = Usage::of_process();
        while elapsed < pace.sample {
            let start = Instant::now();
            let done = round();
            elapsed += done.elapsed.unwrap_or_else(|| start.elapsed());
            figure += done.figure.unwrap_or(0.0);
            ops += done.ops;
        }
        let used = Usage::of_process().since(before);
        let per_op = |total: f64| total / ops as f64;
        self.ns.push(per_op(nanos(elapsed)));
        self.figure.push(per_op(figure));
        self.switches.push(per_op(used.voluntary_switches as f64));
        self.cpu_ns.push(per_op(nanos(used.user + used.system)));
        self.split.ops += ops;
        self.split.user += used.user;
        self.split.system += used.system;
    }

    /// What the ratio is made of.
    fn decisive(&self, figure: Figure) -> &[f64] {
        match figure {
            Figure::Time => &self.ns,
            Figure::Own(_) => &self.figure,
        }
    }

    fn medians(&self, allocations: f64) -> Side {
        let figure = stats::median(&self.figure);
        Side {
            ns: stats::median(&self.ns),
            figure: (figure != 0.0).then_some(figure),
            allocations,
            switches: stats::median(&self.switches),
            cpu_ns: stats::median(&self.cpu_ns),
            user_ns: nanos(self.split.user) / self.split.ops as f64,
            system_ns: nanos(self.split.system) / self.split.ops as f64,
            user_total: self.split.user,
        }
    }
}

/// Counted in a round that nobody times.
fn allocations_per_op(case: &Case, setup: &Setup) -> f64 {
    let mut round = (case.prepare)(setup);
    if !case.slow {
        round();
    }
    let (count, done) = meter::allocations(&mut round);
    count as f64 / done.ops as f64
}

fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Done;

    /// A side whose operation takes so long by its own clock.
    fn side(ns: u64) -> Vec<Case> {
        let case = |variant| {
            Case::new(1, "fake", "nothing", 1.0, move |_| {
                Box::new(move || Done { ops: 10, elapsed: Some(Duration::from_nanos(ns * 10)), figure: None })
            })
            .variant(variant)
        };
        vec![case("a"), case("b").workers(4)]
    }

    fn args(only: &[&str]) -> Args {
        let words = ["--quick", "--workers", "1,2", "--pairs", "4"];
        let Ok(crate::args::Parsed::Run(args)) = crate::args::parse(words.map(str::to_owned)) else {
            panic!("refused")
        };
        Args { only: only.iter().map(|&name| name.to_owned()).collect(), ..args }
    }

    #[test]
    fn the_ratio_is_the_rivals_time_over_ours() {
        let args = args(&[]);
        let contests = contests(side(3_000_000), side(1_000_000), side(2_000_000), &args).unwrap();
        let outcome = contests[0].run(&Pace::of(&args));
        assert!((outcome.ratio.value - 3.0).abs() < 1e-9, "{:?}", outcome.ratio);
        assert!((outcome.tokio.ns - 3e6).abs() < 1.0 && (outcome.nezumi.ns - 1e6).abs() < 1.0);
        assert!((outcome.smol_ns.unwrap() - 2e6).abs() < 1.0);
    }

    #[test]
    fn a_fixed_number_of_workers_is_not_overruled() {
        let contests = contests(side(1), side(1), Vec::new(), &args(&["1"])).unwrap();
        let workers: Vec<usize> = contests.iter().map(|contest| contest.setup.workers).collect();
        assert_eq!(workers, [1, 2, 4]);
    }

    #[test]
    fn a_name_that_nothing_has_is_refused() {
        assert!(contests(side(1), side(1), Vec::new(), &args(&["fake", "other"])).is_err());
    }
}
