//! Every feature must compile alone, and every two of them together, without a warning: each is what some program uses.

use crate::shell;
use anyhow::{Context, Result, ensure};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only sets with this feature.
    #[arg(long)]
    only: Option<String>,
    /// All pairs, too.
    #[arg(long)]
    pairs: bool,
    /// With `--cfg tokio_unstable`, which programs set for their whole graph.
    #[arg(long)]
    unstable: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    let mut count = 0;
    for package in ["nezumi", "tokio"] {
        for set in sets_of(package, options.pairs)? {
            if options.only.as_ref().is_some_and(|only| !set.contains(only)) {
                continue;
            }
            let features = set.join(",");
            let mut check = shell::cargo();
            check.args(["check", "--quiet", "--package", package, "--no-default-features"]);
            check.args(["--features", &features]);
            if options.unstable {
                check.env("RUSTFLAGS", "--cfg tokio_unstable");
            }
            count += 1;
            if let Err(error) = shell::run_without_warning(&mut check) {
                eprintln!("{error}");
                failed.push(format!(
                    "{package} with {}",
                    if set.is_empty() { "no feature" } else { &features }
                ));
            }
        }
    }
    ensure!(
        failed.is_empty(),
        "{} of {count} do not compile without a warning: {}",
        failed.len(),
        failed.join("; ")
    );
    println!("{count} sets of features compile without a warning");
    Ok(())
}

/// No feature, each alone, and perhaps each two.
fn sets_of(package: &str, pairs: bool) -> Result<Vec<Vec<String>>> {
    let manifest = shell::root().join("crates").join(package).join("Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(&manifest)?.parse()?;
    let features = manifest.get("features").and_then(toml::Value::as_table).context("no features")?;
    let names: Vec<&String> = features.keys().filter(|name| *name != "default").collect();
    let mut sets = vec![Vec::new()];
    sets.extend(names.iter().map(|name| vec![(*name).clone()]));
    if pairs {
        // The facade passes its features on: one that is empty switches nothing, and `full` has the others but one.
        let is_empty = |name: &str| features[name].as_array().is_none_or(Vec::is_empty);
        let switches: Vec<&String> =
            names.into_iter().filter(|name| package != "tokio" || !is_empty(name)).collect();
        for (index, one) in switches.iter().enumerate() {
            sets.extend(switches[index + 1..].iter().map(|other| vec![(*one).clone(), (*other).clone()]));
        }
    }
    Ok(sets)
}
