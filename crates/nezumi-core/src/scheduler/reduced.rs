//! A runtime reduced to what the protocol of `idle` is about. Of the models, and of tests on real threads.

use super::bed::Bed;
use super::idle::Idle;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Where no checker reports the deadlock that a lost wake is.
const LONG: Option<Duration> =
    if cfg!(any(nezumi_loom, miri)) { None } else { Some(Duration::from_secs(20)) };

/// A number of queued tasks, beds, and the idle words.
pub(super) struct Reduced {
    pub(super) idle: Idle,
    pub(super) beds: Vec<Bed>,
    pub(super) queued: AtomicUsize,
    done: AtomicUsize,
    total: usize,
    over: AtomicBool,
}

impl Reduced {
    /// It is over when `total` tasks are done.
    pub(super) fn new(workers: usize, total: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(workers, 0),
            beds: (0..workers).map(|_| Bed::new()).collect(),
            queued: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            total,
            over: AtomicBool::new(false),
        })
    }

    pub(super) fn push(&self) {
        self.queued.fetch_add(1, Ordering::SeqCst);
        self.notify();
    }

    pub(super) fn notify(&self) {
        if let Some(worker) = self.idle.claim(|| None) {
            self.beds[worker].wake(None);
        }
    }

    fn take(&self) -> bool {
        self.queued.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |queued| queued.checked_sub(1)).is_ok()
    }

    /// What `worker::step` and `park` do, without the tasks.
    pub(super) fn work(&self, worker: usize) {
        let mut searching = false;
        while !self.over.load(Ordering::SeqCst) {
            if !searching && self.queued.load(Ordering::SeqCst) == 0 {
                searching = self.idle.start_searching();
            }
            if self.take() {
                if std::mem::take(&mut searching)
                    && self.idle.stop_searching()
                    && self.queued.load(Ordering::SeqCst) > 0
                {
                    self.notify();
                }
                if self.done.fetch_add(1, Ordering::SeqCst) + 1 == self.total {
                    self.over.store(true, Ordering::SeqCst);
                    self.beds.iter().for_each(|bed| bed.wake(None));
                }
                continue;
            }
            self.idle.fall_asleep(worker, std::mem::take(&mut searching));
            if self.queued.load(Ordering::SeqCst) == 0 && !self.over.load(Ordering::SeqCst) {
                self.beds[worker].sleep_on_parker_then(LONG, || panic!("a push was slept through"));
            }
            searching = self.idle.wake_up(worker);
        }
        if searching {
            let _ = self.idle.stop_searching();
        }
    }
}
