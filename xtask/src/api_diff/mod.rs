//! The public API, held against Tokio's.
//!
//! `rustdoc` has the nightly compiler write down what both crates export. `walk` turns that into a flat list: every public
//! path, method and trait implementation with its signature. `render` writes types and bounds in a form in which the names
//! of parameters and the modules that something is defined in do not count. What Tokio has and we have not, or have
//! otherwise, is a difference; what we have beyond it is none.

mod render;
mod rustdoc;
mod walk;

use crate::shell;
use anyhow::{Context, Result, ensure};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use walk::{Entry, Kind, Surface};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Features to compare with.
    #[arg(long, default_value = "full,test-util")]
    features: String,
    /// Also what Tokio has with `--cfg tokio_unstable` only.
    #[arg(long)]
    unstable: bool,
    /// Writes the outcome here, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    paths: Count,
    methods: Count,
    impls: Count,
    missing: Vec<String>,
    different: Vec<Difference>,
    /// Differences that are known, and why they are.
    accepted: Vec<String>,
    /// Known as differences, and none any more.
    stale: Vec<String>,
}

#[derive(Default, Serialize)]
struct Count {
    theirs: usize,
    ours: usize,
}

#[derive(Serialize)]
struct Difference {
    item: String,
    theirs: String,
    ours: String,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut features = options.features.clone();
    // Tokio has dumps on Linux only.
    if options.unstable && cfg!(target_os = "linux") {
        features += ",taskdump";
    }
    let ours = walk::surface(&rustdoc::ours(&features)?, "nezumi")?;
    if options.unstable {
        // What Tokio has behind these is always there in ours.
        features += ",schedule-latency,tracing";
    }
    let theirs = walk::surface(&rustdoc::upstream(&features, options.unstable)?, "tokio")?;
    let report = compare(&theirs, &ours, &accepted()?);
    print(&report);
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    ensure!(report.missing.is_empty() && report.different.is_empty(), "the APIs differ");
    ensure!(report.stale.is_empty(), "known as differences, and none any more: {}", report.stale.join(", "));
    Ok(())
}

fn compare(theirs: &Surface, ours: &Surface, accepted: &BTreeMap<String, String>) -> Report {
    let mut report = Report {
        paths: Count::default(),
        methods: Count::default(),
        impls: Count::default(),
        missing: Vec::new(),
        different: Vec::new(),
        accepted: Vec::new(),
        stale: Vec::new(),
    };
    for (item, wanted) in theirs {
        let count = match wanted.kind {
            Kind::Path => &mut report.paths,
            Kind::Method => &mut report.methods,
            Kind::Impl => &mut report.impls,
        };
        count.theirs += 1;
        let found = ours.get(item);
        count.ours += usize::from(found.is_some());
        let same = found.is_some_and(|found| fits(wanted, found));
        if same {
            report.stale.extend(accepted.contains_key(item).then(|| item.clone()));
            continue;
        }
        if accepted.contains_key(item) {
            report.accepted.push(item.clone());
            continue;
        }
        match found {
            None => report.missing.push(format!("{item}  {}", wanted.signature)),
            Some(found) => report.different.push(Difference {
                item: item.clone(),
                theirs: wanted.signature.clone(),
                ours: found.signature.clone(),
            }),
        }
    }
    report
}

/// Whether what is found can stand wherever what is wanted stands: it may do more, and ask for less.
fn fits(wanted: &Entry, found: &Entry) -> bool {
    // A promise not to implement something is none that a program relies on; what another crate exports is that crate's.
    if wanted.signature.starts_with('!') || wanted.signature == "re-export" {
        return true;
    }
    let (wanted_head, wanted_bounds) = parts(&wanted.signature);
    let (found_head, found_bounds) = parts(&found.signature);
    let same_head = found_head == wanted_head || found_head.strip_prefix("const ") == Some(wanted_head);
    // `?Sized` takes a bound away.
    let (wanted_unsized, wanted_bounds): (BTreeSet<_>, _) =
        wanted_bounds.partition(|bound| bound.ends_with("?Sized"));
    let (found_unsized, found_bounds): (BTreeSet<_>, _) =
        found_bounds.partition(|bound| bound.ends_with("?Sized"));
    same_head
        && wanted_unsized.is_subset(&found_unsized)
        && BTreeSet::is_subset(&found_bounds, &wanted_bounds)
}

/// What stands before the bounds, and the bounds.
fn parts(signature: &str) -> (&str, impl Iterator<Item = &str>) {
    let (head, bounds) = signature.split_once(" where ").unwrap_or((signature, ""));
    (head, bounds.split(", ").filter(|bound| !bound.is_empty()))
}

fn print(report: &Report) {
    for item in &report.missing {
        println!("missing   {item}");
    }
    for Difference { item, theirs, ours } in &report.different {
        println!("different {item}\n    theirs  {theirs}\n    ours    {ours}");
    }
    for item in &report.accepted {
        println!("accepted  {item}");
    }
    for (what, count) in [("paths", &report.paths), ("methods", &report.methods), ("impls", &report.impls)] {
        println!("{what}: {} of {}", count.ours, count.theirs);
    }
    println!("missing: {}, different: {}", report.missing.len(), report.different.len());
}

/// `conformance/expected/api.txt`: `item  # reason`, a line each.
fn accepted() -> Result<BTreeMap<String, String>> {
    let file = shell::root().join("conformance/expected/api.txt");
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(BTreeMap::new()) };
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (item, reason) = line.split_once("  #").with_context(|| format!("no reason: {line}"))?;
            Ok((item.trim().to_owned(), reason.trim().to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(entries: &[(&str, &str)]) -> Surface {
        let entry = |signature: &str| Entry { kind: Kind::Method, signature: signature.to_owned() };
        entries.iter().map(|(item, signature)| ((*item).to_owned(), entry(signature))).collect()
    }

    #[test]
    fn more_may_be_done_and_less_be_asked_for() {
        let fits = |wanted: &str, found: &str| {
            let entry = |signature: &str| Entry { kind: Kind::Impl, signature: signature.to_owned() };
            fits(&entry(wanted), &entry(found))
        };
        assert!(fits("impl for A<T0> where T0: Send", "impl for A<T0> where T0: ?Sized"));
        assert!(!fits("impl for A<T0> where T0: ?Sized", "impl for A<T0>"));
        assert!(!fits("impl for A<T0>", "impl for A<T0> where T0: Send"));
        assert!(fits("!impl for A", "impl for A"));
        assert!(!fits("impl for A", "!impl for A"));
    }

    #[test]
    fn only_what_is_lacking_is_a_difference() {
        let theirs = surface(&[("a", "fn()"), ("b", "fn(u8)"), ("c", "fn()"), ("d", "fn()")]);
        let ours = surface(&[("a", "const fn()"), ("b", "fn(u16)"), ("extra", "fn()")]);
        let accepted = ["a", "d"].map(|item| (item.to_owned(), "reason".to_owned())).into();
        let report = compare(&theirs, &ours, &accepted);
        assert_eq!(report.missing, ["c  fn()"]);
        assert_eq!(report.different.len(), 1);
        assert_eq!((&report.accepted[..], &report.stale[..]), (&["d".to_owned()][..], &["a".to_owned()][..]));
        assert_eq!((report.methods.theirs, report.methods.ours), (4, 2));
    }
}
