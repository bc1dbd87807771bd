//! Fuzz targets under libFuzzer, with AddressSanitizer: `fuzz/`, a workspace of its own.
//!
//! libFuzzer comes with the crate `libfuzzer-sys`, so that nothing needs to be installed but a nightly toolchain and a C++ compiler. Inputs that reach
//! something new are kept in `target/fuzz/corpus`, where the next run begins with them; what fails is kept in `target/fuzz/found`.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// For each target.
    #[arg(long, value_name = "S", default_value_t = 60)]
    seconds: u64,
    /// What an earlier run printed. Which inputs are tried depends on the corpus, too, and that run has added to it: what it found is had again by `--input`.
    #[arg(long)]
    seed: Option<u32>,
    /// Only this input, once: a file that an earlier run has left, whose name begins with that of its target; for another, name the target.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "seconds"])]
    input: Option<PathBuf>,
    /// Only targets whose name contains this.
    #[arg(default_value = "")]
    filter: String,
}

/// As in `fuzz/src/main.rs`.
const TARGETS: &[&str] =
    &["buffered", "pipes", "mpsc", "broadcast", "watch", "semaphore", "timers", "queues"];

/// What cargo-fuzz has the compiler do: counts of edges and comparisons, for libFuzzer to see.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=1 -Zsanitizer=address";

/// One that takes longer has found something.
const SECONDS_OF_AN_INPUT: u64 = 20;
const LIMIT_OF_AN_INPUT: Duration = Duration::from_secs(2 * SECONDS_OF_AN_INPUT);

const LLVM_TARGET: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn run(options: &Options) -> Result<()> {
    let directory = shell::target_dir().join("fuzz");
    let mut build = shell::cargo_nightly();
    build
        .env("RUSTFLAGS", FLAGS)
        .env("CARGO_TARGET_DIR", &directory)
        .args(["build", "--quiet", "--release", "--target", LLVM_TARGET])
        .args(["--manifest-path", "fuzz/Cargo.toml"]);
    shell::run(&mut build)?;
    let program = directory.join(LLVM_TARGET).join("release/nezumi-fuzz");

    if let Some(input) = &options.input {
        let mut fuzz = fuzz(&program, target_of(input, &options.filter)?);
        fuzz.arg(input);
        return shell::run_within(LIMIT_OF_AN_INPUT, &mut fuzz).map(drop);
    }
    let seed = options.seed.unwrap_or_else(|| (shell::fresh_seed() as u32).max(1));
    println!("fuzz: seed {seed}, {} s for each target", options.seconds);
    let (mut count, mut failed) = (0, Vec::new());
    for target in TARGETS.iter().filter(|target| target.contains(&options.filter)) {
        count += 1;
        let corpus = directory.join("corpus").join(target);
        let found = directory.join("found");
        std::fs::create_dir_all(&corpus)?;
        std::fs::create_dir_all(&found)?;
        let mut fuzz = fuzz(&program, target);
        fuzz.arg(format!("-seed={seed}"))
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!("-artifact_prefix={}/{target}-", found.display()))
            .args(["-max_len=512", "-print_final_stats=1", "-verbosity=0"])
            .arg(&corpus);
        let begin = SystemTime::now();
        match shell::run_within(Duration::from_secs(options.seconds + 120), &mut fuzz) {
            Ok(took) => println!("{target}: {:.1} s", took.as_secs_f64()),
            Err(error) => {
                eprintln!("{error:#}");
                for input in left_since(begin, &found, target)? {
                    eprintln!("again: {}", shell::again("fuzz", [OsStr::new("--input"), input.as_os_str()]));
                }
                failed.push(*target);
            }
        }
    }
    ensure!(count > 0, "no target's name contains {}", options.filter);
    ensure!(
        failed.is_empty(),
        "has found something in {}; above stands how to have it again",
        failed.join(", ")
    );
    Ok(())
}

/// What is asked of an input, in a run as in a replay.
fn fuzz(program: &Path, target: &str) -> Command {
    let mut fuzz = Command::new(program);
    fuzz.env("NEZUMI_FUZZ_TARGET", target).arg(format!("-timeout={SECONDS_OF_AN_INPUT}"));
    fuzz
}

/// Whose input it is: that of the target that is named, or else of the one that the file's name begins with.
fn target_of(input: &Path, named: &str) -> Result<&'static str> {
    let name = input.file_name().unwrap_or_default().to_string_lossy();
    let is_it = |target: &&str| match named {
        "" => name.strip_prefix(*target).is_some_and(|rest| rest.starts_with('-')),
        named => *target == named,
    };
    let found = TARGETS.iter().copied().find(is_it);
    found.with_context(|| format!("whose input is {}? Name one of {TARGETS:?}", input.display()))
}

/// The inputs of the target that were written since.
fn left_since(begin: SystemTime, directory: &Path, target: &str) -> Result<Vec<PathBuf>> {
    let mut left = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // A file system may count in seconds.
        let is_new = entry.metadata()?.modified()? + Duration::from_secs(1) >= begin;
        if is_new && target_of(&entry.path(), "").is_ok_and(|of| of == target) {
            left.push(entry.path());
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_tells_its_target() {
        let of = |input: &str, named: &str| target_of(Path::new(input), named).ok();
        assert_eq!(of("target/fuzz/found/queues-crash-0a1b", ""), Some("queues"));
        assert_eq!(of("mpsc-leak-0a1b", "watch"), Some("watch"));
        assert_eq!(of("crash-0a1b", ""), None);
        assert_eq!(of("crash-0a1b", "mp"), None);
    }

    #[test]
    fn every_target_is_one_of_the_program() {
        let source = std::fs::read_to_string(shell::root().join("fuzz/src/main.rs")).unwrap();
        let there = source.matches("::target)").count();
        assert!(TARGETS.iter().all(|target| source.contains(&format!("(\"{target}\", {target}::target)"))));
        assert_eq!(there, TARGETS.len());
    }
}
