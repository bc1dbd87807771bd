//! The oracle: what has happened to each task.
//!
//! Called by `task`, on whatever thread the runtime polls or drops. One word per task, in a table that is never moved nor freed, so that also what
//! is done twice, or after the end, finds its word and is told from what is right:
//!
//! | event | allowed when | and then |
//! |---|---|---|
//! | poll begins | FUTURE, not POLLING, not COMPLETE, not PANICKED | POLLING, POLLED |
//! | poll ends | POLLING | not POLLING; COMPLETE and OUTPUT if ready; PANICKED if by a panic |
//! | future dropped | FUTURE, not POLLING; COMPLETE, PANICKED or CANCELLABLE | not FUTURE |
//! | output dropped | OUTPUT | not OUTPUT |
//!
//! A task whose future and output are both gone is closed: its word is given to another, under a new generation. At the end of a run nobody may
//! be open. Nothing here allocates or blocks, but for the lists of free words, which are sharded by thread.
//!
//! Test: `what_happens_twice_is_told`.

use crate::seed::{Part, Seed};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FUTURE: u64 = 1;
const POLLED: u64 = 2;
const POLLING: u64 = 4;
const COMPLETE: u64 = 8;
const OUTPUT: u64 = 16;
const PANICKED: u64 = 32;
const CANCELLABLE: u64 = 64;

const GENERATION_SHIFT: u32 = 32;
/// As many may be open at once.
const RECORDS: usize = 1 << 21;
const LISTS: usize = 32;
const NONE: u32 = u32::MAX;

struct Record {
    /// `generation:32 | flags`.
    word: AtomicU64,
    /// Of the next free one, while this one is free.
    next: AtomicU32,
}

#[repr(align(128))]
struct List {
    /// The first free record of this list.
    free: Mutex<u32>,
    opened: AtomicU64,
    polls: AtomicU64,
    closed: AtomicU64,
    /// Clones of wakers that are alive.
    wakers: AtomicI64,
}

static TABLE: [Record; RECORDS] =
    [const { Record { word: AtomicU64::new(0), next: AtomicU32::new(0) } }; RECORDS];
static LISTED: [List; LISTS] = [const {
    List {
        free: Mutex::new(NONE),
        opened: AtomicU64::new(0),
        polls: AtomicU64::new(0),
        closed: AtomicU64::new(0),
        wakers: AtomicI64::new(0),
    }
}; LISTS];
/// Records from here on were never used.
static FRESH: AtomicUsize = AtomicUsize::new(0);
static FAULTS: AtomicUsize = AtomicUsize::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);

/// What is going on.
static PART: Mutex<Option<Part>> = Mutex::new(None);

/// What the run's faults are printed with.
pub(crate) fn begin_run(seed: Seed) {
    SEED.store(seed.0, Ordering::Relaxed);
}

/// The first fault from now on is printed with how to run this part alone.
pub(crate) fn begin_part(part: Part) {
    *PART.lock().unwrap_or_else(PoisonError::into_inner) = Some(part);
}

/// Something is not as it must be. The run goes on, and has failed.
pub(crate) fn fault(what: &str) {
    let seed = Seed(SEED.load(Ordering::Relaxed));
    let before = FAULTS.fetch_add(1, Ordering::Relaxed);
    // The first few say it all.
    if before < 20 {
        eprintln!("FAULT: {what} (seed {seed})");
    }
    let part = *PART.lock().unwrap_or_else(PoisonError::into_inner);
    if let (0, Some(part)) = (before, part) {
        eprintln!("  this part alone: {}", part.again(seed));
    }
}

/// How many faults there were.
pub(crate) fn faults() -> usize {
    FAULTS.load(Ordering::Relaxed)
}

fn here() -> &'static List {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LIST: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let list = LIST.with(|list| {
        if list.get() == usize::MAX {
            list.set(NEXT.fetch_add(1, Ordering::Relaxed) % LISTS);
        }
        list.get()
    });
    &LISTED[list]
}

fn free_list(list: &List) -> MutexGuard<'_, u32> {
    list.free.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Copy, Debug)]
struct Key {
    index: u32,
    generation: u32,
}

/// A task's entry, held by its future.
#[derive(Debug)]
pub(crate) struct Entry(Key);

/// A task's entry, held by its output.
#[derive(Debug)]
pub(crate) struct OutputEntry(Key);

impl Key {
    fn record(self) -> &'static Record {
        &TABLE[self.index as usize]
    }

    /// Changes the flags: `needed` must be set, and `barred` not.
    fn change(self, event: &str, needed: u64, barred: u64, set: u64, clear: u64) -> u64 {
        // AcqRel: a later event of the same task is not to be taken for an earlier one.
        let update = |now| Some((now | set) & !clear);
        let word = &self.record().word;
        let (Ok(before) | Err(before)) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, update);
        if (before >> GENERATION_SHIFT) as u32 != self.generation {
            fault(&format!("{event}, of a task that is closed: {self:?}, now {before:#x}"));
        } else if before & needed != needed || before & barred != 0 {
            fault(&format!("{event}, of {self:?} in state {:#b}", before & u64::from(u32::MAX)));
        }
        (before | set) & !clear
    }

    fn close_if_over(self, now: u64) {
        if now & (FUTURE | OUTPUT) != 0 {
            return;
        }
        let list = here();
        list.closed.fetch_add(1, Ordering::Relaxed);
        let next = u64::from(self.generation.wrapping_add(1)) << GENERATION_SHIFT;
        self.record().word.store(next, Ordering::Release);
        let mut free = free_list(list);
        self.record().next.store(*free, Ordering::Relaxed);
        *free = self.index;
    }
}

fn take_free(list: &List) -> Option<u32> {
    let mut free = free_list(list);
    let index = *free;
    if index == NONE {
        return None;
    }
    *free = TABLE[index as usize].next.load(Ordering::Relaxed);
    Some(index)
}

impl Entry {
    /// A new task. One that is not cancellable must complete, or panic.
    pub(crate) fn open(is_cancellable: bool) -> Self {
        let list = here();
        list.opened.fetch_add(1, Ordering::Relaxed);
        let index = take_free(list)
            // Those that this thread's list lacks may be in another's.
            .or_else(|| LISTED.iter().find_map(take_free))
            .unwrap_or_else(|| FRESH.fetch_add(1, Ordering::Relaxed) as u32);
        assert!((index as usize) < RECORDS, "more tasks at once than the ledger has room for");
        let word = &TABLE[index as usize].word;
        let generation = (word.load(Ordering::Relaxed) >> GENERATION_SHIFT) as u32;
        let cancellable = if is_cancellable { CANCELLABLE } else { 0 };
        word.store((u64::from(generation) << GENERATION_SHIFT) | FUTURE | cancellable, Ordering::Release);
        Entry(Key { index, generation })
    }

    pub(crate) fn poll_begins(&self) {
        here().polls.fetch_add(1, Ordering::Relaxed);
        self.0.change("a poll begins", FUTURE, POLLING | COMPLETE | PANICKED, POLLED | POLLING, 0);
    }

    pub(crate) fn poll_ends(&self, by_panic: bool) {
        let panicked = if by_panic { PANICKED } else { 0 };
        self.0.change("a poll ends", POLLING, 0, panicked, POLLING);
    }

    pub(crate) fn completes(&self) -> OutputEntry {
        self.0.change("a task completes", FUTURE | POLLING, COMPLETE | OUTPUT, COMPLETE | OUTPUT, 0);
        OutputEntry(self.0)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let now = self.0.change("a future is dropped", FUTURE, POLLING, 0, FUTURE);
        if now & (COMPLETE | PANICKED | CANCELLABLE) == 0 {
            fault(&format!(
                "{:?} is dropped, and has not completed: {:#b}",
                self.0,
                now & u64::from(u32::MAX)
            ));
        }
        self.0.close_if_over(now);
    }
}

impl Drop for OutputEntry {
    fn drop(&mut self) {
        let now = self.0.change("an output is dropped", OUTPUT, 0, 0, OUTPUT);
        self.0.close_if_over(now);
    }
}

/// A clone of a waker of ours was made, or dropped.
pub(crate) fn count_waker(by: i64) {
    here().wakers.fetch_add(by, Ordering::Relaxed);
}

/// What all tasks of the process have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) opened: u64,
    pub(crate) closed: u64,
    pub(crate) polls: u64,
    pub(crate) wakers: i64,
}

impl Totals {
    pub(crate) fn now() -> Self {
        // Closed ones first, so that what is open is never less than nothing.
        let closed = LISTED.iter().map(|list| list.closed.load(Ordering::Acquire)).sum();
        Totals {
            closed,
            opened: LISTED.iter().map(|list| list.opened.load(Ordering::Acquire)).sum(),
            polls: LISTED.iter().map(|list| list.polls.load(Ordering::Relaxed)).sum(),
            wakers: LISTED.iter().map(|list| list.wakers.load(Ordering::Relaxed)).sum(),
        }
    }

    pub(crate) fn open(&self) -> u64 {
        self.opened.saturating_sub(self.closed)
    }
}

/// So that what a crowd of so many takes is not counted with what the ledger takes for them.
pub(crate) fn make_room(count: u32) {
    drop((0..count).map(|_| Entry::open(true)).collect::<Vec<_>>());
}

/// Waits until every task is closed and every waker dropped, which is a fault if it does not come to that.
pub(crate) fn expect_all_closed(patience: Duration) {
    let start = Instant::now();
    loop {
        let now = Totals::now();
        if now.open() == 0 && now.wakers == 0 {
            return;
        }
        if start.elapsed() > patience {
            let open: Vec<_> = (0..FRESH.load(Ordering::Relaxed).min(RECORDS))
                .map(|index| TABLE[index].word.load(Ordering::Relaxed) & u64::from(u32::MAX))
                .filter(|flags| flags & (FUTURE | OUTPUT) != 0)
                .take(10)
                .map(|flags| format!("{flags:#b}"))
                .collect();
            return fault(&format!(
                "{} tasks are still open, some in states {open:?}, and {} wakers still there",
                now.open(),
                now.wakers
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Totals, faults};

    /// One test, since all share the count of faults.
    #[test]
    fn what_happens_twice_is_told() {
        let told = |what: fn()| {
            let before = faults();
            what();
            faults() - before
        };
        let whole_life = || {
            let entry = Entry::open(false);
            entry.poll_begins();
            entry.poll_ends(false);
            entry.poll_begins();
            let output = entry.completes();
            entry.poll_ends(false);
            (entry, output)
        };
        assert_eq!(told(|| drop(Entry::open(true))), 0);
        assert_eq!(told(|| drop(Entry::open(false))), 1, "lost");
        let (entry, output) = whole_life();
        drop(output);
        drop(entry);
        let (entry, output) = whole_life();
        drop(entry);
        drop(output);
        assert_eq!((faults(), Totals::now().open()), (1, 0));

        let two_polls_at_once = || {
            let entry = Entry::open(true);
            entry.poll_begins();
            entry.poll_begins();
            entry.poll_ends(false);
        };
        assert_eq!(told(two_polls_at_once), 1);
        let twice_dropped = || {
            let entry = Entry::open(true);
            let same = Entry(entry.0);
            drop(entry);
            drop(same);
        };
        assert!(told(twice_dropped) >= 1);
        let polled_after_the_end = || {
            let entry = Entry::open(true);
            entry.poll_begins();
            drop(entry.completes());
            entry.poll_ends(false);
            entry.poll_begins();
            entry.poll_ends(false);
        };
        assert_eq!(told(polled_after_the_end), 1);
    }
}
