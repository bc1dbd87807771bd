//! Every feature must compile alone: each is one that some program uses alone.

use crate::shell;
use anyhow::{Context, Result, ensure};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this feature.
    #[arg(long)]
    only: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut failed = Vec::new();
    for package in ["nezumi", "tokio"] {
        let mut sets: Vec<Option<String>> = features_of(package)?.into_iter().map(Some).collect();
        sets.insert(0, None);
        for feature in sets {
            if options.only.is_some() && options.only != feature {
                continue;
            }
            let mut check = shell::cargo();
            check.args(["check", "--quiet", "--package", package, "--no-default-features"]);
            if let Some(feature) = &feature {
                check.args(["--features", feature]);
            }
            if shell::run(&mut check).is_err() {
                failed.push(format!("{package} with {}", feature.as_deref().unwrap_or("no feature")));
            }
        }
    }
    ensure!(failed.is_empty(), "does not compile: {}", failed.join(", "));
    Ok(())
}

fn features_of(package: &str) -> Result<Vec<String>> {
    let manifest = shell::root().join("crates").join(package).join("Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(&manifest)?.parse()?;
    let features = manifest.get("features").and_then(toml::Value::as_table).context("no features")?;
    Ok(features.keys().filter(|name| *name != "default").cloned().collect())
}
