//! The models of a package, and what they make of a mutant.

use super::copy::Numbered;
use crate::shell;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A test program, and what its models did without a mutant.
pub(super) struct Models {
    program: PathBuf,
    preemptions: usize,
    models: Vec<Model>,
    /// How many mutants each model has caught so far.
    caught: Mutex<Vec<usize>>,
}

struct Model {
    name: String,
    took: Duration,
    /// The mutants whose sites it passes.
    seen: BTreeSet<u32>,
}

pub(super) enum Fate {
    /// A model failed.
    Caught { model: String, message: String },
    /// No model failed, and this one had no end.
    Endless { model: String },
    /// So many models passed its site, and none failed.
    Survived { models: usize },
}

/// What became of one model.
enum End {
    Passed,
    Failed(String),
    TooLong,
}

/// The longest that a model may take without a mutant.
const LIMIT: Duration = Duration::from_secs(300);

impl Models {
    /// Runs every model of the program as it is, `jobs` at a time. All must pass.
    pub(super) fn try_out(program: PathBuf, preemptions: usize, jobs: usize) -> Result<Self> {
        let listing = Command::new(&program).args(["--list", "--format", "terse"]).output()?;
        let listing = String::from_utf8(listing.stdout)?;
        // Beside the models there are a few plain tests, which loom knows nothing of.
        let names = listing.lines().filter_map(|line| line.strip_suffix(": test"));
        let names: Vec<_> = names.filter(|name| name.contains("model")).collect();
        let mut models = Self { program, preemptions, models: Vec::new(), caught: Mutex::default() };
        let tried = in_parallel(jobs, &names, |name| {
            let seen = models.program.with_file_name(format!("seen-{}", name.replace("::", "-")));
            let _ = fs::remove_file(&seen);
            let start = Instant::now();
            let end = models.run(name, LIMIT, 0, Some(&seen))?;
            ensure!(matches!(end, End::Passed), "{name} fails without any mutation");
            let numbers = fs::read_to_string(&seen).unwrap_or_default();
            let _ = fs::remove_file(&seen);
            let seen = numbers.lines().map(str::parse).collect::<Result<_, _>>()?;
            Ok(Model { name: (*name).to_owned(), took: start.elapsed(), seen })
        })?;
        models.caught = Mutex::new(vec![0; tried.len()]);
        models.models = tried;
        Ok(models)
    }

    pub(super) fn len(&self) -> usize {
        self.models.len()
    }

    /// Runs the models that pass the mutant's site until one fails: those that are good at it first, then those of the structure, then the short
    /// ones.
    pub(super) fn judge(&self, mutant: &Numbered, own: &str) -> Result<Fate> {
        let caught = self.caught.lock().expect("nobody panics with it").clone();
        let mut order: Vec<_> = (0..self.models.len())
            .filter(|&index| self.models[index].seen.contains(&mutant.number))
            .collect();
        order.sort_by_key(|&index| {
            let model = &self.models[index];
            (!model.name.contains(own), std::cmp::Reverse(caught[index]), model.took)
        });
        let mut endless = None;
        for &index in &order {
            let model = &self.models[index];
            match self.run(&model.name, model.took * 10 + Duration::from_secs(20), mutant.number, None)? {
                End::Passed => {}
                End::Failed(message) => {
                    self.caught.lock().expect("nobody panics with it")[index] += 1;
                    return Ok(Fate::Caught { model: model.name.clone(), message });
                }
                End::TooLong => endless = Some(model.name.clone()),
            }
        }
        Ok(match endless {
            Some(model) => Fate::Endless { model },
            None => Fate::Survived { models: order.len() },
        })
    }

    /// Runs one model in a process of its own.
    fn run(&self, name: &str, limit: Duration, live: u32, seen: Option<&Path>) -> Result<End> {
        let log = self.program.with_file_name(format!("log-{live}-{}", name.replace("::", "-")));
        let file = fs::File::create(&log)?;
        let mut model = Command::new(&self.program);
        model
            .args(["--exact", "--nocapture", "--test-threads=1", name])
            .env("LOOM_MAX_PREEMPTIONS", self.preemptions.to_string())
            .env("RUST_BACKTRACE", "0")
            .env("NEZUMI_MUTANT", live.to_string())
            .stdout(Stdio::null())
            .stderr(file);
        if let Some(seen) = seen {
            model.env("NEZUMI_MUTANTS_SEEN", seen);
        }
        let status = shell::status_within(limit, &mut model)?;
        let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        fs::remove_file(&log)?;
        Ok(match status {
            None => End::TooLong,
            Some(status) if status.success() => End::Passed,
            Some(status) => End::Failed(first_panic(&text).unwrap_or_else(|| status.to_string())),
        })
    }
}

/// What the first panic said.
fn first_panic(log: &str) -> Option<String> {
    let mut lines = log.lines().skip_while(|line| !line.contains("panicked at"));
    let place = lines.next()?;
    let message: Vec<_> = lines.map(str::trim).take_while(|line| !line.is_empty()).take(3).collect();
    let message = message.join(" ");
    Some(if message.is_empty() { place.to_owned() } else { message })
}

/// `work` for each item, `jobs` at a time; the results in the order of the items.
pub(super) fn in_parallel<I: Sync, R: Send>(
    jobs: usize,
    items: &[I],
    work: impl Fn(&I) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = work(item);
                    done.lock().expect("nobody panics with it").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics with it");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
