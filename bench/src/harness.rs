//! Turns, warm-up, samples.
//!
//! A pair is one sample of each side, one right after the other; who goes first alternates (A B B A …), so that a drift
//! over time falls on both. Each sample builds its side anew, warms it up with one round, and then repeats the round until
//! enough time has passed. So what a round leaves behind (a grown queue, a burning task) never meets the other side, and
//! luck with where memory lies is drawn again for each sample.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::apart;
use crate::args::Args;
use crate::case::{self, Case, Figure, Form, Setup, Speed};
use crate::meter::{self, Usage};
use crate::report::{Outcome, Side};
use crate::stats;
use crate::syscalls::Counter;

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
    /// The most pairs of what takes seconds.
    slow_pairs: usize,
    sample: Duration,
}

/// Fewer have no interval to speak of.
pub(crate) const FEWEST_PAIRS: usize = 4;

impl Pace {
    pub(crate) fn of(args: &Args) -> Pace {
        let (slow_pairs, ms) = if args.quick { (FEWEST_PAIRS, 5) } else { (10, 20) };
        Pace { pairs: args.pairs, slow_pairs, sample: Duration::from_millis(ms) }
    }

    fn pairs(&self, case: &Case) -> usize {
        match case.speed {
            Speed::Normal => self.pairs,
            Speed::Slow => self.pairs.min(self.slow_pairs),
            Speed::Glacial => FEWEST_PAIRS,
        }
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
        let meant = args.only.is_empty() || args.only.iter().any(|name| is_called(&tokio, name));
        if !meant || args.variant.as_ref().is_some_and(|variant| variant != tokio.variant) {
            continue;
        }
        let smol = smol.iter().find(|case| case.is_same_as(&tokio));
        let workers = tokio.workers.map_or_else(|| args.workers.clone(), |fixed| vec![fixed]);
        contests.extend(workers.into_iter().map(|workers| Contest {
            tokio: tokio.clone(),
            nezumi: nezumi.clone(),
            smol: smol.cloned(),
            setup: Setup { workers, form: if args.quick { Form::Quick } else { Form::Full } },
        }));
    }
    Ok(contests)
}

fn is_called(case: &Case, name: &str) -> bool {
    case.workload == name || case.number.to_string() == name
}

impl Contest {
    /// As many samples of one side as a run takes of it, for a profiler. The median of their ns per operation.
    pub(crate) fn profile(&self, side: case::Side, pace: &Pace) -> (String, f64) {
        let case = self.side(side);
        let mut samples = Samples::default();
        for _ in 0..pace.pairs {
            samples.take(case, &self.setup, pace);
        }
        (self.name(), stats::median(&samples.ns))
    }

    /// So many rounds of one side after the first, on one runtime, for a profiler that counts. How many operations these were, and what a build
    /// with `--cfg nezumi_count` has counted for each.
    pub(crate) fn rounds(&self, side: case::Side, rounds: usize) -> String {
        let mut round = (self.side(side).prepare)(&self.setup);
        round();
        let (counts, ops) = meter::counts(|| (0..rounds).map(|_| round().ops).sum::<u64>());
        let per_op =
            counts.into_iter().map(|(name, count)| format!(", {name} {:.4}", count as f64 / ops as f64));
        format!("{}: {ops} operations{}", self.name(), per_op.collect::<String>())
    }

    fn name(&self) -> String {
        format!("{} {}, {} workers", self.tokio.workload, self.tokio.variant, self.setup.workers)
    }

    /// One sample of one side, in this process.
    pub(crate) fn sample(&self, side: case::Side, pace: &Pace) -> Sample {
        Sample::here(self.side(side), &self.setup, pace)
    }

    fn side(&self, side: case::Side) -> &Case {
        match side {
            case::Side::Tokio | case::Side::Unwatched => &self.tokio,
            case::Side::Nezumi => &self.nezumi,
        }
    }

    pub(crate) fn run(&self, pace: &Pace) -> Outcome {
        let pairs = pace.pairs(&self.tokio);
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
        let floor = case.least_figure;
        Outcome {
            number: case.number,
            workload: case.workload,
            variant: case.variant,
            what: case.what,
            workers: self.setup.workers,
            must: case.must,
            must_user_cpu: case.must_user_cpu,
            figure: case.figure,
            scaled: if self.setup.form == Form::Full { "" } else { case.scaled },
            at: case.at,
            bounds: case.bounds.clone(),
            ratio: stats::paired_ratio(
                &tokio.decisive(case.figure, floor),
                &nezumi.decisive(case.figure, floor),
            ),
            cpu_ratio: stats::paired_ratio(&tokio.cpu_ns, &nezumi.cpu_ns),
            tokio: tokio.medians(Counts::of(&self.tokio, &self.setup)),
            nezumi: nezumi.medians(Counts::of(&self.nezumi, &self.setup)),
            smol_ns: self.smol.as_ref().map(|_| stats::median(&smol.ns)),
            pairs,
        }
    }
}

/// What one sample came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) ops: u64,
    pub(crate) elapsed: Duration,
    pub(crate) figure: f64,
    pub(crate) notes: Vec<(&'static str, f64)>,
    pub(crate) used: Usage,
}

impl Sample {
    fn of(case: &Case, setup: &Setup, pace: &Pace) -> Sample {
        if case.apart { apart::sample(case, setup) } else { Sample::here(case, setup, pace) }
    }

    fn here(case: &Case, setup: &Setup, pace: &Pace) -> Sample {
        let mut round = (case.prepare)(setup);
        if case.speed == Speed::Normal {
            round();
        }
        let mut sample = Sample::default();
        let mut elsewhere: Option<Usage> = None;
        let before = Usage::of_process();
        while sample.elapsed < pace.sample {
            let start = Instant::now();
            let done = round();
            sample.elapsed += done.elapsed.unwrap_or_else(|| start.elapsed());
            sample.figure += done.figure.unwrap_or(0.0);
            sample.ops += done.ops;
            sample.notes = done.notes;
            elsewhere = done.used.map(|used| used.and(elsewhere.unwrap_or_default()));
        }
        sample.used = elsewhere.unwrap_or_else(|| Usage::of_process().since(before));
        sample
    }
}

/// All samples of one side, each value per operation.
#[derive(Default)]
struct Samples {
    ns: Vec<f64>,
    figure: Vec<f64>,
    notes: Vec<Vec<(&'static str, f64)>>,
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
        let Sample { ops, elapsed, figure, notes, used } = Sample::of(case, setup, pace);
        let per_op = |total: f64| total / ops as f64;
        self.ns.push(per_op(nanos(elapsed)));
        self.figure.push(per_op(figure));
        self.notes.push(notes);
        self.switches.push(per_op(used.voluntary_switches as f64));
        // Of an idle process it may be nothing, which has no ratio.
        self.cpu_ns.push(per_op(nanos(used.user + used.system)).max(1e-3));
        self.split.ops += ops;
        self.split.user += used.user;
        self.split.system += used.system;
    }

    /// What the ratio is made of.
    fn decisive(&self, figure: Figure, floor: f64) -> Vec<f64> {
        match figure {
            Figure::Time => self.ns.clone(),
            Figure::Own(_) => self.figure.iter().map(|value| value.max(floor)).collect(),
        }
    }

    fn medians(&self, counts: Counts) -> Side {
        Side {
            ns: stats::median(&self.ns),
            figure: stats::median(&self.figure),
            notes: self.median_notes(),
            allocations: counts.allocations,
            syscalls: counts.syscalls,
            switches: stats::median(&self.switches),
            cpu_ns: stats::median(&self.cpu_ns),
            user_ns: nanos(self.split.user) / self.split.ops as f64,
            system_ns: nanos(self.split.system) / self.split.ops as f64,
            user_total: self.split.user,
        }
    }

    /// Each note's median over the samples; all samples have the same notes in the same order.
    fn median_notes(&self) -> Vec<(&'static str, f64)> {
        let Some(first) = self.notes.first() else { return Vec::new() };
        let median = |i: usize| stats::median(&self.notes.iter().map(|notes| notes[i].1).collect::<Vec<_>>());
        first.iter().enumerate().map(|(i, &(name, _))| (name, median(i))).collect()
    }
}

/// What counting slows down, per operation, of a round that nobody times.
struct Counts {
    allocations: f64,
    syscalls: Option<f64>,
}

impl Counts {
    fn of(case: &Case, setup: &Setup) -> Counts {
        // Before the runtime's threads, which inherit it.
        let counter = Counter::open();
        let mut round = (case.prepare)(setup);
        if case.speed == Speed::Normal {
            round();
        }
        counter.start();
        let (allocations, done) = meter::allocations(&mut round);
        let per_op = |count: u64| count as f64 / done.ops as f64;
        Counts { allocations: per_op(allocations), syscalls: counter.stop().map(per_op) }
    }
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
                Box::new(move || Done { elapsed: Some(Duration::from_nanos(ns * 10)), ..Done::ops(10) })
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
