//! Running other programs.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The directory of the root manifest.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace").to_owned()
}

/// Where this workspace builds to.
pub(crate) fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => std::path::absolute(directory).expect("the current directory is known"),
        None => root().join("target"),
    }
}

/// `cargo`, in the root, free of what the cargo that runs this program has set for it.
pub(crate) fn cargo() -> Command {
    clean(Command::new("cargo"))
}

/// `cargo` of the nightly toolchain.
pub(crate) fn cargo_nightly() -> Command {
    let mut cargo = clean(Command::new("cargo"));
    cargo.arg("+nightly");
    cargo
}

fn clean(mut command: Command) -> Command {
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let of_package = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if of_package || matches!(name.as_str(), "CARGO" | "RUSTUP_TOOLCHAIN" | "RUST_RECURSION_COUNT") {
            command.env_remove(name);
        }
    }
    command
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={:?}", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned());
    set.chain(words).collect::<Vec<_>>().join(" ")
}

/// Prints the command and runs it; its failure is one.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ensure!(status.success(), "failed ({status}): {}", shown(command));
    Ok(())
}

/// Like [`run`], for a cargo command that is told to be quiet: what it still has to say is a warning, and that is a failure.
pub(crate) fn run_without_warning(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let output = command
        .stdout(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "failed ({}): {}", output.status, shown(command));
    ensure!(output.stderr.is_empty(), "has warnings: {}", shown(command));
    Ok(())
}

/// The standard output of a command that must succeed.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ensure!(output.status.success(), "failed ({}): {}", output.status, shown(command));
    Ok(output.stdout)
}

/// Like [`run`], but ends the command when it takes longer than `limit`.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Result<Duration> {
    eprintln!("$ {}", shown(command));
    let start = Instant::now();
    match status_within(limit, command)? {
        Some(status) => ensure!(status.success(), "failed ({status}): {}", shown(command)),
        None => bail!("not done after {} s: {}", limit.as_secs(), shown(command)),
    }
    Ok(start.elapsed())
}

/// How the command ended, or `None` if it took longer than `limit` and was ended.
pub(crate) fn status_within(limit: Duration, command: &mut Command) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            kill_tree(child.id());
            child.wait()?;
            return Ok(None);
        }
        // There is no portable wait with a limit.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Ends a process and what it has started: killing cargo alone would leave its tests running.
fn kill_tree(id: u32) {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        kill_tree(child);
    }
}

/// Whether a program can be started at all.
pub(crate) fn exists(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
