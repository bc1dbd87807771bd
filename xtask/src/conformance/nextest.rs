//! Builds and runs a scratch package, each test in a process of its own, by `cargo nextest`.
//!
//! First everything is built, as far as it can be: a test file that uses what we do not have must not keep the others
//! from running. It then counts as one failed test.

use super::scratch::Scratch;
use super::suite::Suite;
use crate::shell;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The outcome of every test, by file and name. The unit tests of a library are the file `lib`.
pub(crate) type Outcome = BTreeMap<(String, String), bool>;

/// The name under which a file that does not compile is a failed test.
pub(crate) const DOES_NOT_COMPILE: &str = "does not compile";

pub(crate) fn assert_installed() -> Result<()> {
    if !shell::exists(shell::cargo().args(["nextest", "--version"])) {
        bail!(
            "`cargo nextest` is not installed: run `cargo install cargo-nextest --locked`, or see \
             https://nexte.st/docs/installation for ready-made programs"
        );
    }
    Ok(())
}

pub(crate) fn run(suite: &Suite, scratch: &Scratch, filter: Option<&str>) -> Result<Outcome> {
    let files: Vec<&str> = {
        let matching = |name: &&str| filter.is_none_or(|filter| name.contains(filter));
        let all = scratch.tests.iter().map(String::as_str);
        let chosen: Vec<_> = all.clone().filter(matching).collect();
        // A filter that names no file is one on tests.
        if chosen.is_empty() { all.collect() } else { chosen }
    };
    let of_tests = filter.filter(|filter| !files.iter().all(|name| name.contains(filter)));
    let lib = scratch.has_lib && (filter.is_none() || of_tests.is_some());

    let wanted: Vec<&str> = files.iter().copied().chain(lib.then_some("lib")).collect();
    let built = build(suite, scratch, &wanted)?;
    let mut outcome = Outcome::new();
    for &file in wanted.iter().filter(|file| !built.contains(**file)) {
        outcome.insert((file.to_owned(), DOES_NOT_COMPILE.to_owned()), false);
    }
    let runnable: Vec<_> = wanted.into_iter().filter(|file| built.contains(*file)).collect();
    if !runnable.is_empty() {
        test(suite, scratch, &runnable, of_tests)?;
        let junit = scratch.build_dir.join("nextest").join(suite.name).join("junit.xml");
        read_junit(
            &fs::read_to_string(&junit).with_context(|| format!("no {}", junit.display()))?,
            &mut outcome,
        )?;
    }
    Ok(outcome)
}

fn cargo(suite: &Suite, scratch: &Scratch, words: &[&str]) -> Command {
    let mut cargo = shell::cargo();
    cargo.current_dir(scratch.manifest.parent().expect("a manifest lies in a directory"));
    cargo.env("CARGO_TARGET_DIR", &scratch.build_dir);
    if let Some(flags) = suite.rustflags {
        cargo.env("RUSTFLAGS", flags);
    }
    cargo.args(words);
    if !suite.features.is_empty() {
        cargo.arg("--no-default-features").args(["--features", &suite.features.join(",")]);
    }
    cargo
}

fn choose(command: &mut Command, files: &[&str]) {
    for file in files {
        match *file {
            "lib" => command.arg("--lib"),
            file => command.args(["--test", file]),
        };
    }
}

/// The files that compile.
fn build(suite: &Suite, scratch: &Scratch, files: &[&str]) -> Result<BTreeSet<String>> {
    #[derive(serde::Deserialize)]
    struct Message {
        reason: String,
        target: Option<Target>,
        profile: Option<Profile>,
    }
    #[derive(serde::Deserialize)]
    struct Target {
        name: String,
        kind: Vec<String>,
    }
    #[derive(serde::Deserialize)]
    struct Profile {
        test: bool,
    }

    let words = ["build", "--keep-going", "--message-format", "json-render-diagnostics"];
    let mut build = cargo(suite, scratch, &words);
    if files.contains(&"lib") {
        // The only way to ask for a library's unit tests without running them and without stopping at the first error.
        build.arg("--tests");
    } else {
        choose(&mut build, files);
    }
    // The compiler's warnings about their code are not our concern; its errors are.
    build.env("RUSTFLAGS", format!("{} --cap-lints allow", suite.rustflags.unwrap_or_default()).trim());
    eprintln!("$ cargo build --tests … ({}, {} files)", suite.name, files.len());
    let built = build.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?.wait_with_output()?;

    let mut names = BTreeSet::new();
    for line in built.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(message) = serde_json::from_slice::<Message>(line) else { continue };
        let (Some(target), Some(profile)) = (message.target, message.profile) else { continue };
        if message.reason == "compiler-artifact" && profile.test {
            let is_test = target.kind.iter().any(|kind| kind == "test");
            names.insert(if is_test { target.name } else { "lib".to_owned() });
        }
    }
    Ok(names)
}

fn test(suite: &Suite, scratch: &Scratch, files: &[&str], of_tests: Option<&str>) -> Result<()> {
    let config = write_config(suite, &scratch.build_dir)?;
    let mut test = cargo(suite, scratch, &["nextest", "run", "--no-fail-fast", "--profile", suite.name]);
    test.arg("--config-file").arg(&config);
    test.env("RUSTFLAGS", format!("{} --cap-lints allow", suite.rustflags.unwrap_or_default()).trim());
    // What passes is not worth a line.
    test.args(["--status-level", "fail", "--final-status-level", "none", "--failure-output", "final"]);
    test.args(["--no-tests", "pass"]);
    choose(&mut test, files);
    if let Some(filter) = of_tests {
        test.args(["-E", &format!("test({filter})")]);
    }
    let junit = scratch.build_dir.join("nextest").join(suite.name).join("junit.xml");
    let _ = fs::remove_file(&junit);
    eprintln!("$ cargo nextest run … ({}, {} files)", suite.name, files.len());
    // Failed tests are an outcome, not an error; without any outcome there is an error.
    let status = test.status()?;
    if !status.success() && !junit.exists() {
        bail!("cargo nextest failed ({status})");
    }
    Ok(())
}

/// No retries: a test that fails at times fails.
fn write_config(suite: &Suite, build_dir: &Path) -> Result<std::path::PathBuf> {
    let path = build_dir.join(format!("nextest-{}.toml", suite.name));
    let text = format!(
        "[store]\ndir = {store:?}\n\n[profile.{name}]\nretries = 0\nslow-timeout = {{ period = \"60s\", terminate-after = 3 }}\n\n\
         [profile.{name}.junit]\npath = \"junit.xml\"\nstore-failure-output = false\n",
        store = build_dir.join("nextest"),
        name = suite.name
    );
    fs::create_dir_all(build_dir)?;
    fs::write(&path, text)?;
    Ok(path)
}

fn read_junit(text: &str, outcome: &mut Outcome) -> Result<()> {
    let document = roxmltree::Document::parse(text)?;
    for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let suite =
            case.parent().and_then(|suite| suite.attribute("name")).context("a test is in a suite")?;
        let file = suite.split_once("::").map_or("lib", |(_, file)| file);
        let name = case.attribute("name").context("a test has a name")?;
        let failed = case.children().any(|node| node.has_tag_name("failure") || node.has_tag_name("error"));
        outcome.insert((file.to_owned(), name.to_owned()), !failed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_by_file_and_name() {
        let text = r#"<?xml version="1.0"?><testsuites>
            <testsuite name="p::io"><testcase name="a::b"/><testcase name="c"><failure type="x"/></testcase></testsuite>
            <testsuite name="p"><testcase name="unit"/></testsuite></testsuites>"#;
        let mut outcome = Outcome::new();
        read_junit(text, &mut outcome).unwrap();
        let of = |file: &str, name: &str| outcome[&(file.to_owned(), name.to_owned())];
        assert!(of("io", "a::b") && !of("io", "c") && of("lib", "unit"));
    }
}
