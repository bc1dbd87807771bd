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
use std::collections::BTreeMap;
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
    let theirs = walk::surface(&rustdoc::upstream(&options.features, options.unstable)?, "tokio")?;
    let ours = walk::surface(&rustdoc::ours(&options.features)?, "nezumi")?;
    let report = compare(&theirs, &ours, &accepted()?);
    print(&report);
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    ensure!(report.missing.is_empty() && report.different.is_empty(), "the APIs differ");
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

/// A `const fn` can do whatever a `fn` can.
fn fits(wanted: &Entry, found: &Entry) -> bool {
    found.signature == wanted.signature || found.signature.strip_prefix("const ") == Some(&wanted.signature)
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
    fn only_what_is_lacking_is_a_difference() {
        let theirs = surface(&[("a", "fn()"), ("b", "fn(u8)"), ("c", "fn()"), ("d", "fn()")]);
        let ours = surface(&[("a", "const fn()"), ("b", "fn(u16)"), ("extra", "fn()")]);
        let accepted = [("d".to_owned(), "reason".to_owned())].into();
        let report = compare(&theirs, &ours, &accepted);
        assert_eq!(report.missing, ["c  fn()"]);
        assert_eq!(report.different.len(), 1);
        assert_eq!(report.accepted, ["d"]);
        assert_eq!((report.methods.theirs, report.methods.ours), (4, 2));
    }
}
