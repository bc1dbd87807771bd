//! A package in the target directory that holds the published tests and depends on the `tokio` to be tested.
//!
//! Its manifest is made from the published one: the other dependencies and the list of test files are what their authors
//! say. Their versions come from `conformance/locks`, so that a run today tests the same as one next year.

use super::Implementation;
use super::suite::{Content, Suite};
use crate::shell;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

pub(crate) struct Scratch {
    pub(crate) manifest: PathBuf,
    /// The names of the files in `tests/` that are to be run, without `.rs`.
    pub(crate) tests: Vec<String>,
    pub(crate) has_lib: bool,
    pub(crate) build_dir: PathBuf,
}

pub(crate) fn lay_out(suite: &Suite, implementation: Implementation, update_lock: bool) -> Result<Scratch> {
    let source = published(suite.package)?;
    let base = shell::target_dir().join("conformance");
    let name = match implementation {
        Implementation::Nezumi => "nezumi",
        Implementation::Upstream => "upstream",
    };
    let directory = base.join(name).join(suite.name);
    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(|| format!("cannot clear {}", directory.display()))?;
    }
    fs::create_dir_all(&directory)?;

    let mut manifest: Table = fs::read_to_string(source.join("Cargo.toml"))?.parse()?;
    let tests = match suite.content {
        Content::Tests { mentioning } => {
            copy_tree(&source.join("tests"), &directory.join("tests"))?;
            let tests = tests_mentioning(&manifest, &source, mentioning)?;
            keep_tests_only(&mut manifest, suite, implementation, &tests);
            tests
        }
        Content::Package => {
            copy_tree(&source, &directory)?;
            tests_mentioning(&manifest, &source, None)?
        }
    };
    add_workspace(&mut manifest, suite, implementation);
    let path = directory.join("Cargo.toml");
    fs::write(&path, toml::to_string(&manifest)?)?;
    lock(suite, implementation, &path, update_lock)?;
    Ok(Scratch {
        manifest: path,
        tests,
        has_lib: manifest.contains_key("lib"),
        // Flags that change what dependencies are compiled to get a directory of their own.
        build_dir: base.join(if suite.rustflags.is_some() { "build-unstable" } else { "build" }),
    })
}

/// The manifest of a copy of a published package, as it is, in a workspace of its own.
pub(crate) fn lay_out_library(package: &str) -> Result<PathBuf> {
    let directory = shell::target_dir().join("conformance/library").join(package);
    copy_tree(&published(package)?, &directory)?;
    let path = directory.join("Cargo.toml");
    let mut manifest: Table = fs::read_to_string(&path)?.parse()?;
    manifest.insert("workspace".to_owned(), Value::Table(Table::new()));
    fs::write(&path, toml::to_string(&manifest)?)?;
    Ok(path)
}

/// Where cargo keeps the source of a published package.
fn published(package: &str) -> Result<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
        manifest_path: PathBuf,
    }
    let sources = shell::root().join("conformance/Cargo.toml");
    let mut metadata = shell::cargo();
    metadata
        .args(["metadata", "--quiet", "--locked", "--format-version", "1", "--manifest-path"])
        .arg(&sources);
    let metadata: Metadata = serde_json::from_slice(&shell::output(&mut metadata)?)?;
    let found = metadata
        .packages
        .into_iter()
        .find(|candidate| candidate.name == package)
        .with_context(|| format!("{} does not name {package}", sources.display()))?;
    Ok(found.manifest_path.parent().context("a manifest lies in a directory")?.to_owned())
}

fn tests_mentioning(manifest: &Table, source: &Path, word: Option<&str>) -> Result<Vec<String>> {
    let mut tests = Vec::new();
    for test in manifest.get("test").and_then(Value::as_array).into_iter().flatten() {
        let field = |name| test.get(name).and_then(Value::as_str).context("a test has a name and a path");
        let text = fs::read_to_string(source.join(field("path")?))?;
        if word.is_none_or(|word| text.contains(word)) {
            tests.push(field("name")?.to_owned());
        }
    }
    Ok(tests)
}

/// Turns the manifest of a library into that of a package of tests which depends on the library.
fn keep_tests_only(manifest: &mut Table, suite: &Suite, implementation: Implementation, tests: &[String]) {
    manifest.remove("lib");
    // What the library uses, its tests may use, too.
    for dependencies in everywhere(manifest, "dependencies") {
        for (_, dependency) in dependencies.iter_mut() {
            if let Some(dependency) = dependency.as_table_mut() {
                dependency.remove("optional");
            }
        }
    }
    // The tests ask for features by name. What a feature stands for in the library, other than features, is not theirs.
    let mut features: Table =
        suite.features.iter().map(|name| ((*name).to_owned(), Value::Array(vec![]))).collect();
    let published = manifest.get("features").and_then(Value::as_table).cloned().unwrap_or_default();
    for (name, of) in &published {
        let of = of.as_array().into_iter().flatten().filter_map(Value::as_str);
        let of =
            of.filter(|other| published.contains_key(*other)).map(|other| Value::String(other.to_owned()));
        features.insert(name.clone(), Value::Array(of.collect()));
    }
    manifest.insert("features".to_owned(), Value::Table(features));
    if let Some(all) = manifest.get_mut("test").and_then(Value::as_array_mut) {
        all.retain(|test| {
            test.get("name").and_then(Value::as_str).is_some_and(|name| tests.iter().any(|kept| kept == name))
        });
    }
    let version = set_name(manifest, &format!("{}-tests", suite.package));
    let library = library(suite, implementation, &version);
    if let Some(dependencies) = everywhere(manifest, "dependencies").next() {
        dependencies.insert(suite.package.to_owned(), Value::Table(library));
    }
}

/// The tables of this name: first the general one, then those for some targets only.
fn everywhere<'a>(manifest: &'a mut Table, name: &'a str) -> impl Iterator<Item = &'a mut Table> {
    let (mut general, mut targets) = (None, None);
    for (key, value) in manifest.iter_mut() {
        match key.as_str() {
            "target" => targets = value.as_table_mut(),
            key if key == name => general = value.as_table_mut(),
            _ => {}
        }
    }
    let targets = targets.into_iter().flat_map(Table::iter_mut);
    general.into_iter().chain(targets.filter_map(move |(_, target)| target.get_mut(name)?.as_table_mut()))
}

/// Renames the package, and says which version it is.
fn set_name(manifest: &mut Table, name: &str) -> String {
    let Some(package) = manifest.get_mut("package").and_then(Value::as_table_mut) else {
        return "*".to_owned();
    };
    package.insert("name".to_owned(), Value::String(name.to_owned()));
    package.get("version").and_then(Value::as_str).unwrap_or("*").to_owned()
}

/// The dependency on what is tested.
fn library(suite: &Suite, implementation: Implementation, version: &str) -> Table {
    let mut library = Table::new();
    match implementation {
        Implementation::Nezumi => library.insert("path".to_owned(), path_of_facade()),
        Implementation::Upstream => {
            library.insert("version".to_owned(), Value::String(format!("={version}")))
        }
    };
    let features = suite.features.iter().map(|feature| Value::String((*feature).to_owned())).collect();
    library.insert("features".to_owned(), Value::Array(features));
    library
}

/// Makes the package a workspace of its own, with our `tokio` patched in.
fn add_workspace(manifest: &mut Table, suite: &Suite, implementation: Implementation) {
    manifest.insert("workspace".to_owned(), Value::Table(Table::new()));
    if implementation == Implementation::Nezumi {
        let tokio = Table::from_iter([("path".to_owned(), path_of_facade())]);
        let patch = Table::from_iter([("tokio".to_owned(), Value::Table(tokio))]);
        let patch = Table::from_iter([("crates-io".to_owned(), Value::Table(patch))]);
        manifest.insert("patch".to_owned(), Value::Table(patch));
    }
    // With line tables alone functions have short names, and some tests read whole ones in dumps.
    let debug = if suite.features.contains(&"taskdump") { "full" } else { "line-tables-only" };
    let dev = Table::from_iter([("debug".to_owned(), Value::String(debug.to_owned()))]);
    let profile = Table::from_iter([("dev".to_owned(), Value::Table(dev))]);
    manifest.insert("profile".to_owned(), Value::Table(profile));
    // Lints are for their authors.
    manifest.remove("lints");
}

fn path_of_facade() -> Value {
    Value::String(shell::root().join("crates/tokio").display().to_string())
}

fn lock(suite: &Suite, implementation: Implementation, manifest: &Path, update: bool) -> Result<()> {
    let kept = shell::root().join("conformance/locks").join(format!("{}.lock", suite.name));
    let lock = manifest.with_file_name("Cargo.lock");
    if kept.exists() && !update {
        fs::copy(&kept, &lock)?;
    } else {
        let _ = fs::remove_file(&lock);
    }
    // Adds what the kept one lacks, and changes nothing else.
    let mut fill = shell::cargo();
    fill.args(["metadata", "--quiet", "--format-version", "1", "--manifest-path"]).arg(manifest);
    shell::output(&mut fill)?;
    let text = fs::read_to_string(&lock)?;
    if implementation == Implementation::Nezumi {
        crate::lock_check::check(&text).with_context(|| format!("in {}", lock.display()))?;
        if update {
            fs::create_dir_all(kept.parent().context("a lock lies in a directory")?)?;
            fs::write(&kept, text)?;
        }
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if entry.file_name() != "Cargo.lock" {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
