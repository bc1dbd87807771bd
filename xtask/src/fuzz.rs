//! Fuzz targets under libFuzzer, with AddressSanitizer: `fuzz/`, a workspace of its own.
//!
//! libFuzzer comes with the crate `libfuzzer-sys`, so that nothing needs to be installed but a nightly toolchain and a C++ compiler. Inputs that reach
//! something new are kept in `target/fuzz/corpus`, where the next run begins with them; what fails is kept in `target/fuzz/found`.

use crate::shell;
use anyhow::{Result, bail, ensure};
use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::time::Duration;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// For each target.
    #[arg(long, value_name = "S", default_value_t = 60)]
    seconds: u64,
    /// What an earlier run printed; with the same corpus it tries the same inputs in the same order.
    #[arg(long)]
    seed: Option<u32>,
    /// Only this input, once: a file that an earlier run has left.
    #[arg(long, value_name = "FILE")]
    input: Option<std::path::PathBuf>,
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

    let seed = options.seed.unwrap_or_else(|| (RandomState::new().hash_one(0) as u32).max(1));
    println!("fuzz: seed {seed}, {} s for each target", options.seconds);
    let (mut count, mut failed) = (0, Vec::new());
    for target in TARGETS.iter().filter(|target| target.contains(&options.filter)) {
        count += 1;
        let corpus = directory.join("corpus").join(target);
        let found = directory.join("found");
        std::fs::create_dir_all(&corpus)?;
        std::fs::create_dir_all(&found)?;
        let mut fuzz = Command::new(&program);
        fuzz.env("NEZUMI_FUZZ_TARGET", target).arg(format!("-seed={seed}"));
        match &options.input {
            Some(input) => fuzz.arg(input),
            None => fuzz
                .arg(format!("-max_total_time={}", options.seconds))
                .arg(format!("-artifact_prefix={}/{target}-", found.display()))
                .args(["-max_len=512", "-timeout=20", "-print_final_stats=1", "-verbosity=0"])
                .arg(&corpus),
        };
        match shell::run_within(Duration::from_secs(options.seconds + 120), &mut fuzz) {
            Ok(took) => println!("{target}: {:.1} s", took.as_secs_f64()),
            Err(error) => {
                eprintln!("{error:#}");
                failed.push(*target);
            }
        }
    }
    ensure!(count > 0, "no target's name contains {}", options.filter);
    if !failed.is_empty() {
        bail!(
            "the input is in target/fuzz/found, for --input: {}; or again with --seed {seed}",
            failed.join(", ")
        );
    }
    Ok(())
}
