//! The sources with a switch at every site, and the models built from them.
//!
//! They stand in a copy, so that nothing of the mutants is ever in the sources; what has not changed there is not written again, and not built
//! again.

use super::sites;
use super::structures::STRUCTURES;
use crate::shell;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A mutant, by the number that the copy knows it by.
pub(super) struct Numbered {
    pub(super) number: u32,
    /// `structure: function operation ordering -> weaker`.
    pub(super) name: String,
    pub(super) structure: usize,
    /// `file:line`.
    pub(super) place: String,
}

/// All mutants of all structures. Reads the sources, and changes nothing.
pub(super) fn mutants() -> Result<Vec<Numbered>> {
    let mut all = Vec::new();
    for (index, structure) in STRUCTURES.iter().enumerate() {
        let mut names = BTreeSet::new();
        for file in structure.files {
            let path = shell::root().join(source_path(structure.package, file));
            let source =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            for site in sites::sites(&source) {
                for mutant in site.mutants {
                    let number = u32::try_from(all.len() + 1)?;
                    let mut name = format!("{}: {}", structure.name, mutant.name);
                    if !names.insert(name.clone()) {
                        // Two files of a structure may have functions of the same name.
                        name = format!("{name} ({file})");
                        names.insert(name.clone());
                    }
                    let place = format!("{file}:{}", site.line);
                    all.push(Numbered { number, name, structure: index, place });
                }
            }
        }
    }
    Ok(all)
}

/// Brings the copy up to date.
pub(super) fn write() -> Result<()> {
    let mut listing = Command::new("git");
    listing.arg("-C").arg(shell::root());
    listing.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = String::from_utf8(shell::output(&mut listing)?)?;
    let mut contents: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    for name in listed.split_terminator('\0') {
        let from = shell::root().join(name);
        if from.is_file() {
            contents.insert(name.into(), fs::read(&from)?);
        }
    }
    let mut number = 1;
    for structure in STRUCTURES {
        for file in structure.files {
            let path = source_path(structure.package, file);
            let source = fs::read_to_string(shell::root().join(&path))?;
            let sites = sites::sites(&source);
            contents.insert(path, sites::switched(&source, &sites, number).into_bytes());
            number += u32::try_from(sites.iter().map(|site| site.mutants.len()).sum::<usize>())?;
        }
    }
    for structure in STRUCTURES {
        let switch = source_path(structure.package, "mutant.rs");
        if contents.insert(switch, include_bytes!("switch.rs").to_vec()).is_none() {
            let root = contents.entry(source_path(structure.package, "lib.rs")).or_default();
            root.extend_from_slice(b"\n#[allow(dead_code, missing_docs)]\nmod mutant;\n");
        }
    }
    remove_others(&directory().join("crates"), &contents)?;
    contents.iter().try_for_each(|(path, content)| write_if_changed(&directory().join(path), content))
}

/// Builds the models of a package of the copy, and says where the program is.
pub(super) fn build(package: &str) -> Result<PathBuf> {
    let mut build = shell::cargo();
    build
        .current_dir(directory())
        .env("RUSTFLAGS", "--cfg nezumi_loom --cap-lints allow")
        .env("CARGO_TARGET_DIR", shell::target_dir().join("mutants").join("build"))
        // The time goes into loom; our own crates are built anew all the time.
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
        .args(["--config", r#"profile.release.package."*".opt-level=3"#])
        .args(["test", "--quiet", "--release", "--lib", "--no-run", "--message-format=json"])
        .args(["--package", package])
        .stderr(Stdio::inherit());
    let output = build.output().context("cannot start cargo")?;
    ensure!(output.status.success(), "the copy does not compile: {}", shell::shown(&build));
    let messages = String::from_utf8(output.stdout)?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| {
            message["target"]["name"].as_str() == Some(&package.replace('-', "_"))
                && message["profile"]["test"] == true
        })
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .with_context(|| format!("cargo names no test program of {package}"))
}

fn directory() -> PathBuf {
    shell::target_dir().join("mutants").join("sources")
}

fn source_path(package: &str, file: &str) -> PathBuf {
    Path::new("crates").join(package).join("src").join(file)
}

fn write_if_changed(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("a file lies in a directory"))?;
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Removes what is left of an earlier time.
fn remove_others(below: &Path, kept: &BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let Ok(entries) = fs::read_dir(below) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if path.strip_prefix(directory()).is_ok_and(|name| !kept.contains_key(name)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
