//! Runs of `nezumi-proof`: built in release mode, with a `cfg` in a target directory of its own.

use crate::shell;
use anyhow::{Result, ensure};
use std::ffi::OsString;

/// What is handed to `nezumi-proof` as it is.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// Options of the command; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Mixed scenes in one runtime, for as long as wanted.
pub(crate) fn soak(arguments: &Arguments) -> Result<()> {
    run("soak", arguments, None)
}

/// Many short lives, with threads held up before atomic accesses.
pub(crate) fn chaos(arguments: &Arguments) -> Result<()> {
    run("chaos", arguments, Some("nezumi_chaos"))
}

/// Code that panics, a system that refuses, interrupts and ends, and too much of everything.
pub(crate) fn faults(arguments: &Arguments) -> Result<()> {
    run("faults", arguments, None)
}

/// Builds with `cfg`, if any, and runs a command. What it prints on failure ends with how to run it again.
fn run(command: &str, arguments: &Arguments, cfg: Option<&str>) -> Result<()> {
    let directory = cfg.map_or_else(shell::target_dir, |cfg| shell::target_dir().join(cfg));
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--release", "--package", "nezumi-proof"]);
    build.env("CARGO_TARGET_DIR", &directory);
    if let Some(cfg) = cfg {
        build.env("RUSTFLAGS", format!("--cfg {cfg}"));
    }
    shell::run(&mut build)?;
    let mut proof = std::process::Command::new(directory.join("release/nezumi-proof"));
    proof.arg(command).args(&arguments.arguments);
    eprintln!("$ {}", shell::shown(&proof));
    ensure!(proof.status()?.success(), "{command} has found something; its seed is above");
    Ok(())
}
