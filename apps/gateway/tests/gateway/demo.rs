//! `gateway demo`.

use crate::harness::program;
use serde_json::Value;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Runs a demonstration of a second; gives its report.
fn demo(arguments: &[&str]) -> Value {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("report.json");
    let mut all = vec!["demo", "--seconds", "1", "--json", path.to_str().expect("a path")];
    all.extend(arguments);
    let start = Instant::now();
    let output = program(&all);
    let told = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(start.elapsed() < Duration::from_secs(5), "it took {:?}", start.elapsed());
    for word in ["requests", "errors", "latency", "p99.9", "steals", "busy %"] {
        assert!(told.contains(word), "{word} is missing:\n{told}");
    }
    serde_json::from_slice(&std::fs::read(&path).expect("a report")).expect("JSON")
}

#[test]
fn it_runs_on_two_workers_and_reports() {
    let report = demo(&["--connections", "16", "--workers", "2"]);
    let number = |name: &str| report[name].as_f64().unwrap_or_else(|| panic!("no {name} in {report}"));
    assert!(number("requests") > 10.0 && number("errors") == 0.0, "{report}");
    assert!(number("rps") > 0.0, "{report}");
    let quantiles = ["p50_us", "p90_us", "p99_us", "p999_us"].map(number);
    assert!(quantiles[0] > 0.0 && quantiles.is_sorted(), "{report}");
    let workers = report["workers"].as_array().expect("a list");
    assert_eq!(workers.len(), 2);
    assert!(workers.iter().all(|worker| worker["polls"].as_u64() > Some(0)), "{report}");
    assert!(workers.iter().all(|worker| worker["steals"].is_u64() && worker["parks"].is_u64()), "{report}");
}

#[test]
fn it_ends_in_time_on_one_worker() {
    assert_eq!(demo(&["--connections", "100", "--workers", "1"])["errors"], 0);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let output = program(&["demo", "--seconds", "1", "--connections", "1", "--json", "/nowhere/report.json"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(told.starts_with("error: cannot write /nowhere/report.json: "), "{told}");
}
