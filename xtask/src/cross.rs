//! Compiles all that programs can link, for systems other than the one at hand. Warnings are failures.

use crate::shell;
use anyhow::{Result, bail};
use std::process::Command;

/// One for each way of waiting for events, and one of each word size.
const TARGETS: &[&str] = &[
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "i686-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-unknown-freebsd",
    "x86_64-pc-windows-msvc",
    "x86_64-pc-windows-gnu",
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this target; may be repeated.
    #[arg(long = "target", value_name = "TRIPLE")]
    targets: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let targets: Vec<&str> = if options.targets.is_empty() {
        TARGETS.to_vec()
    } else {
        options.targets.iter().map(String::as_str).collect()
    };
    let mut failed = Vec::new();
    for target in targets {
        if !shell::exists(Command::new("rustup").args(["target", "add", target])) {
            eprintln!("SKIPPED {target}: `rustup target add {target}` failed");
            continue;
        }
        let mut check = shell::cargo();
        check.args([
            "check",
            "--quiet",
            "--package",
            "tokio",
            "--features",
            "full,test-util",
            "--target",
            target,
        ]);
        if let Err(error) = shell::run_without_warning(&mut check) {
            eprintln!("{error}");
            failed.push(target);
        }
    }
    if !failed.is_empty() {
        bail!("does not compile for {}", failed.join(", "));
    }
    Ok(())
}
