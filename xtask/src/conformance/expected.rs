//! Which tests are allowed to fail, and why.
//!
//! `conformance/expected/SUITE.txt` has a line for each: `file::test  # reason`. A line that begins with `[root]` counts
//! only where the user is root, who may do what the test says nobody may; one with `[offline]` where names of the internet
//! are not found. The list may only shrink: a test on it that passes is an error, too.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The reason of each failure that is expected here, by `file::test`.
pub(crate) type Expected = BTreeMap<String, String>;

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
        match test.strip_prefix('[').and_then(|marked| marked.split_once(']')) {
            Some((only, test)) if here.contains(&only) => {
                expected.insert(test.trim().to_owned(), reason.to_owned())
            }
            Some((only, _)) => {
                ensure!(MARKS.contains(&only), "[{only}] is not known: {line}");
                None
            }
            None => expected.insert(test.to_owned(), reason.to_owned()),
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
        let text = "# a remark\n\nio::read  # not yet\n[root] fs::denied # root may\n";
        assert_eq!(parse(text, &[]).unwrap().len(), 1);
        assert_eq!(parse(text, &["offline"]).unwrap().len(), 1);
        let as_root = parse(text, &["root"]).unwrap();
        assert_eq!(as_root["io::read"], "not yet");
        assert_eq!(as_root["fs::denied"], "root may");
        assert!(parse("io::read", &[]).is_err());
        assert!(parse("io::read #", &[]).is_err());
        assert!(parse("[rot] io::read # misspelt", &[]).is_err());
    }
}
