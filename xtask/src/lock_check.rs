//! A patch that does not fit is no error for cargo: it warns, and links the published Tokio. This check is the error.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The lock file to look into.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let file = options.file.clone().unwrap_or_else(|| shell::root().join("Cargo.lock"));
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    check(&text).with_context(|| format!("in {}", file.display()))?;
    println!("{}: one package `tokio`, and it is ours", file.display());
    Ok(())
}

/// Fails unless the lock file holds exactly one `tokio`, and that from a path.
pub(crate) fn check(lock: &str) -> Result<()> {
    let lock: toml::Table = lock.parse().context("not a lock file")?;
    let packages = lock.get("package").and_then(toml::Value::as_array).context("no packages")?;
    let tokios: Vec<_> = packages
        .iter()
        .filter(|package| package.get("name").and_then(toml::Value::as_str) == Some("tokio"))
        .collect();
    ensure!(!tokios.is_empty(), "there is no package `tokio`: nothing uses the facade");
    ensure!(
        tokios.len() == 1,
        "there are {} packages `tokio`: the patch did not reach all of the graph; look for a version or a feature that \
         crates/tokio does not have",
        tokios.len()
    );
    ensure!(
        tokios[0].get("source").is_none(),
        "the package `tokio` is the published one: the patch was not used; look for a version or a feature that \
         crates/tokio does not have"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    const OURS: &str = "[[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\n";
    const THEIRS: &str =
        "[[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\nsource = \"registry+https://github.com/x\"\n";

    #[test]
    fn only_ours_alone_passes() {
        assert!(check(OURS).is_ok());
        assert!(check(THEIRS).unwrap_err().to_string().contains("the published one"));
        assert!(check(&format!("{OURS}{THEIRS}")).unwrap_err().to_string().contains("2 packages"));
        assert!(
            check("[[package]]\nname = \"mio\"\n").unwrap_err().to_string().contains("no package `tokio`")
        );
    }
}
