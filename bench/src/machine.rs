//! Where, when and of what the figures were taken.

use std::process::Command;

/// Processor, cores and kernel, in one line.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| {
            line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{processor}, {cores} cores, {} {}", std::env::consts::OS, kernel.trim()).trim().to_owned()
}

/// The commit this was built in, with a `+` if the tree was changed since; `unknown` without git.
pub(crate) fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|list| !list.is_empty());
    if changed { commit + "+" } else { commit }
}

/// Today, as `date` says; `unknown` where there is none.
pub(crate) fn date() -> String {
    let output = Command::new("date").args(["-u", "+%F"]).output();
    let date =
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if date.is_empty() { "unknown".to_owned() } else { date }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
