//! Runs of `nezumi-proof`: built in release mode, with a `cfg` in a target directory of its own.

use crate::shell;
use anyhow::{Result, bail};
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

/// What `nezumi-proof` exits with when it does not understand what it is told.
const MISUNDERSTOOD: i32 = 2;

/// Builds with `cfg`, if any, and runs a command. What it prints on failure ends with how to run it again, however it ended.
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
    let arguments = with_seed(&arguments.arguments, shell::fresh_seed);
    proof.arg(command).args(&arguments);
    eprintln!("$ {}", shell::shown(&proof));
    match proof.status()? {
        status if status.success() => Ok(()),
        status if status.code() == Some(MISUNDERSTOOD) => bail!("{command} was not run"),
        status => {
            bail!("{command} has found something ({status}); again: {}", shell::again(command, arguments))
        }
    }
}

/// The arguments, and a seed where they have none.
fn with_seed(arguments: &[OsString], fresh: impl FnOnce() -> u64) -> Vec<OsString> {
    let is_seed = |argument: &OsString| {
        let argument = argument.to_string_lossy();
        argument == "--seed" || argument.starts_with("--seed=")
    };
    let mut arguments = arguments.to_vec();
    if !arguments.iter().any(is_seed) {
        arguments.extend(["--seed".into(), format!("{:#018x}", fresh()).into()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_a_seed_that_is_known_before() {
        let check = |given: &[&str], expected: &[&str]| {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            assert_eq!(with_seed(&given, || 0xa5), expected);
        };
        check(&[], &["--seed", "0x00000000000000a5"]);
        check(&["forks", "--short"], &["forks", "--short", "--seed", "0x00000000000000a5"]);
        check(&["--seed", "7", "--short"], &["--seed", "7", "--short"]);
        check(&["--seed=0x7"], &["--seed=0x7"]);
    }
}
