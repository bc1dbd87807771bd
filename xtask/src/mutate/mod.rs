//! Do the models notice when an ordering is weaker than it has to be?
//!
//! In a copy of the sources, one memory ordering at a time is weakened, one fence at a time is left out, and the models of that structure are run
//! under loom. A mutant that no model fails on has *survived*: either a model is missing, or the ordering is stronger than the proof needs, and
//! then `docs/decisions/orderings.md` says why it stays. This command fails on a survivor that is not listed there, and on a line there whose
//! mutant does not survive.
//!
//! `sites` finds the orderings; this file runs them.

mod sites;

use crate::shell;
use anyhow::{Context, Result, bail};
use sites::Mutant;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LIST: &str = "docs/decisions/orderings.md";
/// A model that loops for ever under a mutant has noticed it.
const LIMIT: Duration = Duration::from_secs(300);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only structures whose name contains this.
    structure: Option<String>,
    /// Only print the mutants.
    #[arg(long)]
    list: bool,
    /// Stop when this much time is up, and say what was not reached.
    #[arg(long, value_name = "SECONDS", default_value_t = 4 * 3600)]
    seconds: u64,
}

/// Files whose orderings belong together, and the models that are to notice.
struct Structure {
    name: &'static str,
    package: &'static str,
    models: &'static str,
    files: &'static [&'static str],
}

const fn structure(
    name: &'static str,
    package: &'static str,
    models: &'static str,
    files: &'static [&'static str],
) -> Structure {
    Structure { name, package, models, files }
}

const STRUCTURES: &[Structure] = &[
    structure("parker", "nezumi-prim", "models", &["parker.rs"]),
    structure("ring", "nezumi-queue", "ring::models", &["ring.rs"]),
    structure("shelf", "nezumi-queue", "shelf::models", &["shelf.rs"]),
    structure("relay", "nezumi-queue", "relay::models", &["relay.rs"]),
    structure("inject", "nezumi-queue", "inject::models", &["inject.rs"]),
    structure("atomic-waker", "nezumi-wake", "models", &["atomic_waker.rs"]),
    structure(
        "task",
        "nezumi-core",
        "task::models",
        &["task/state.rs", "task/registry.rs", "task/join_waker.rs"],
    ),
    structure(
        "idle",
        "nezumi-core",
        "scheduler::models",
        &["scheduler/idle.rs", "scheduler/bed.rs", "scheduler/spares.rs"],
    ),
    structure("readiness", "nezumi-core", "driver::models", &["driver/slot.rs", "driver/slots.rs"]),
    structure(
        "timers",
        "nezumi-core",
        "timer::",
        &[
            "timer/lock.rs",
            "timer/entry.rs",
            "timer/node.rs",
            "timer/notes.rs",
            "timer/timers/mod.rs",
            "timer/timers/arm.rs",
        ],
    ),
    structure("semaphore", "nezumi-sync", "semaphore", &["batch_semaphore.rs", "semaphore.rs"]),
    structure("notify", "nezumi-sync", "notify", &["notify.rs", "notify/wait.rs", "notify/notified.rs"]),
    structure(
        "mpsc",
        "nezumi-sync",
        "mpsc",
        &[
            "mpsc/slot.rs",
            "mpsc/chan.rs",
            "mpsc/chain.rs",
            "mpsc/sender.rs",
            "mpsc/unbounded.rs",
            "mpsc/store.rs",
        ],
    ),
    structure("oneshot", "nezumi-sync", "oneshot", &["oneshot/state.rs"]),
    structure("watch", "nezumi-sync", "watch", &["watch/shared.rs", "watch/sender.rs"]),
    structure(
        "broadcast",
        "nezumi-sync",
        "broadcast",
        &["broadcast/slot.rs", "broadcast/sender.rs", "broadcast/receiver.rs"],
    ),
    structure("once", "nezumi-sync", "once", &["once_cell.rs", "set_once.rs"]),
    structure("barrier", "nezumi-sync", "barrier", &["barrier.rs"]),
];

#[derive(PartialEq, Eq)]
enum Fate {
    /// A model failed.
    Killed,
    /// It does not compile, as an ordering that its operation cannot have.
    Refused,
    Survived,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let chosen = STRUCTURES
        .iter()
        .filter(|structure| options.structure.as_deref().is_none_or(|name| structure.name.contains(name)));
    let explained = explained()?;
    let (mut unexplained, mut outdated, mut not_reached) = (Vec::new(), Vec::new(), 0);
    let start = Instant::now();
    let copy = if options.list { shell::root() } else { copy_sources()? };
    for structure in chosen {
        let (mut killed, mut refused, mut survived) = (0, 0, 0);
        if !options.list && !survives(structure, &copy)? {
            bail!("the models of {} fail without any mutation", structure.name);
        }
        for file in structure.files {
            let path = copy.join("crates").join(structure.package).join("src").join(file);
            let source =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            for mutant in sites::mutants(&source) {
                let name = format!("{}: {}", structure.name, mutant.name);
                if options.list {
                    println!("{name} ({file}:{})", mutant.line);
                    continue;
                }
                if start.elapsed().as_secs() > options.seconds {
                    not_reached += 1;
                    continue;
                }
                let fate = try_out(structure, &copy, &path, &source, &mutant)?;
                match fate {
                    Fate::Killed => killed += 1,
                    Fate::Refused => refused += 1,
                    Fate::Survived => survived += 1,
                }
                match (fate == Fate::Survived, explained.contains(&name)) {
                    (true, false) => {
                        println!("SURVIVED  {name} ({file}:{})", mutant.line);
                        unexplained.push(name);
                    }
                    (true, true) => println!("explained {name}"),
                    (false, true) => outdated.push(name),
                    (false, false) => {}
                }
            }
        }
        if !options.list {
            println!("{}: {killed} killed, {survived} survived, {refused} do not compile", structure.name);
        }
    }
    if not_reached > 0 {
        println!("the time is up: {not_reached} mutants were not reached");
    }
    if !unexplained.is_empty() || !outdated.is_empty() {
        bail!(
            "{} survivors are not explained in {LIST}; {} are, and do not survive: {}",
            unexplained.len(),
            outdated.len(),
            outdated.join("; ")
        );
    }
    Ok(())
}

/// The names in the list: what stands in the first code span of an item.
fn explained() -> Result<BTreeSet<String>> {
    let path = shell::root().join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let items = text.lines().filter_map(|line| line.strip_prefix("- `"));
    Ok(items.filter_map(|item| item.split('`').next()).map(str::to_owned).collect())
}

/// Mutants are made in a copy, so that nothing of them is left in the sources when this is interrupted.
fn copy_sources() -> Result<PathBuf> {
    let to = shell::target_dir().join("mutants").join("sources");
    let _ = fs::remove_dir_all(&to);
    fs::create_dir_all(&to)?;
    let listed = shell::output(Command::new("git").arg("-C").arg(shell::root()).args(["ls-files", "-z"]))?;
    for name in String::from_utf8(listed)?.split_terminator('\0') {
        let target = to.join(name);
        fs::create_dir_all(target.parent().expect("a file lies in a directory"))?;
        fs::copy(shell::root().join(name), target).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(to)
}

fn try_out(structure: &Structure, copy: &Path, path: &Path, source: &str, mutant: &Mutant) -> Result<Fate> {
    fs::write(path, &mutant.source)?;
    let fate = if !test(structure, copy).arg("--no-run").status()?.success() {
        Fate::Refused
    } else if survives(structure, copy)? {
        Fate::Survived
    } else {
        Fate::Killed
    };
    fs::write(path, source)?;
    Ok(fate)
}

fn survives(structure: &Structure, copy: &Path) -> Result<bool> {
    let mut test = test(structure, copy);
    test.arg(structure.models);
    let outcome = shell::run_within(LIMIT, &mut test);
    Ok(outcome.is_ok())
}

fn test(structure: &Structure, copy: &Path) -> Command {
    let mut test = shell::cargo();
    test.current_dir(copy)
        .env("RUSTFLAGS", "--cfg nezumi_loom --cap-lints allow")
        .env("CARGO_TARGET_DIR", shell::target_dir().join("mutants").join("build"))
        .env("LOOM_MAX_PREEMPTIONS", "2")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .args(["test", "--quiet", "--release", "--lib", "--package", structure.package]);
    test
}
