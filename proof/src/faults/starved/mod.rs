//! A process whose memory ends.
//!
//! Rust's answer to an allocator that returns null is to say so and to abort the process: nothing is unwound, no destructor runs, and none of ours may stand in the way
//! of it. So the work is done in a process of its own, again and again, with another allocation refused each time, and it must end
//!
//! - by SIGABRT, with `memory allocation of N bytes failed` for an N that was refused, and with nothing else said, or
//! - with an error of the kind that says so, where an allocation may fail with one, or
//! - as if nothing had happened, where somebody does without;
//!
//! in any case soon, by no other signal and without a panic. Afterwards the port that it listened to is free, and what it had started is an orphan that ends by
//! itself, as its pipes are closed: `kill_on_drop` kills nobody after an abort.
//!
//! Tests: `an_end_of_another_kind_is_a_fault`, `a_plan_reads_back`.

mod outcome;
mod work;

use super::refusals::limit;
use crate::ledger;
use crate::scarcity::{self, Plan};
use crate::seed::Seed;
use outcome::{Ending, Outcome};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use work::{SCENES, WORKS, Work};

/// What a process exits with whose work was refused with an error.
const REFUSED: i32 = 3;

/// Does the work in this process.
pub(super) fn run_here(name: &str, plan: Plan, seed: Seed) -> bool {
    let Some(work) = WORKS.iter().chain([&SCENES]).find(|work| work.name == name) else {
        ledger::fault("there is no such work");
        return false;
    };
    // Thousands of these end with an abort.
    limit(libc::RLIMIT_CORE, 0);
    scarcity::intend(plan, seed);
    let result = (work.run)(seed);
    let (allocations, most) = scarcity::end();
    println!("done {allocations} {most}");
    match result {
        Ok(()) => ledger::faults() == 0,
        Err(error) => {
            println!("error {:?} {}", error.kind(), error.raw_os_error().unwrap_or(0));
            std::process::exit(REFUSED);
        }
    }
}

/// Does the work in a process of its own, and says how that ended.
pub(super) fn run_apart(work: &str, plan: Plan, seed: Seed) -> bool {
    let ending = outcome::of(work, plan, seed).ending;
    println!("faults: {ending:?}");
    ending.is_ok()
}

/// One in eight of the allocations of each work, by turns alone and with all that come after it.
pub(super) fn some_allocations(seed: Seed) {
    become_reaper();
    let mut sum = Tally::default();
    for work in WORKS {
        let allocations = note(work, seed).allocations;
        let first = 1 + seed.rand().next() % 8;
        let numbers = (first..=allocations).step_by(8).zip([Plan::Nth, Plan::From].into_iter().cycle());
        sum.add(try_all(work, seed, numbers.map(|(number, plan)| plan(number)).collect()));
    }
    println!("  {sum}");
    sum.expect_mostly_aborted();
    reap();
}

/// Each of them: alone, with all that come after it, and, where no other has met a refusal, once more by its site.
pub(super) fn every_allocation(seed: Seed) {
    become_reaper();
    let mut sum = Tally::default();
    let (mut allocations, mut sites, mut met) = (0, 0, 0);
    for work in WORKS {
        let noted = note(work, seed);
        let plans = (1..=noted.allocations).flat_map(|number| [Plan::Nth(number), Plan::From(number)]);
        let mut tally = try_all(work, seed, plans.collect());
        // Threads come in another order each time.
        let left = noted.sites.difference(&tally.sites).map(|&site| Plan::Site(site));
        let left = left.collect();
        tally.add(try_all(work, seed, left));
        allocations += noted.allocations;
        sites += noted.sites.len();
        met += noted.sites.intersection(&tally.sites).count();
        println!(
            "  {}: {} allocations at {} sites; {tally}",
            work.name,
            noted.allocations,
            noted.sites.len()
        );
        sum.add(tally);
    }
    println!(
        "  in all: {allocations} allocations at {sites} sites, of which {met} have met a refusal; {sum}"
    );
    assert!(met * 100 >= sites * 90, "of {sites} sites only {met} have met a refusal");
    sum.expect_mostly_aborted();
    reap();
}

/// One allocation in so many, and all above so many bytes, in each work and in scenes.
pub(super) fn memory_runs_out(seed: Seed) {
    become_reaper();
    let mut sum = Tally::default();
    for work in WORKS.iter().chain([&SCENES]) {
        let noted = note(work, seed);
        let mut rand = seed.rand();
        let mut plans = Vec::new();
        for _ in 0..6 {
            plans.push(Plan::OneIn(rand.between(2, 2 + noted.allocations as u32)));
            plans.push(Plan::Above(noted.most * rand.below(1000) as isize / 1000));
        }
        sum.add(try_all(work, seed, plans));
    }
    println!("  {sum}");
    sum.expect_mostly_aborted();
    reap();
}

/// No more of it than a few KiB, up to what the work needs: the system itself refuses the heap's memory, stacks, and its own.
pub(super) fn the_address_space_runs_out(seed: Seed) {
    become_reaper();
    let mut sum = Tally::default();
    for work in WORKS {
        let mut rand = seed.rand();
        let any = (0..12).map(|step| step * step * 512 + rand.below(512)).collect::<Vec<_>>();
        // Room for a stack, which has 2 MiB, and for a part only of what a thread needs beside it.
        let first_thread = (0..4).map(|_| 2048 + rand.below(200));
        let plans = any.into_iter().chain(first_thread).map(|kib| Plan::Space(kib.into())).collect();
        sum.add(try_all(work, seed, plans));
    }
    println!("  {sum}");
    assert!(sum.refused > 0, "no thread was refused");
    assert!(sum.finished > 0, "nothing was left to work with");
    reap();
}

struct Noted {
    allocations: u64,
    most: isize,
    sites: BTreeSet<u64>,
}

/// What the work needs when nothing is refused.
fn note(work: &Work, seed: Seed) -> Noted {
    let outcome = outcome::of(work.name, Plan::None, seed);
    assert_eq!(outcome.ending, Ok(Ending::Finished), "{} without a refusal", work.name);
    Noted { allocations: outcome.allocations, most: outcome.most, sites: outcome.sites }
}

/// How many processes ended in which way.
#[derive(Default)]
struct Tally {
    processes: usize,
    aborted: usize,
    refused: usize,
    finished: usize,
    /// Of those that finished: they were refused nothing.
    untouched: usize,
    slowest: Duration,
    /// Of what was refused.
    sites: BTreeSet<u64>,
}

impl Tally {
    fn count(&mut self, outcome: Outcome, took: Duration) {
        self.processes += 1;
        match outcome.ending {
            Ok(Ending::Aborted) => self.aborted += 1,
            Ok(Ending::Refused) => self.refused += 1,
            Ok(Ending::Finished) => {
                self.finished += 1;
                self.untouched += usize::from(outcome.sites.is_empty());
            }
            Err(_) => {}
        }
        self.slowest = self.slowest.max(took);
        self.sites.extend(outcome.sites);
    }

    fn expect_mostly_aborted(&self) {
        assert!(self.aborted > self.processes / 2, "hardly anything was refused");
    }

    fn add(&mut self, other: Tally) {
        self.processes += other.processes;
        self.aborted += other.aborted;
        self.refused += other.refused;
        self.finished += other.finished;
        self.untouched += other.untouched;
        self.slowest = self.slowest.max(other.slowest);
        self.sites.extend(other.sites);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} processes: {} aborted, {} had an error, {} finished, {} of them without a refusal; at most {:.0} ms",
            self.processes,
            self.aborted,
            self.refused,
            self.finished,
            self.untouched,
            self.slowest.as_secs_f64() * 1e3
        )
    }
}

/// Two at a time.
fn try_all(work: &Work, seed: Seed, plans: Vec<Plan>) -> Tally {
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let try_some = || {
        while let Some(&plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = Instant::now();
            let outcome = outcome::of(work.name, plan, seed);
            if let Err(why) = &outcome.ending {
                ledger::fault(&format!(
                    "{why}; again: cargo xtask faults --judged --starve {} --plan {plan} --seed {seed}",
                    work.name
                ));
            }
            tally.lock().unwrap().count(outcome, begin.elapsed());
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(try_some);
        scope.spawn(try_some);
    });
    tally.into_inner().unwrap()
}

/// Whose parents end is from now on a child of this process.
fn become_reaper() {
    // SAFETY: no conditions.
    unsafe { assert_eq!(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1), 0) };
}

/// All of them end.
fn reap() {
    let deadline = Instant::now() + Duration::from_secs(20);
    let (mut ended, mut killed) = (0, 0);
    loop {
        let mut status = 0;
        // SAFETY: `status` is ours; there is no other child that somebody else would wait for.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            -1 => break,
            0 => std::thread::sleep(Duration::from_millis(5)),
            _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL => killed += 1,
            _ => ended += 1,
        }
        assert!(Instant::now() < deadline, "an orphan does not end");
    }
    println!("  {ended} orphans have ended by themselves, {killed} were killed before");
}
