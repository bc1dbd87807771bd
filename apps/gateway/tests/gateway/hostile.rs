//! `gateway demo --hostile`.

use crate::harness::program;
use serde_json::Value;
use tempfile::TempDir;

/// Runs it for a second on each side; gives its exit code, what it said, and its report.
fn hostile(arguments: &[&str]) -> (Option<i32>, String, Value) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("report.json");
    let path = path.to_str().expect("a path");
    let mut all = vec!["demo", "--hostile", "--seconds", "1", "--connections", "8", "--json", path];
    all.extend(arguments);
    let output = program(&all);
    let told = String::from_utf8(output.stdout).expect("text");
    let report = std::fs::read(path).expect("a report");
    (output.status.code(), told, serde_json::from_slice(&report).expect("JSON"))
}

/// What one side was asked, by kind.
fn asked(side: &Value) -> [u64; 4] {
    ["others", "blocking", "burning", "flooding"].map(|name| side[name].as_u64().expect(name))
}

#[test]
fn both_sides_are_asked_the_same_and_only_one_is_rescued() {
    // A rate that a build without optimisation can keep up with, beside other tests.
    let (code, told, report) = hostile(&["--workers", "1", "--rate", "300", "--seed", "1"]);
    assert_eq!(code, Some(0), "{told}");
    for word in ["watch off", "watch on", "p99.9, ms", "rescues", "spare workers begun"] {
        assert!(told.contains(word), "{word} is missing:\n{told}");
    }
    let (off, on) = (&report["off"], &report["on"]);
    assert_eq!(asked(off), asked(on), "{report}");
    assert!(asked(off).iter().all(|&count| count > 0), "choose a seed that has all kinds: {report}");
    assert_eq!((&off["errors"], &on["errors"]), (&0.into(), &0.into()));
    assert_eq!((&off["rescues"], &off["spares_begun"]), (&0.into(), &0.into()), "{report}");
    assert!(on["spares_begun"].as_u64() > Some(0), "the only worker was blocked 50 ms: {report}");
    let latency = &on["latency"];
    let quantiles = ["p50_us", "p99_us", "p999_us", "max_us"].map(|name| latency[name].as_u64());
    assert!(quantiles[0] > Some(0) && quantiles.is_sorted(), "{report}");
}

#[test]
fn what_is_only_for_hostile_demonstrations_is_refused_without() {
    let output = program(&["demo", "--rate", "5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--hostile"));
}
