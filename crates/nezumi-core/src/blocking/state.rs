//! What the lock guards, and its transitions. Nothing here waits, wakes, or calls user code.

use super::{Duty, Job};
use nezumi_prim::Parker;
use nezumi_prim::sync::Arc;
use nezumi_prim::thread::JoinHandle;
use std::collections::{BTreeMap, VecDeque};

pub(super) struct State<J> {
    /// Jobs that come and go.
    pub(super) queue: VecDeque<(J, Duty)>,
    /// Residents without a thread yet. They go first: a worker is not to wait behind what is blocking.
    residents_waiting: VecDeque<J>,
    /// Asleep, and nobody has sent for them. The last to go to sleep is woken first, so that the others can expire.
    pub(super) idle: Vec<Arc<Parker>>,
    /// Sent for: woken or about to be, created or about to be, and not arrived at the queue yet.
    pub(super) on_the_way: usize,
    /// Counted towards the maximum: from the decision to create one to its decision to end.
    pub(super) threads: usize,
    /// From the decision to create one until it has run its last line of ours.
    pub(super) alive: usize,
    /// Accepted jobs that keep their threads, and have not been run to their end.
    pub(super) residents: usize,
    /// Jobs that are being run, residents not counted.
    running: usize,
    /// Created or being created, and the handle is not filed yet.
    pub(super) unfiled: usize,
    /// Of the threads that exist for certain.
    pub(super) handles: BTreeMap<usize, JoinHandle<()>>,
    /// Threads that ended before their handle was filed.
    ended_early: Vec<usize>,
    /// Of the last thread that ended by itself. The next one, or the shutdown, joins it.
    last_ended: Option<JoinHandle<()>>,
    pub(super) is_shutdown: bool,
    /// Threads for whose end the shutdown does not wait: the one that shuts down, if it is of the pool.
    staying: usize,
    /// After the shutdown began: how many of the jobs in front are run all the same, for they waited only until a thread had arrived.
    spared: usize,
    next_id: usize,
    max_threads: usize,
    max_jobs: usize,
    /// How many may be on the way at once.
    limit: usize,
}

/// Whom to send for, once the lock is released.
#[must_use]
pub(super) enum Rouse {
    Nobody,
    Sleeper(Arc<Parker>),
    /// Create the thread of this number, which has been counted already.
    New(usize),
}

impl<J: Job> State<J> {
    pub(super) fn new(max_threads: usize, max_jobs: usize, limit: usize) -> Self {
        State {
            queue: VecDeque::new(),
            residents_waiting: VecDeque::new(),
            idle: Vec::new(),
            on_the_way: 0,
            threads: 0,
            alive: 0,
            residents: 0,
            running: 0,
            unfiled: 0,
            handles: BTreeMap::new(),
            ended_early: Vec::new(),
            last_ended: None,
            is_shutdown: false,
            staying: 0,
            spared: 0,
            next_id: 0,
            max_threads: max_threads.max(1),
            max_jobs: max_jobs.max(1),
            limit: limit.max(1),
        }
    }

    /// Whether no thread is, or will be, free for a job, although there may be one more.
    pub(super) fn needs_first_thread(&self) -> bool {
        self.handles.len() <= self.residents && self.threads < self.max_threads
    }

    pub(super) fn enqueue(&mut self, job: J, duty: Duty) {
        if job.is_resident() {
            self.residents += 1;
            self.residents_waiting.push_back(job);
        } else {
            self.queue.push_back((job, duty));
        }
    }

    /// Whether a thread that arrived now would find a job that it may run.
    fn has_work(&self) -> bool {
        !self.residents_waiting.is_empty() || (!self.queue.is_empty() && self.running < self.max_jobs)
    }

    pub(super) fn push(&mut self, job: J, duty: Duty) -> Rouse {
        self.enqueue(job, duty);
        self.rouse()
    }

    /// Whom to send for now. To be asked whenever a job comes or an arrival leaves jobs behind.
    pub(super) fn rouse(&mut self) -> Rouse {
        if !self.has_work() || self.on_the_way >= self.limit {
            return Rouse::Nobody;
        }
        match self.rouse_sleeper() {
            Rouse::Nobody if self.threads < self.max_threads => Rouse::New(self.reserve()),
            rouse => rouse,
        }
    }

    fn rouse_sleeper(&mut self) -> Rouse {
        match self.idle.pop() {
            Some(parker) => {
                self.on_the_way += 1;
                Rouse::Sleeper(parker)
            }
            None => Rouse::Nobody,
        }
    }

    /// A thread that was sent for is here: it takes a job next.
    pub(super) fn arrive(&mut self) {
        self.on_the_way -= 1;
    }

    /// The keep-alive of a sleeper ran out. False if somebody has sent for it in the meantime.
    pub(super) fn expire(&mut self, parker: &Arc<Parker>) -> bool {
        // Who has slept longest is at the front.
        match self.idle.iter().position(|other| Arc::ptr_eq(other, parker)) {
            Some(place) => {
                self.idle.remove(place);
                true
            }
            None => false,
        }
    }

    /// Counts a thread that is about to be created, and numbers it.
    pub(super) fn reserve(&mut self) -> usize {
        self.threads += 1;
        self.alive += 1;
        self.on_the_way += 1;
        self.unfiled += 1;
        self.next_id += 1;
        self.next_id
    }

    /// It was not created.
    pub(super) fn cancel_reservation(&mut self) {
        self.threads -= 1;
        self.alive -= 1;
        self.on_the_way -= 1;
        self.unfiled -= 1;
    }

    /// The creation was refused although there are other threads: one of them will have to do.
    pub(super) fn refused(&mut self) -> Rouse {
        self.cancel_reservation();
        if !self.has_work() || self.on_the_way > 0 { Rouse::Nobody } else { self.rouse_sleeper() }
    }

    /// Files the handle of a thread that was created. Returns what is to be joined.
    pub(super) fn file(&mut self, id: usize, handle: JoinHandle<()>) -> Option<JoinHandle<()>> {
        self.unfiled -= 1;
        match self.ended_early.iter().position(|&other| other == id) {
            Some(place) => {
                self.ended_early.swap_remove(place);
                self.last_ended.replace(handle)
            }
            None => {
                self.handles.insert(id, handle);
                None
            }
        }
    }

    /// A thread ends by itself. Returns what it is to join before.
    pub(super) fn leave(&mut self, id: usize) -> Option<JoinHandle<()>> {
        self.threads -= 1;
        if self.is_shutdown {
            // Who shuts down joins all.
            return None;
        }
        match self.handles.remove(&id) {
            Some(handle) => self.last_ended.replace(handle),
            None => {
                self.ended_early.push(id);
                None
            }
        }
    }

    /// Takes the next job for which the thread is free, and says whether it is to be run; else it is to be cancelled.
    pub(super) fn next(&mut self) -> Option<(J, bool)> {
        if let Some(job) = self.residents_waiting.pop_front() {
            return Some((job, true));
        }
        let &(_, duty) = self.queue.front()?;
        let is_run = !self.is_shutdown || self.spared > 0 || duty == Duty::Mandatory;
        if is_run {
            if self.running == self.max_jobs {
                // Whoever ends one of them takes this.
                return None;
            }
            self.running += 1;
        }
        self.spared = self.spared.saturating_sub(1);
        let (job, _) = self.queue.pop_front()?;
        Some((job, is_run))
    }

    /// What `next` gave has been done.
    pub(super) fn done(&mut self, was_resident: bool, was_run: bool) {
        if was_resident {
            self.residents -= 1;
        } else if was_run {
            self.running -= 1;
        }
    }

    /// Returns the sleepers, who are all sent for.
    pub(super) fn begin_shutdown(&mut self, staying: usize) -> Vec<Arc<Parker>> {
        self.is_shutdown = true;
        self.staying = staying;
        // A thread for each job would have come, had not arrivals sent for each other. Whether a job is run must not hang on how soon they
        // did: only those are cancelled for which there are not threads enough.
        self.spared = self.max_jobs - self.running;
        self.on_the_way += self.idle.len();
        std::mem::take(&mut self.idle)
    }

    /// Whether no thread is left but `staying` of them.
    pub(super) fn has_ended(&self, staying: usize) -> bool {
        self.alive <= staying && self.unfiled == 0
    }

    /// Whether the last is gone for whose end a shutdown waits.
    pub(super) fn is_over(&self) -> bool {
        self.is_shutdown && self.has_ended(self.staying)
    }

    /// All handles but that of thread `own`.
    pub(super) fn take_handles(&mut self, own: Option<usize>) -> Vec<JoinHandle<()>> {
        let mut handles = std::mem::take(&mut self.handles);
        if let Some(own) = own {
            handles.remove(&own);
        }
        handles.into_values().chain(self.last_ended.take()).collect()
    }
}
