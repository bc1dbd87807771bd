//! Do the models notice when an ordering is weaker than it has to be?
//!
//! One memory ordering at a time is weakened, one fence at a time is left out, and the models of the package are run under loom. A mutant that no
//! model fails on has *survived*: either a model is missing, or the ordering is stronger than the proof needs, and then
//! `docs/decisions/orderings.md` says why it stays. This command fails on a survivor that is not listed there, and on a line there whose mutant
//! does not survive, or does not exist.
//!
//! All mutants of a package are in one program, which is built once: in a copy of the sources a switch stands for every ordering, and the
//! environment says which is thrown. What each model passes is noted first, so that a mutant costs only the models that can notice it, until one
//! does.
//!
//! `sites` finds the orderings, `copy` makes the copy, `switch` goes into it, `trial` runs the models; this file tells what came of it.

mod copy;
mod sites;
mod structures;
mod trial;

use crate::shell;
use anyhow::{Context, Result, bail};
use copy::Numbered;
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};
use structures::{STRUCTURES, Structure};
use trial::{Fate, Models, in_parallel};

const LIST: &str = "docs/decisions/orderings.md";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only structures whose name contains this.
    structure: Option<String>,
    /// Only mutants whose name contains this.
    #[arg(long, value_name = "TEXT")]
    mutant: Option<String>,
    /// Only print the mutants.
    #[arg(long)]
    list: bool,
    /// Say of every mutant what became of it, and which model noticed it by what.
    #[arg(long)]
    verbose: bool,
    /// Start no mutant when this much time is up, and say how many were not reached.
    #[arg(long, value_name = "SECONDS", default_value_t = 2 * 3600)]
    seconds: u64,
    /// So many models at a time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    #[arg(long, value_name = "N", default_value_t = 2)]
    preemptions: usize,
}

#[derive(Default)]
struct Count {
    caught: usize,
    endless: usize,
    explained: usize,
    open: usize,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let start = Instant::now();
    let all = copy::mutants()?;
    let is_chosen = |mutant: &&Numbered| {
        let structure = STRUCTURES[mutant.structure].name;
        options.structure.as_deref().is_none_or(|part| structure.contains(part))
            && options.mutant.as_deref().is_none_or(|part| mutant.name.contains(part))
    };
    let chosen: Vec<_> = all.iter().filter(is_chosen).collect();
    if options.list {
        chosen.iter().for_each(|mutant| println!("{} ({})", mutant.name, mutant.place));
        println!("{} mutants", chosen.len());
        return Ok(());
    }
    let explained = explained()?;
    let unknown: Vec<_> = explained.iter().filter(|name| all.iter().all(|one| one.name != **name)).collect();
    if !unknown.is_empty() {
        bail!("{LIST} lists mutants that do not exist: {unknown:?}");
    }
    copy::write()?;
    let deadline = start + Duration::from_secs(options.seconds);
    let (mut unexplained, mut outdated, mut not_reached) = (Vec::new(), Vec::new(), 0);
    let mut models: Option<(&str, Models)> = None;
    for structure in STRUCTURES {
        let chosen: Vec<_> = chosen
            .iter()
            .filter(|mutant| STRUCTURES[mutant.structure].name == structure.name)
            .copied()
            .collect();
        if chosen.is_empty() {
            continue;
        }
        let models = match &mut models {
            Some((package, models)) if *package == structure.package => models,
            other => &mut other.insert((structure.package, prepare(structure.package, options)?)).1,
        };
        let began = Instant::now();
        let fates = in_parallel(options.jobs, &chosen, |mutant| {
            if Instant::now() > deadline {
                return Ok(None);
            }
            let fate = models.judge(mutant, structure.models)?;
            tell(&fate, mutant, explained.contains(&mutant.name), options.verbose);
            Ok(Some(fate))
        })?;
        let mut count = Count::default();
        for (mutant, fate) in chosen.iter().zip(&fates) {
            let is_explained = explained.contains(&mutant.name);
            match fate {
                None => not_reached += 1,
                Some(Fate::Survived { .. }) if is_explained => count.explained += 1,
                Some(Fate::Survived { .. }) => {
                    count.open += 1;
                    unexplained.push(mutant.name.as_str());
                }
                Some(caught) => {
                    count.caught += 1;
                    count.endless += usize::from(matches!(caught, Fate::Endless { .. }));
                    outdated.extend(is_explained.then_some(mutant.name.as_str()));
                }
            }
        }
        tell_count(structure, &count, began.elapsed());
    }
    println!("{:.0} s in all", start.elapsed().as_secs_f64());
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

/// Builds a package's models and runs them without a mutant.
fn prepare(package: &str, options: &Options) -> Result<Models> {
    let start = Instant::now();
    let program = copy::build(package)?;
    let built = start.elapsed();
    let models = Models::try_out(program, options.preemptions, options.jobs)?;
    println!(
        "{package}: built in {:.0} s, {} models pass in {:.0} s",
        built.as_secs_f64(),
        models.len(),
        (start.elapsed() - built).as_secs_f64()
    );
    Ok(models)
}

fn tell(fate: &Fate, mutant: &Numbered, is_explained: bool, is_verbose: bool) {
    let Numbered { name, place, .. } = mutant;
    match fate {
        Fate::Survived { models: 0 } if !is_explained => {
            println!("SURVIVED  {name} ({place}): no model reaches it")
        }
        Fate::Survived { models } if !is_explained => {
            println!("SURVIVED  {name} ({place}): {models} models pass it")
        }
        Fate::Endless { model } => println!("endless   {name} ({place}): {model}"),
        Fate::Survived { models } if is_verbose => {
            println!("explained {name} ({place}): {models} models pass it")
        }
        Fate::Caught { model, message } if is_verbose => {
            println!("caught    {name} ({place}): {model}: {message}")
        }
        _ => {}
    }
}

fn tell_count(structure: &Structure, count: &Count, took: Duration) {
    let Count { caught, endless, explained, open } = count;
    println!(
        "{}: {} mutants, {caught} caught ({endless} of them by having no end), {explained} explained, {open} open, {:.0} s",
        structure.name,
        caught + explained + open,
        took.as_secs_f64()
    );
}

/// The names in the list: what stands in the first code span of an item.
fn explained() -> Result<BTreeSet<String>> {
    let path = shell::root().join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let items = text.lines().filter_map(|line| line.strip_prefix("- `"));
    Ok(items.filter_map(|item| item.split('`').next()).map(str::to_owned).collect())
}
