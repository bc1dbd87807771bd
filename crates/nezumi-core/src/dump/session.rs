//! The polls of one dump: each task that is alive is polled once so that it tells where it waits.
//!
//! Called by `make`, which opens a session, waits and closes it, and by `scheduler::observe`, through which all polls of the runtime go while one is open. The
//! tasks are polled where and when the scheduler polls them: a dump wakes those that are idle, and waits for the rest. So nothing is taken out of a
//! queue, no worker is stopped, and a future that is not `Send` stays on its thread.
//!
//! Promise: a task is traced once in a session; polls go on under no lock; with no session open nothing of this is on anybody's way but a flag that is
//! looked at anyway.
//!
//! Tests: `tests/it/dump.rs`.

use super::trace::Trace;
use crate::scheduler::roll::{CurrentPoll, Doing, Present};
use crate::task::{Id, Runnable};
use nezumi_prim::sync::Mutex as Lock;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The dumps of one runtime: one at a time.
pub(crate) struct Dumps {
    /// Held by the thread that makes one.
    pub(super) making: Lock<()>,
    /// Whether there is a session: all that is looked at by polls that others than a dump want to see.
    is_open: AtomicBool,
    session: Lock<Option<Arc<Session>>>,
}

/// The dump that is being made.
pub(super) struct Session {
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

struct Tasks {
    by_id: BTreeMap<Id, Task>,
    /// The roll has not been called yet: whoever is polled may turn out to be on it.
    is_open_to_all: bool,
    /// How many have been settled.
    settled: usize,
}

/// One task, and how far it is.
pub(super) struct Task {
    /// What it was found at first; `None` before the roll is called.
    pub(super) present: Option<Present>,
    /// What it was found at last, in how many looks in a row, and how much processor time the thread of that poll had used at the first of them.
    pub(super) last: Option<Doing>,
    looks: u32,
    cpu: Option<Duration>,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    /// Nothing is known yet.
    Waits,
    /// It was polled, and told where it waits.
    Traced(Trace),
    /// It is in a poll that does not end; of this worker, where that is known.
    InPoll(Option<CurrentPoll>),
    /// It has ended before it told.
    Gone,
}

/// How a thread that is in a poll gets on.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// Processor time it has used in all, where the system says.
    pub(super) cpu: Option<Duration>,
    /// It runs, or would if it had a processor.
    pub(super) is_runnable: bool,
}

/// Looks that find a task in the same poll, before it is taken to stay there; of a poll of which nothing is known, since it is nobody's or two workers have
/// written it down, some more.
const SAME_LOOKS: u32 = 2;
const SAME_LOOKS_OF_NOBODY: u32 = 6;
/// Processor time that a poll which goes on may use meanwhile before that is taken for burning.
const BURNS: Duration = Duration::from_millis(8);

impl Task {
    fn new() -> Self {
        Self { present: None, last: None, looks: 0, cpu: None, outcome: Outcome::Waits }
    }

    /// It is in this poll now. Whether it has been for so long that it is not to be waited for.
    fn stays_in(&mut self, poll: Option<CurrentPoll>, polling: impl Fn(CurrentPoll) -> Pace) -> bool {
        let pace = poll.map(polling);
        let cpu = pace.and_then(|pace| pace.cpu);
        if self.last != Some(Doing::Polled(poll)) || self.looks == 0 {
            (self.looks, self.cpu) = (1, cpu);
            return false;
        }
        self.looks += 1;
        let Some(pace) = pace else { return self.looks >= SAME_LOOKS_OF_NOBODY };
        let is_starved = match (self.cpu, cpu) {
            (Some(then), Some(now)) => pace.is_runnable && now.saturating_sub(then) < BURNS,
            _ => false,
        };
        self.looks >= SAME_LOOKS && !is_starved
    }
}

impl Dumps {
    pub(crate) fn new() -> Self {
        Self { making: Lock::new(()), is_open: AtomicBool::new(false), session: Lock::new(None) }
    }

    pub(super) fn open(&self) -> Arc<Session> {
        let tasks = Tasks { by_id: BTreeMap::new(), is_open_to_all: true, settled: 0 };
        let session = Arc::new(Session { tasks: Mutex::new(tasks), changed: Condvar::new() });
        *self.session.lock() = Some(Arc::clone(&session));
        // Relaxed: who sees it takes the lock; who does not yet only polls untraced.
        self.is_open.store(true, Ordering::Relaxed);
        session
    }

    pub(super) fn close(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        *self.session.lock() = None;
    }

    /// Polls a task, and traces it if a dump is being made that wants it.
    pub(crate) fn poll(&self, id: Id, runnable: Runnable) {
        if !self.is_open.load(Ordering::Relaxed) {
            return runnable.run();
        }
        let session = self.session.lock().clone();
        match session.filter(|session| session.wants(id)) {
            None => runnable.run(),
            Some(session) => {
                // No panic comes out of a poll.
                let ((), trace) = Trace::capture(|| runnable.run());
                session.settle(id, Outcome::Traced(trace));
            }
        }
    }
}

impl Session {
    fn tasks(&self) -> std::sync::MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, id: Id) -> bool {
        let mut tasks = self.tasks();
        let is_open_to_all = tasks.is_open_to_all;
        match tasks.by_id.get(&id) {
            Some(task) => matches!(task.outcome, Outcome::Waits),
            None if is_open_to_all => {
                tasks.by_id.insert(id, Task::new());
                true
            }
            None => false,
        }
    }

    fn settle(&self, id: Id, outcome: Outcome) {
        let mut tasks = self.tasks();
        if let Some(task) = tasks.by_id.get_mut(&id) {
            if matches!(task.outcome, Outcome::Waits | Outcome::InPoll(_)) {
                task.outcome = outcome;
                tasks.settled += 1;
                drop(tasks);
                self.changed.notify_one();
            }
        }
    }

    /// The roll was called: these are wanted, and no others.
    /// If they are not `polled`, those that are in no poll have nothing to tell.
    pub(super) fn expect(&self, present: Vec<Present>, polled: bool) {
        let mut tasks = self.tasks();
        tasks.is_open_to_all = false;
        for present in present {
            let last = Some(present.doing);
            let task = tasks.by_id.entry(present.id);
            let task = task.or_insert(Task::new());
            if !polled && !matches!(present.doing, Doing::Polled(_)) {
                task.outcome = Outcome::Traced(Trace::empty());
            }
            (task.present, task.last) = (Some(present), last);
        }
        // Those that were spawned since, or had been polled for the last time before.
        tasks.by_id.retain(|_, task| task.present.is_some());
        tasks.settled = tasks.by_id.values().filter(|task| !matches!(task.outcome, Outcome::Waits)).count();
    }

    /// The roll was called again. Who is not on it any more is gone; who is in the same poll as before will not tell, unless all that he lacks is a processor.
    pub(super) fn look_again(&self, present: &[Present], polling: impl Fn(CurrentPoll) -> Pace) {
        let now: HashMap<Id, Doing> = present.iter().map(|present| (present.id, present.doing)).collect();
        let mut tasks = self.tasks();
        let mut settled = 0;
        for (id, task) in &mut tasks.by_id {
            if !matches!(task.outcome, Outcome::Waits) {
                continue;
            }
            task.outcome = match now.get(id) {
                None => Outcome::Gone,
                Some(Doing::Polled(poll)) if task.stays_in(*poll, &polling) => Outcome::InPoll(*poll),
                Some(doing) => {
                    task.last = Some(*doing);
                    continue;
                }
            };
            settled += 1;
        }
        tasks.settled += settled;
    }

    /// Waits until something is settled, or the time is over. How many are, and how many there are.
    pub(super) fn wait(&self, time: Duration) -> (usize, usize) {
        let tasks = self.tasks();
        let (before, all) = (tasks.settled, tasks.by_id.len());
        if before >= all {
            return (before, all);
        }
        let is_same = |tasks: &mut Tasks| tasks.settled == before;
        let waited = self.changed.wait_timeout_while(tasks, time, is_same);
        let (tasks, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (tasks.settled, all)
    }

    /// All there is to know. What is told after this is lost.
    pub(super) fn take(&self) -> BTreeMap<Id, Task> {
        std::mem::take(&mut self.tasks().by_id)
    }
}
