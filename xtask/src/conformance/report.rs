//! The outcome, held against what was expected.

use super::expected::Expected;
use super::nextest::Outcome;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Serialize)]
pub(crate) struct Report {
    suite: String,
    total: usize,
    passed: usize,
    /// All that failed, expected or not, as `file::test`.
    failed: Vec<String>,
    /// Those of them that were expected.
    expected_failures: Vec<String>,
    /// How many passed, and how many there are, in each file.
    files: BTreeMap<String, [usize; 2]>,
    /// And why, in the same order.
    #[serde(skip)]
    reasons: Vec<String>,
    /// On the list, but passed, or gone.
    #[serde(skip)]
    stale: Vec<String>,
}

impl Report {
    /// How many tests were run.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// `partial`: not all of the suite was run, so what is missing says nothing.
    pub(crate) fn new(suite: &str, outcome: Outcome, expected: &Expected, partial: bool) -> Self {
        let mut report = Self {
            suite: suite.to_owned(),
            total: outcome.len(),
            passed: outcome.values().filter(|passed| **passed).count(),
            failed: Vec::new(),
            expected_failures: Vec::new(),
            reasons: Vec::new(),
            files: BTreeMap::new(),
            stale: Vec::new(),
        };
        let mut names = BTreeSet::new();
        for ((file, test), passed) in outcome {
            let name = format!("{file}::{test}");
            names.insert(name.clone());
            let counts = report.files.entry(file).or_default();
            counts[0] += usize::from(passed);
            counts[1] += 1;
            if !passed {
                if let Some(expectation) = expected.get(&name) {
                    report.reasons.push(expectation.reason.clone());
                    report.expected_failures.push(name.clone());
                }
                report.failed.push(name);
            }
        }
        if !partial {
            let stale = expected.iter().filter(|(name, expectation)| {
                if expectation.may_pass { !names.contains(*name) } else { !report.failed.contains(name) }
            });
            report.stale = stale.map(|(name, _)| name.clone()).collect();
        }
        report
    }

    fn unexpected(&self) -> impl Iterator<Item = &String> {
        self.failed.iter().filter(|name| !self.expected_failures.contains(name))
    }

    pub(crate) fn is_as_expected(&self) -> bool {
        self.unexpected().next().is_none() && self.stale.is_empty()
    }

    pub(crate) fn print(&self) {
        for name in self.unexpected() {
            println!("FAILED   {name}");
        }
        for name in &self.stale {
            println!("STALE    {name}: expected to fail, and did not; take it off the list");
        }
        for (name, reason) in self.expected_failures.iter().zip(&self.reasons) {
            println!("expected {name}: {reason}");
        }
        println!("{}: {} of {} passed", self.suite, self.passed, self.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::expected::Expectation;

    fn outcome() -> Outcome {
        [("io", "read", true), ("io", "write", false), ("lib", "unit", true)]
            .map(|(file, test, passed)| ((file.to_owned(), test.to_owned()), passed))
            .into()
    }

    fn expecting(names: &[&str]) -> Expected {
        let because = || Expectation { reason: "reason".to_owned(), may_pass: false };
        names.iter().map(|name| ((*name).to_owned(), because())).collect()
    }

    #[test]
    fn the_json_says_what_failed_and_where() {
        let report = Report::new("s", outcome(), &expecting(&["io::write"]), false);
        assert!(report.is_as_expected());
        let json = serde_json::to_value(&report).unwrap();
        let expected = serde_json::json!({
            "suite": "s", "total": 3, "passed": 2, "failed": ["io::write"], "expected_failures": ["io::write"],
            "files": {"io": [1, 2], "lib": [1, 1]}
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn a_new_failure_and_an_old_one_that_passes_are_both_wrong() {
        assert!(!Report::new("s", outcome(), &expecting(&[]), false).is_as_expected());
        assert!(!Report::new("s", outcome(), &expecting(&["io::write", "io::read"]), false).is_as_expected());
        assert!(!Report::new("s", outcome(), &expecting(&["io::write", "io::gone"]), false).is_as_expected());
        let mut may_pass = expecting(&["io::write", "io::read"]);
        may_pass.values_mut().for_each(|expectation| expectation.may_pass = true);
        assert!(Report::new("s", outcome(), &may_pass, false).is_as_expected());
        assert!(Report::new("s", outcome(), &expecting(&["io::write", "io::gone"]), true).is_as_expected());
    }
}
