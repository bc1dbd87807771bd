//! The header of a module names the tests and models that prove what it promises. They exist.
//!
//! Looked at is what follows `Tests:`, `Model:`, `loom:` and the like, up to the end of the paragraph, in the headers of all crates, and the table
//! in `docs/proof.md`. A header that users read is followed by another in plain comments, for those who read the source: that is looked at, too. A
//! name of three words or more is that of a test, and a path is one from the root, from the crate, or from the module.

use crate::shell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What stands before the names of tests.
const MARKS: [&str; 10] =
    ["Tests:", "Test:", "Models:", "Model:", "Loom:", "loom:", "models:", "model:", "models `", "model `"];

fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What a line of a header says: of the documentation, or of the page behind it that users do not read, in plain comments.
fn said(line: &str) -> Option<&str> {
    let plain = || line.strip_prefix("//").filter(|said| !said.starts_with('/'));
    line.strip_prefix("//!").or_else(plain).or(line.is_empty().then_some(line)).map(str::trim)
}

/// The paragraphs of a header, each on one line.
fn header(source: &str) -> Vec<String> {
    let lines: Vec<_> = source.lines().map_while(said).collect();
    lines.split(|line| line.is_empty()).map(|lines| lines.join(" ")).collect()
}

/// What stands in code spans behind the first mark.
fn spans(paragraph: &str) -> impl Iterator<Item = &str> {
    let start = MARKS.iter().filter_map(|mark| paragraph.find(mark)).min().unwrap_or(paragraph.len());
    // Counted from the start of the paragraph, since a span may be a mark itself.
    let before = paragraph[..start].matches('`').count() % 2;
    paragraph[start..].split('`').skip(1 - before).step_by(2)
}

fn is_name(span: &str) -> bool {
    span.matches('_').count() >= 2
        && span
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:*".contains(&byte))
}

fn is_path(span: &str) -> bool {
    !span.contains(' ')
        && (span.ends_with(".rs") || span.starts_with("tests/") || span.starts_with("crates/"))
}

/// Every function in the text.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("fn ").map(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())]
    })
}

#[test]
fn every_test_that_a_header_names_exists() {
    let root = shell::root();
    let mut paths = Vec::new();
    for directory in ["crates", "proof", "apps"] {
        sources(&root.join(directory), &mut paths);
    }
    let texts: Vec<_> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let all: BTreeSet<_> = texts.iter().flat_map(|text| functions(text)).collect();
    let exists = |span: &str| {
        let name = span.rsplit("::").next().unwrap_or(span);
        match name.strip_suffix('*') {
            Some(start) => all.range(start..).next().is_some_and(|next| next.starts_with(start)),
            None => all.contains(name),
        }
    };
    let (mut missing, mut looked_at) = (Vec::new(), 0);
    let mut look = |of: &Path, span: &str| {
        let mut near = of.ancestors().skip(1).take_while(|directory| directory.starts_with(&root));
        let is_there = if is_path(span) {
            near.any(|directory| directory.join(span).exists())
        } else if is_name(span) {
            exists(span)
        } else {
            return;
        };
        looked_at += 1;
        if !is_there {
            missing.push(format!("{}: {span}", of.strip_prefix(&root).unwrap().display()));
        }
    };
    for (path, text) in paths.iter().zip(&texts) {
        for paragraph in header(text) {
            spans(&paragraph).for_each(|span| look(path, span));
        }
    }
    let proof = root.join("docs/proof.md");
    let text = fs::read_to_string(&proof).unwrap();
    for row in text.lines().filter(|line| line.starts_with('|')) {
        row.split('`').skip(1).step_by(2).filter(|span| is_name(span)).for_each(|span| look(&proof, span));
    }
    assert!(missing.is_empty(), "these do not exist:\n{}", missing.join("\n"));
    assert!(looked_at > 150, "only {looked_at} names were found: the marks have changed");
}

#[test]
fn names_stand_behind_a_mark() {
    let text = "//! Uses `not_a_test`.\n//! Tests: `one_of_two`, and\n//! `tests/it/a.rs`.\n//!\n//! `not_this_one`.\nuse x;\n";
    let paragraphs = header(text);
    assert_eq!(spans(&paragraphs[0]).collect::<Vec<_>>(), ["one_of_two", "tests/it/a.rs"]);
    assert_eq!(spans(&paragraphs[1]).count(), 0);
    let text = "//! For users.\n\n// How it works.\n//\n// Loom: `one_or_two`,\n// `three_of_four`.\n\n/// Tests: `not_this_one`.\nfn f() {}\n";
    let found: Vec<_> = header(text).iter().flat_map(|text| spans(text)).map(str::to_owned).collect();
    assert_eq!(found, ["one_or_two", "three_of_four"]);
}
