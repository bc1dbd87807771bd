//! Which tests are allowed to fail, and why.
//!
//! `conformance/expected/SUITE.txt` has a line for each: `file::test  # reason`. A line that begins with `[root]` counts
//! only where the user is root, who may do what the test says nobody may; one with `[offline]` where names of the internet
//! are not found. The list may only shrink: a test on it that passes is an error, too, unless
//! its line begins with `[crowded]`: then it depends on which thread the system puts off its processor, and for how long.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// Each failure that is expected here, by `file::test`.
pub(crate) type Expected = BTreeMap<String, Expectation>;

/// What is expected of one test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expectation {
    /// Why it fails.
    pub(crate) reason: String,
    /// It may as well pass.
    pub(crate) may_pass: bool,
}

pub(crate) fn read(suite: &str) -> Result<Expected> {
    let file = shell::root().join("conformance/expected").join(format!("{suite}.txt"));
    match std::fs::read_to_string(&file) {
        Ok(text) => parse(&text, &here()).with_context(|| format!("in {}", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Expected::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn parse(text: &str, here: &[&str]) -> Result<Expected> {
    let mut expected = Expected::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (test, reason) = line.split_once('#').with_context(|| format!("no reason: {line}"))?;
        let (test, reason) = (test.trim(), reason.trim());
        ensure!(!reason.is_empty(), "no reason: {line}");
        let expectation = |may_pass| Expectation { reason: reason.to_owned(), may_pass };
        match test.strip_prefix('[').and_then(|marked| marked.split_once(']')) {
            Some(("crowded", test)) => expected.insert(test.trim().to_owned(), expectation(true)),
            Some((only, test)) if here.contains(&only) => {
                expected.insert(test.trim().to_owned(), expectation(false))
            }
            Some((only, _)) => {
                ensure!(MARKS.contains(&only), "[{only}] is not known: {line}");
                None
            }
            None => expected.insert(test.to_owned(), expectation(false)),
        };
    }
    Ok(expected)
}

const MARKS: &[&str] = &["root", "offline"];

/// Which lines with a mark count here.
fn here() -> Vec<&'static str> {
    let mut here = Vec::new();
    if is_root() {
        here.push("root");
    }
    if std::net::ToSocketAddrs::to_socket_addrs(&("google.com", 80)).is_err() {
        here.push("offline");
    }
    here
}

#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|of_self| of_self.uid() == 0)
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn each_line_needs_a_reason() {
        let text =
            "# a remark\n\nio::read  # not yet\n[root] fs::denied # root may\n[crowded] rt::depth # a race\n";
        assert_eq!(parse(text, &[]).unwrap().len(), 2);
        assert_eq!(parse(text, &["offline"]).unwrap().len(), 2);
        let as_root = parse(text, &["root"]).unwrap();
        assert_eq!((as_root["io::read"].reason.as_str(), as_root["io::read"].may_pass), ("not yet", false));
        assert_eq!(as_root["fs::denied"].reason, "root may");
        assert!(as_root["rt::depth"].may_pass);
        assert!(parse("io::read", &[]).is_err());
        assert!(parse("io::read #", &[]).is_err());
        assert!(parse("[rot] io::read # misspelt", &[]).is_err());
    }
}
