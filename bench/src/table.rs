//! The results as text, row by row as they come.

use crate::args::Rivals;
use crate::case::{Case, Figure};
use crate::gate::Miss;
use crate::report::{Outcome, Report};

/// Prints the table.
pub(crate) struct Printer(());

impl Printer {
    pub(crate) fn new(rivals: Rivals) -> Printer {
        let [first, second] = rivals.names();
        println!(
            "{:>2} {:<34} {:>2} {:>9} {:>9} {:>8}  {:>6} {:>13} {:>5} {:>6}  {:>11} {:>15} {:>13} {:>15}",
            "#",
            "workload",
            "w",
            first,
            second,
            "smol",
            "ratio",
            "95 %",
            "must",
            "cpu",
            "allocs/op",
            "switches/op",
            "syscalls/op",
            "user ns/op"
        );
        Printer(())
    }

    pub(crate) fn row(&mut self, result: &Outcome) {
        println!(
            "{:>2} {:<34} {:>2} {:>9} {:>9} {:>8}  {:>6.2} {:>13} {:>5} {:>6.2}  {:>11} {:>15} {:>13} {:>15}{}",
            result.number,
            result.name(),
            result.workers,
            figure(result.tokio.ns),
            figure(result.nezumi.ns),
            result.smol_ns.map_or_else(String::new, figure),
            result.ratio.value,
            format!("{:.2}..{:.2}", result.ratio.lo, result.ratio.hi),
            result.must,
            result.cpu_ratio.value,
            two(result.tokio.allocations, result.nezumi.allocations, 2),
            two(result.tokio.switches, result.nezumi.switches, 4),
            syscalls(result),
            two(result.tokio.user_ns, result.nezumi.user_ns, 0),
            own(result),
        );
        for ((note, tokio), (_, nezumi)) in result.tokio.notes.iter().zip(&result.nezumi.notes) {
            println!("{:>42} {:>7} {:>9}", note, figure(*tokio), figure(*nezumi));
        }
    }

    pub(crate) fn summary(&mut self, report: &Report) {
        println!("\n{}, commit {}", report.machine, report.commit);
        let [first, second] = report.rivals.names();
        println!(
            "Times are ns per operation. Pairs of figures are {first} / {second}. Ratio: {}; cpu: the same of CPU time.",
            report.rivals.ratio()
        );
        let mut scaled: Vec<_> = report.results.iter().filter(|result| !result.scaled.is_empty()).collect();
        scaled.dedup_by_key(|result| result.workload);
        for result in scaled {
            println!(
                "The quick form of {} is not what its definition says: {}.",
                result.workload, result.scaled
            );
        }
        if let Some(mean) = report.geometric_mean() {
            println!("Geometric mean of the ratios of workloads 1 to 19: {mean:.2}");
        }
    }
}

/// What there is to run.
pub(crate) fn list(cases: &[Case]) {
    for case in cases {
        let name = format!("{} {}", case.workload, case.variant);
        println!("{:>2} {:<34} ≥ {:<4} {}", case.number, name, case.must, case.what);
    }
}

/// What fell short.
pub(crate) fn missed(misses: &[Miss]) {
    if misses.is_empty() {
        println!("Nothing missed what it must reach.");
        return;
    }
    println!("Missed:");
    for miss in misses {
        println!("  {miss}");
    }
}

/// A time with as many digits as mean something.
pub(crate) fn figure(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

fn two(tokio: f64, nezumi: f64, digits: usize) -> String {
    format!("{tokio:.digits$} / {nezumi:.digits$}")
}

/// Tokio's and ours, per operation.
pub(crate) fn syscalls(result: &Outcome) -> String {
    match (result.tokio.syscalls, result.nezumi.syscalls) {
        (Some(tokio), Some(nezumi)) => two(tokio, nezumi, 2),
        _ => "not counted".to_owned(),
    }
}

fn own(result: &Outcome) -> String {
    match result.figure {
        Figure::Own(unit) => format!("  {unit}: {:.3} / {:.3}", result.tokio.figure, result.nezumi.figure),
        Figure::Time => String::new(),
    }
}
