//! Running other programs.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
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

/// The command as one would type it, for a shell that is in the root.
pub(crate) fn shown(command: &Command) -> String {
    let elsewhere = command.get_current_dir().filter(|directory| **directory != root());
    let goes = elsewhere.map(|directory| format!("cd {} &&", quoted(&directory.to_string_lossy())));
    let set = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quoted(&word.to_string_lossy()));
    goes.into_iter().chain(set).chain(words).collect::<Vec<_>>().join(" ")
}

/// The command of this program that does the same again, as one would type it.
pub(crate) fn again<I: IntoIterator<Item: AsRef<OsStr>>>(command: &str, arguments: I) -> String {
    shown(Command::new("cargo").args(["xtask", command]).args(arguments))
}

/// A word that a shell takes for what it is.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-+./:=,@%".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// One that no run had before.
pub(crate) fn fresh_seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
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

/// How many tests a `cargo test` would run, whose last arguments are for the tests. A filter that none passes is a check that looks like one.
pub(crate) fn count_tests(command: &mut Command) -> Result<usize> {
    let listed = output(command.arg("--list"))?;
    Ok(String::from_utf8_lossy(&listed).lines().filter(|line| line.ends_with(": test")).count())
}

/// Like [`run`], but ends the command when it takes longer than `limit`.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Result<Duration> {
    eprintln!("$ {}", shown(command));
    let start = Instant::now();
    expect_success(status_within(limit, command)?, limit, command)?;
    Ok(start.elapsed())
}

/// Like [`run_within`], and `hear` is told each line that the command writes to its standard error.
pub(crate) fn run_within_and_hear(
    limit: Duration,
    command: &mut Command,
    mut hear: impl FnMut(&str) + Send,
) -> Result<Duration> {
    eprintln!("$ {}", shown(command));
    let start = Instant::now();
    let program = command.get_program().to_owned();
    let mut child =
        command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start {program:?}"))?;
    let said = BufReader::new(child.stderr.take().expect("a pipe"));
    let status = std::thread::scope(|scope| {
        scope.spawn(|| {
            for line in said.split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                eprintln!("{line}");
                hear(&line);
            }
        });
        wait_within(limit, &mut child)
    })?;
    expect_success(status, limit, command)?;
    Ok(start.elapsed())
}

fn expect_success(status: Option<ExitStatus>, limit: Duration, command: &Command) -> Result<()> {
    match status {
        Some(status) => ensure!(status.success(), "failed ({status}): {}", shown(command)),
        None => bail!("not done after {} s: {}", limit.as_secs(), shown(command)),
    }
    Ok(())
}

/// How the command ended, or `None` if it took longer than `limit` and was ended.
pub(crate) fn status_within(limit: Duration, command: &mut Command) -> Result<Option<ExitStatus>> {
    let mut child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    wait_within(limit, &mut child)
}

fn wait_within(limit: Duration, child: &mut Child) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_command_as_it_was() {
        let words =
            ["plain", "", "two words", "it's", "a\"b\\c", "$HOME", "*", "~", "x;y", "RUSTFLAGS=--cfg a", "ä"];
        let mut print = Command::new("printf");
        print.env("NEZUMI_SHOWN", "--cfg 'it is'").current_dir("/").arg("%s\n").args(words);
        let asked = format!("{} && pwd", shown(&print));
        let said = output(Command::new("sh").args(["-c", &asked])).unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), words.map(|word| format!("{word}\n")).concat() + "/\n");
        let mut show = Command::new("sh");
        show.env("NEZUMI_SHOWN", "--cfg 'it is'").args(["-c", r#"echo "$NEZUMI_SHOWN""#]);
        let said = output(Command::new("sh").args(["-c", &shown(&show)])).unwrap();
        assert_eq!(said, b"--cfg 'it is'\n");
    }
}
