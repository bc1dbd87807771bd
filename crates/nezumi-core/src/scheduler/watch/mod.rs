//! The watch: sees that a worker is stuck in one poll, and has others take over what it left behind.
//!
//! Called by `runtime` (start, stop) and by workers that wake. One thread per multi-threaded runtime. It sleeps while all workers sleep; else
//! it looks every millisecond or two. Workers that are awake beside others look, too, between their polls (`glance`), and at no cost; so the watch is
//! for what they cannot see, and for what takes a thread of its own: when all are stuck, when the only one that is awake is, and for spares.
//!
//! It takes a worker for stuck that is awake and was seen in the same poll a millisecond ago, by itself or by a worker. Then
//! - its ring, the hot tail included, is opened to thieves, and a sleeper is woken to rob it;
//! - its timers that are due are fired from here;
//! - the driver, if nobody has turned it since the last look, gets a sleeper, or is turned from here if there is none;
//! - when nobody sleeps and the worker is still stuck at the next look, a spare worker is begun (`spares`): one for each worker that sleeps in its
//!   poll, since a processor is then free for it; for workers that burn theirs, only when all of them do, and no more than half as many, so
//!   that what is waiting shares the processors with them. Spares that are more than the stuck workers for a while are sent away.
//!
//! Promise: work behind a stuck worker waits no longer than two looks while another worker sleeps or is between polls; an idle runtime makes no wakeups.
//!
//! ```text
//! worker that would sit       watch that held the seat
//! S1 set my bit    (SeqCst)   H1 let the seat go
//! S2 fence(SeqCst)            H2 fence(SeqCst)
//! S3 try the seat             H3 any bit set? wake one
//! ```
//!
//! If H2 is first, S3 finds the seat free; if S2 is first, H3 sees the bit. Model: `nobody_sleeps_beside_an_empty_seat`.
//!
//! A runtime that is soon gone again needs no watch, so its thread is started by a worker that wakes when the runtime is `START_AFTER` old, or at once if
//! no other worker sleeps. Until then each sleeps no longer than to that moment. So where one has not started it, another will, which still sleeps then.
//!
//! `looker` is what the thread does, `report` what it tells the program, `bell` how it is woken and kept out of the program's code; here is how it is
//! started and ended.
//!
//! Code of the program's that runs here, hooks and the wakers of timers, finds itself inside the runtime. It may panic and block. Tests:
//! `tests/it/hostile.rs`; of the start, the model `of_workers_that_wake_one_starts_the_watch`, and `tests/it/spares.rs`:
//! `workers_that_block_in_their_first_poll_are_stood_in_for`, `a_runtime_without_tasks_has_a_watch_in_the_end`.

mod bell;
mod looker;
mod report;

use super::idle::loom_fence;
use crate::runtime::Handle;
use bell::Bell;
use looker::Looker;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The stack of its thread. A hook that writes a backtrace down needs more than the watch itself.
const STACK_BYTES: usize = if cfg!(feature = "taskdump") { 2 * 1024 * 1024 } else { 128 * 1024 };

/// How old a runtime is at the most before it has a watch.
const START_AFTER: Duration = Duration::from_millis(4);

/// There is no thread yet.
const MISSING: u8 = 0;
/// Its thread has been started.
const LOOKS: u8 = 1;
/// There will be none: the program wants none, or the system refuses the thread.
const NONE: u8 = 2;

/// The watch of one runtime.
#[derive(Debug)]
pub(super) struct Watch {
    bell: Arc<Bell>,
    thread: Mutex<Thread>,
    state: AtomicU8,
}

#[derive(Debug)]
enum Thread {
    /// Not started, or refused by the system.
    None,
    Started(JoinHandle<()>),
    /// Joined, or left to itself.
    Gone,
}

impl Watch {
    pub(super) fn new(wanted: bool) -> Self {
        // Under shuttle no time passes, and the watch is a step that the program takes itself.
        let state = if wanted && !cfg!(nezumi_shuttle) { MISSING } else { NONE };
        Self { bell: Arc::new(Bell::new()), thread: Mutex::new(Thread::None), state: AtomicU8::new(state) }
    }

    /// Starts the thread, unless it was started before or is not wanted any more. Where the system refuses it, the runtime does without.
    #[cold]
    pub(super) fn start(&self, handle: &Handle) {
        let mut thread = self.thread.lock();
        if !self.is_missing() || !matches!(*thread, Thread::None) || self.bell.is_stopped() {
            return;
        }
        let bell = Arc::clone(&self.bell);
        let handle = handle.clone();
        let watch = std::thread::Builder::new().name("nezumi-watch".into()).stack_size(STACK_BYTES).spawn(
            move || {
                // The program's code that runs here would else have run on a worker.
                let _inside = handle.enter();
                Looker::new(&handle, &bell).run();
            },
        );
        let state = match watch {
            Ok(watch) => {
                *thread = Thread::Started(watch);
                LOOKS
            }
            Err(_) => NONE,
        };
        self.state.store(state, Ordering::Relaxed);
    }

    /// Whether somebody is there who looks.
    pub(super) fn looks(&self) -> bool {
        self.state.load(Ordering::Relaxed) == LOOKS
    }

    /// Whether somebody looks, or soon will: not where the program wants none, or the system refused the thread.
    #[inline]
    pub(super) fn looks_or_will(&self) -> bool {
        self.state.load(Ordering::Relaxed) != NONE
    }

    /// Whether its thread has still to be started.
    #[inline]
    pub(super) fn is_missing(&self) -> bool {
        self.state.load(Ordering::Relaxed) == MISSING
    }

    /// How long a worker of a runtime of this age may sleep, so that it is there to start the watch. `None`: as long as it likes.
    #[inline]
    pub(super) fn longest_sleep(&self, age: impl FnOnce() -> Duration) -> Option<Duration> {
        self.is_missing().then(|| START_AFTER.saturating_sub(age()))
    }

    /// Has the thread end. A spare that it would begin after that finds the pool closed.
    pub(super) fn stop(&self) {
        self.bell.stop();
    }

    /// Waits for the thread to end, which was told to: nothing of ours blocks there. For code of the program's it waits only if `patient`.
    pub(super) fn join(&self, patient: bool) {
        let may_block = self.bell.is_in_program();
        let thread = std::mem::replace(&mut *self.thread.lock(), Thread::Gone);
        if let Thread::Started(thread) = thread {
            if thread.thread().id() != std::thread::current().id() && (patient || !may_block) {
                let _ = thread.join();
            }
        }
    }

    /// Whether a worker that is awake again, and counts as such, has to start the thread. `others_sleep`: some other does.
    ///
    /// ```text
    /// worker                      another
    /// K1 clear my bit  (SeqCst)   K1 clear my bit  (SeqCst)
    /// K2 any bit set?  (SeqCst)   K2 any bit set?  (SeqCst)   if none, start it
    /// ```
    ///
    /// Of two, the one whose K1 comes later sees the other awake. Who stays asleep has a limit to that, or found the thread started.
    #[inline]
    pub(super) fn is_due(&self, age: impl FnOnce() -> Duration, others_sleep: impl FnOnce() -> bool) -> bool {
        if !self.is_missing() {
            return false;
        }
        loom_fence();
        !others_sleep() || age() >= START_AFTER
    }

    /// A worker is awake, or about to be.
    #[inline]
    pub(super) fn worker_woke(&self) {
        self.bell.worker_woke();
    }

    /// Whether it sleeps until a worker wakes.
    pub(super) fn is_asleep(&self) -> bool {
        self.bell.is_asleep()
    }

    /// A sleeper was claimed and will be woken.
    #[inline]
    pub(super) fn work_appeared(&self) {
        self.worker_woke();
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::Watch;
    use crate::scheduler::idle::Idle;
    use loom::thread;
    use nezumi_prim::sync::Arc;
    use std::time::Duration;

    #[test]
    fn of_workers_that_wake_one_starts_the_watch() {
        loom::model(|| {
            let (idle, watch) = (Arc::new(Idle::new(2, 0)), Arc::new(Watch::new(true)));
            let wake = |worker: usize| {
                let (idle, watch) = (idle.clone(), watch.clone());
                idle.fall_asleep(worker, false);
                // As `park`.
                move || {
                    idle.wake_up(worker);
                    watch.is_due(|| Duration::ZERO, || idle.any_sleeping())
                }
            };
            let (first, second) = (wake(0), wake(1));
            let other = thread::spawn(second);
            let starts = first();
            assert!(other.join().unwrap() || starts, "both are awake, and nobody has a watch");
        });
    }
}
