//! What must hold.
//!
//! Each workload names the ratio it must reach. It is missed only if the whole interval lies below it: what noise could
//! explain does not fail a build. Some workloads must hold more than that. When a side runs against itself, one thing must hold:
//! no interval may lie wholly beside 1.

use std::fmt;

use crate::args::Rivals;
use crate::case::Bound;
use crate::report::{Outcome, Report};

/// One thing that did not hold.
#[derive(Debug, PartialEq)]
pub(crate) struct Miss {
    what: String,
    workers: usize,
    rule: String,
    found: String,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} workers: {}, found {}", self.what, self.workers, self.rule, self.found)
    }
}

/// Everything that did not hold, in the order of the table.
pub(crate) fn missed(report: &Report) -> Vec<Miss> {
    let results = &report.results;
    if report.rivals.are_one() {
        return results.iter().filter_map(|result| itself(result, report.rivals)).collect();
    }
    let mut missed: Vec<Miss> =
        results.iter().flat_map(|result| [ratio(result), user_cpu(result)]).flatten().collect();
    missed.extend(results.iter().flat_map(bounds));
    missed.extend(results.iter().filter_map(|result| many_threads(result, results)));
    missed
}

fn ratio(result: &Outcome) -> Option<Miss> {
    // What the quick form scaled is held to the least that holds everywhere.
    let must = if result.scaled.is_empty() { result.must } else { result.must.min(1.0) };
    (result.ratio.hi < must).then(|| {
        miss(
            result,
            format!("ratio ≥ {must}"),
            format!("{:.2} ({:.2}..{:.2})", result.ratio.value, result.ratio.lo, result.ratio.hi),
        )
    })
}

fn user_cpu(result: &Outcome) -> Option<Miss> {
    let ((share, least), must) = (result.user_cpu_share(), result.must_user_cpu?);
    (least > must)
        .then(|| miss(result, format!("user CPU per operation ≤ {must} of Tokio's"), format!("{share:.2}")))
}

/// What our notes must keep to. A form that asks something else is not held to it.
fn bounds(result: &Outcome) -> Vec<Miss> {
    let bounds = if result.scaled.is_empty() { &*result.bounds } else { &[] };
    let missed = |bound: &Bound| {
        let &(_, found) = result.nezumi.notes.iter().find(|(note, _)| *note == bound.note)?;
        let rule = match bound.most {
            f64::INFINITY => format!("{} ≥ {}", bound.note, bound.least),
            most => format!("{} ≤ {most}", bound.note),
        };
        let kept = bound.least <= found && found <= bound.most;
        (!kept).then(|| miss(result, rule, format!("{found:.2}")))
    };
    bounds.iter().filter_map(missed).collect()
}

fn itself(result: &Outcome, rivals: Rivals) -> Option<Miss> {
    let side = if rivals == Rivals::TokioTwice { "Tokio" } else { "Nezumi" };
    let ratio = result.ratio;
    (ratio.hi < 0.95 || ratio.lo > 1.05).then(|| {
        let found = format!("{:.2} ({:.2}..{:.2})", ratio.value, ratio.lo, ratio.hi);
        miss(result, format!("ratio of {side} to itself = 1"), found)
    })
}

/// Sixteen threads that spawn from outside take at most 1.3 times as long as one.
fn many_threads(sixteen: &Outcome, results: &[Outcome]) -> Option<Miss> {
    if sixteen.workload != "remote_spawn_threads" || sixteen.variant != "16 threads" {
        return None;
    }
    let one = results.iter().find(|one| {
        one.workload == sixteen.workload && one.workers == sixteen.workers && one.variant == "1 thread"
    })?;
    let growth = sixteen.nezumi.ns / one.nezumi.ns;
    (growth > 1.3)
        .then(|| miss(sixteen, "≤ 1.3 times the time of 1 thread".to_owned(), format!("{growth:.2}")))
}

fn miss(result: &Outcome, rule: String, found: String) -> Miss {
    Miss { what: result.name(), workers: result.workers, rule, found }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::tests::{report, sample};

    fn rules(results: Vec<Outcome>) -> Vec<String> {
        missed(&report(results)).iter().map(Miss::to_string).collect()
    }

    #[test]
    fn only_an_interval_that_lies_below_misses() {
        // The interval of a sample reaches a tenth to either side, and it must reach 3.
        assert!(rules(vec![sample("a", "", 3.1), sample("b", "", 2.9)]).is_empty());
        assert_eq!(rules(vec![sample("c", "", 2.0)]), ["c at 2 workers: ratio ≥ 3, found 2.00 (1.80..2.20)"]);
    }

    #[test]
    fn a_side_against_itself_must_come_out_as_one() {
        let mut report = report(vec![sample("a", "", 1.0), sample("b", "", 1.5)]);
        report.rivals = Rivals::TokioTwice;
        let missed: Vec<String> = missed(&report).iter().map(Miss::to_string).collect();
        assert_eq!(missed, ["b at 2 workers: ratio of Tokio to itself = 1, found 1.50 (1.35..1.65)"]);
    }

    #[test]
    fn user_cpu_is_judged_where_that_was_asked() {
        let mut echo = sample("tcp_echo", "64 B", 5.0);
        echo.must_user_cpu = Some(0.8);
        assert!(rules(vec![echo.clone()]).is_empty());
        echo.nezumi.user_ns = echo.tokio.user_ns * 1.1;
        assert_eq!(
            rules(vec![echo.clone()]),
            ["tcp_echo 64 B at 2 workers: user CPU per operation ≤ 0.8 of Tokio's, found 1.10"]
        );
        // The same, but of a few ticks only.
        echo.nezumi.user_total = Duration::from_millis(20);
        assert!(rules(vec![echo]).is_empty());
    }

    #[test]
    fn a_note_has_bounds_where_the_definition_is_measured() {
        let mut sleepers = sample("million_sleep", "", 5.0);
        sleepers.bounds = vec![Bound { note: "bytes", least: f64::NEG_INFINITY, most: 600.0 }];
        sleepers.nezumi.notes = vec![("bytes", 500.0)];
        assert!(rules(vec![sleepers.clone()]).is_empty());
        sleepers.nezumi.notes = vec![("bytes", 700.0)];
        assert_eq!(rules(vec![sleepers.clone()]), ["million_sleep at 2 workers: bytes ≤ 600, found 700.00"]);
        sleepers.scaled = "fewer of them";
        assert!(rules(vec![sleepers]).is_empty());
    }

    #[test]
    fn what_was_scaled_must_not_be_slower_than_tokio() {
        let mut scaled = sample("interference", "", 1.5);
        scaled.scaled = "shorter";
        assert!(rules(vec![scaled.clone()]).is_empty());
        scaled.ratio.hi = 0.9;
        assert_eq!(rules(vec![scaled]).len(), 1);
    }

    #[test]
    fn sixteen_threads_are_held_against_one() {
        let one = sample("remote_spawn_threads", "1 thread", 5.0);
        let mut sixteen = sample("remote_spawn_threads", "16 threads", 5.0);
        assert!(rules(vec![one.clone(), sixteen.clone()]).is_empty());
        sixteen.nezumi.ns = one.nezumi.ns * 1.5;
        assert_eq!(
            rules(vec![one, sixteen]),
            ["remote_spawn_threads 16 threads at 2 workers: ≤ 1.3 times the time of 1 thread, found 1.50"]
        );
    }
}
