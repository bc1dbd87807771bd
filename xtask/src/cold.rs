//! What a program pays before it does anything: the same hello world on Tokio as published and on Nezumi, side by side.
//!
//! Its clean build, the size of the binary, and, from inside, how long a runtime takes to start and stop and how soon its first task runs.
//! Build time is processor time, which other programs on the machine disturb little. Times from inside are medians over processes that take
//! turns; within one, the second runtime is measured and not the first, unless it says so.

use crate::shell;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// So many processes of each side.
    #[arg(long, default_value_t = 31)]
    runs: usize,
    /// Leave the builds that are there, and measure no build time.
    #[arg(long)]
    keep: bool,
}

/// Both depend on all of it, as most programs do.
const FEATURES: &str = r#"["full"]"#;
/// A ratio below this fails: what is noise must not.
const LEAST: f64 = 0.95;

/// A hello world that says what its runtime cost, in nanoseconds.
const PROGRAM: &str = r#"use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

fn timed<T>(work: impl FnOnce() -> T) -> (u128, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_nanos(), result)
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn hello(rt: &Runtime) {
    rt.block_on(async { tokio::spawn(async {}).await.unwrap() });
}

fn main() {
    let whole = Instant::now();
    let rt = multi_thread();
    hello(&rt);
    drop(rt);
    let whole = whole.elapsed().as_nanos();

    let (start, rt) = timed(multi_thread);
    let (first, ()) = timed(|| hello(&rt));
    let (stop, ()) = timed(|| drop(rt));

    let (single, ()) = timed(|| {
        let rt = current_thread();
        hello(&rt);
    });
    println!("{whole} {start} {first} {stop} {single}");
}
"#;

const TIMES: [&str; 5] = [
    "hello world in a new process: first runtime, a task, stop",
    "start of a runtime with 2 workers",
    "its first task, spawned and joined",
    "its stop",
    "start, task and stop of a runtime on this thread",
];

struct Side {
    name: &'static str,
    directory: PathBuf,
    /// In seconds of processor time.
    build: f64,
    binary: u64,
    /// In nanoseconds, as `TIMES`.
    times: [Vec<u64>; TIMES.len()],
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let patch =
        format!("\n[patch.crates-io]\ntokio = {{ path = {:?} }}\n", shell::root().join("crates/tokio"));
    let mut sides = [lay("tokio", "")?, lay("nezumi", &patch)?];
    for side in &mut sides {
        side.build(options.keep)?;
    }
    for round in 0..options.runs.max(1) {
        // Who goes first takes turns.
        for turn in 0..2 {
            sides[(round + turn) % 2].start()?;
        }
    }
    let rows = rows(&mut sides, options.keep);
    print!("{}", table(&rows));
    let worse: Vec<_> = rows.iter().filter(|row| row.ratio() < LEAST).map(|row| row.what).collect();
    ensure!(worse.is_empty(), "costs more than on Tokio: {}", worse.join("; "));
    Ok(())
}

fn lay(name: &'static str, patch: &str) -> Result<Side> {
    let directory = shell::target_dir().join("cold").join(name);
    fs::create_dir_all(directory.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"hello\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ntokio = {{ version = \"=1.54.1\", features = {FEATURES} }}\n\n[workspace]\n{patch}"
    );
    fs::write(directory.join("Cargo.toml"), manifest)?;
    fs::write(directory.join("src/main.rs"), PROGRAM)?;
    Ok(Side { name, directory, build: 0.0, binary: 0, times: Default::default() })
}

impl Side {
    fn cargo(&self) -> Command {
        let mut cargo = shell::cargo();
        cargo.current_dir(&self.directory).env("CARGO_TARGET_DIR", self.directory.join("target"));
        cargo
    }

    fn binary_path(&self) -> PathBuf {
        self.directory.join("target/release/hello")
    }

    fn build(&mut self, keep: bool) -> Result<()> {
        if !keep {
            let _ = fs::remove_dir_all(self.directory.join("target"));
        }
        // Nothing of the net is in the build's time.
        shell::run(self.cargo().args(["fetch", "--quiet"]))?;
        let before = processor_time_of_children()?;
        shell::run(self.cargo().args(["build", "--release", "--quiet"]))?;
        self.build = processor_time_of_children()? - before;
        self.binary = size(&self.binary_path())?;
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        let output = shell::output(&mut Command::new(self.binary_path()))?;
        let line = String::from_utf8(output)?;
        let numbers: Vec<u64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .context("the program prints numbers")?;
        ensure!(numbers.len() == TIMES.len(), "{}: not as many times as expected: {line:?}", self.name);
        for (times, ns) in self.times.iter_mut().zip(numbers) {
            times.push(ns);
        }
        Ok(())
    }
}

struct Row {
    what: &'static str,
    unit: &'static str,
    tokio: f64,
    nezumi: f64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.tokio / self.nezumi
    }
}

fn rows(sides: &mut [Side; 2], keep: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let [tokio, nezumi] = sides;
    if !keep {
        let what = "clean build with `full`, release, processor time";
        rows.push(Row { what, unit: "s", tokio: tokio.build, nezumi: nezumi.build });
    }
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let what = "size of the binary, as cargo builds it";
    rows.push(Row { what, unit: "KiB", tokio: kib(tokio.binary), nezumi: kib(nezumi.binary) });
    for (index, what) in TIMES.into_iter().enumerate() {
        let [tokio, nezumi] = [&mut *tokio, &mut *nezumi].map(|side| median(&mut side.times[index]) / 1000.0);
        rows.push(Row { what, unit: "µs", tokio, nezumi });
    }
    rows
}

fn median(times: &mut [u64]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2] as f64
}

fn table(rows: &[Row]) -> String {
    let mut table = String::from("| what | Tokio | Nezumi | ratio |\n|---|---|---|---|\n");
    for row in rows {
        let Row { what, unit, tokio, nezumi } = row;
        let _ = writeln!(table, "| {what} | {tokio:.1} {unit} | {nezumi:.1} {unit} | {:.2} |", row.ratio());
    }
    table
}

fn size(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len())
}

/// Of all programs that this one has waited for, and theirs, in seconds.
fn processor_time_of_children() -> Result<f64> {
    // SAFETY: all zeros are a value of the struct, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        ensure!(
            libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) == 0,
            "getrusage: {}",
            std::io::Error::last_os_error()
        );
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(seconds(usage.ru_utime) + seconds(usage.ru_stime))
}
