//! The watch: sees that a worker is stuck in one poll, and has others take over what it left behind.
//!
//! Called by `runtime` (start, stop) and by workers that wake. One thread per multi-threaded runtime. It sleeps while all workers sleep; else
//! it looks every millisecond or two, or, with all workers awake and none seen stuck in the last ten seconds, every two to four
//! (`docs/decisions/calm-watch.md`).
//! Workers that are awake beside others look, too, between their polls (`glance`), and at no cost; so the watch is
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
//! `looker` is what the thread does, `report` what it tells the program, `bell` how it is woken and kept out of the program's code; here is how it is
//! started and ended.
//!
//! Code of the program's that runs here, hooks and the wakers of timers, finds itself inside the runtime. It may panic and block. Tests:
//! `tests/it/hostile.rs`, `tests/it/calm.rs`.

mod bell;
mod looker;
mod report;

use crate::runtime::Handle;
use bell::Bell;
use looker::Looker;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The stack of its thread. A hook that writes a backtrace down needs more than the watch itself.
const STACK_BYTES: usize = if cfg!(feature = "taskdump") { 2 * 1024 * 1024 } else { 128 * 1024 };

/// The watch of one runtime.
#[derive(Debug)]
pub(super) struct Watch {
    bell: Arc<Bell>,
    thread: Mutex<Thread>,
    /// Its thread has been started.
    looks: AtomicBool,
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
    pub(super) fn new() -> Self {
        Self { bell: Arc::new(Bell::new()), thread: Mutex::new(Thread::None), looks: AtomicBool::new(false) }
    }

    /// Starts the thread, unless it was started before or is not wanted any more.
    pub(super) fn start(&self, handle: &Handle) -> io::Result<()> {
        // Under shuttle no time passes, and the watch is a step that the program takes itself.
        if !handle.shared().config.watch || cfg!(nezumi_shuttle) {
            return Ok(());
        }
        let mut thread = self.thread.lock();
        if !matches!(*thread, Thread::None) || self.bell.is_stopped() {
            return Ok(());
        }
        let bell = Arc::clone(&self.bell);
        let handle = handle.clone();
        let watch = std::thread::Builder::new().name("nezumi-watch".into()).stack_size(STACK_BYTES).spawn(
            move || {
                // The program's code that runs here would else have run on a worker.
                let _inside = handle.enter();
                Looker::new(&handle, &bell).run();
            },
        )?;
        *thread = Thread::Started(watch);
        self.looks.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether somebody is there who looks: not where the program wants none, or the system refused the thread.
    #[inline]
    pub(super) fn looks(&self) -> bool {
        self.looks.load(Ordering::Relaxed)
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
