//! Which tests are allowed to fail, and why.
//!
//! `conformance/expected/SUITE.txt` has a line for each: `file::test  # reason`. A line that begins with `[root]` counts
//! only where the user is root, who may do what the test says nobody may. The list may only shrink: a test on it that
//! passes is an error, too.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The reason of each failure that is expected here, by `file::test`.
pub(crate) type Expected = BTreeMap<String, String>;

pub(crate) fn read(suite: &str) -> Result<Expected> {
    let file = shell::root().join("conformance/expected").join(format!("{suite}.txt"));
    match std::fs::read_to_string(&file) {
        Ok(text) => parse(&text, is_root()).with_context(|| format!("in {}", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Expected::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn parse(text: &str, root: bool) -> Result<Expected> {
    let mut expected = Expected::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (test, reason) = line.split_once('#').with_context(|| format!("no reason: {line}"))?;
        let (test, reason) = (test.trim(), reason.trim());
        ensure!(!reason.is_empty(), "no reason: {line}");
        match test.strip_prefix("[root]") {
            Some(test) if root => expected.insert(test.trim().to_owned(), reason.to_owned()),
            Some(_) => None,
            None => expected.insert(test.to_owned(), reason.to_owned()),
        };
    }
    Ok(expected)
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
        assert_eq!(parse(text, false).unwrap().len(), 1);
        let as_root = parse(text, true).unwrap();
        assert_eq!(as_root["io::read"], "not yet");
        assert_eq!(as_root["fs::denied"], "root may");
        assert!(parse("io::read", false).is_err());
        assert!(parse("io::read #", false).is_err());
    }
}
