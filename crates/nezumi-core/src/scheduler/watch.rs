//! The watch: sees that a worker is stuck in one poll, and has others take over what it left behind.
//!
//! Called by `runtime` (start, stop) and by workers that wake. One thread per multi-threaded runtime. It sleeps while all workers sleep; else
//! it looks every 2 ms while some worker is awake, less often while it keeps finding all of them asleep.
//!
//! It takes a worker for stuck that is awake and has begun no poll since the last look. Then
//! - its ring, the hot tail included, is opened to thieves, and a sleeper is woken to rob it;
//! - its timers that are due are fired from here;
//! - the driver, if nobody has turned it since the last look, gets a sleeper, or is turned from here if there is none.
//!
//! When nobody sleeps, nobody can take over: a place for spare workers, which would be started here.
//!
//! Promise: work behind a stuck worker waits no longer than two looks while another worker sleeps; an idle runtime makes no wakeups.
//!
//! ```text
//! worker that wakes           watch that goes to sleep
//! W1 clear my bit  (SeqCst)   V1 asleep = true     (SeqCst)
//! W2 asleep? wake  (SeqCst)   V2 all bits set?     (SeqCst)   if not, stay awake
//!
//! worker that would sit       watch that held the seat
//! S1 set my bit    (SeqCst)   H1 let the seat go
//! S2 fence(SeqCst)            H2 fence(SeqCst)
//! S3 try the seat             H3 any bit set? wake one
//! ```
//!
//! If H2 is first, S3 finds the seat free; if S2 is first, H3 sees the bit. Model: `nobody_sleeps_beside_an_empty_seat`.

use super::shared::Shared;
use crate::runtime::Handle;
use crate::timer::NEVER;
use nezumi_prim::Parker;
use nezumi_prim::sync::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks while some worker is awake.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The same for the first looks after all were asleep: what has just begun is what may get stuck.
const LOOK_CLOSELY_EVERY: Duration = Duration::from_millis(1);
/// How many looks are close ones.
const CLOSE_LOOKS: u32 = 4;
/// Between two looks after one that found all workers asleep.
const LOOK_QUIETLY_EVERY: Duration = Duration::from_millis(3);
/// Looks in a row that find all asleep before the watch sleeps, too.
const QUIET_LOOKS: u32 = 16;

/// The watch of one runtime.
#[derive(Debug)]
pub(super) struct Watch {
    bell: Arc<Bell>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// By which the watch is woken. Apart from the runtime's shared part, which the thread must not keep alive while it sleeps.
#[derive(Debug)]
struct Bell {
    parker: Parker,
    asleep: AtomicBool,
    stop: AtomicBool,
}

impl Watch {
    pub(super) fn new() -> Self {
        let bell =
            Bell { parker: Parker::new(), asleep: AtomicBool::new(false), stop: AtomicBool::new(false) };
        Self { bell: Arc::new(bell), thread: Mutex::new(None) }
    }

    /// Starts the thread.
    pub(super) fn start(&self, handle: &Handle) -> io::Result<()> {
        if !handle.shared().config.watch {
            return Ok(());
        }
        let bell = Arc::clone(&self.bell);
        let handle = handle.clone();
        let thread = std::thread::Builder::new().name("nezumi-watch".into()).stack_size(128 * 1024).spawn(
            move || {
                Looker::new(handle.shared()).run(&bell);
            },
        )?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Ends the thread, and waits for that: it is never in a place where it could block.
    pub(super) fn stop(&self) {
        self.bell.stop.store(true, Ordering::SeqCst);
        self.bell.parker.unpark();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }

    /// W2: a worker is awake, or about to be.
    #[inline]
    pub(super) fn worker_woke(&self) {
        if self.bell.asleep.load(Ordering::SeqCst) && self.bell.asleep.swap(false, Ordering::SeqCst) {
            self.bell.parker.unpark();
        }
    }

    /// A sleeper was claimed and will be woken.
    #[inline]
    pub(super) fn work_appeared(&self) {
        self.worker_woke();
    }
}

/// What the watch remembers from look to look.
struct Looker<'a> {
    shared: &'a Shared,
    /// The polls that each worker had begun.
    begun: Vec<u64>,
    turns: u64,
}

impl<'a> Looker<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, begun: vec![u64::MAX; shared.workers()], turns: u64::MAX }
    }

    fn run(&mut self, bell: &Bell) {
        let (mut quiet, mut busy) = (0, 0);
        while !bell.stop.load(Ordering::SeqCst) {
            if self.shared.idle.all_sleeping() {
                quiet += 1;
                busy = 0;
                if quiet >= QUIET_LOOKS {
                    self.sleep(bell);
                    quiet = 0;
                    continue;
                }
                bell.parker.park_timeout(LOOK_QUIETLY_EVERY);
            } else {
                quiet = 0;
                busy = (busy + 1).min(CLOSE_LOOKS);
                self.look();
                bell.parker.park_timeout(if busy < CLOSE_LOOKS { LOOK_CLOSELY_EVERY } else { LOOK_EVERY });
            }
        }
    }

    fn sleep(&self, bell: &Bell) {
        bell.asleep.store(true, Ordering::SeqCst);
        if self.shared.idle.all_sleeping() && !bell.stop.load(Ordering::SeqCst) {
            bell.parker.park();
        }
        bell.asleep.store(false, Ordering::SeqCst);
    }

    fn look(&mut self) {
        let mut stuck_somewhere = false;
        for (index, shard) in self.shared.worker_shards().enumerate() {
            let begun = shard.polls_begun.load(Ordering::Relaxed);
            let before = std::mem::replace(&mut self.begun[index], begun);
            let stuck = begun == before && !self.shared.idle.is_sleeping(index);
            if shard.stuck.load(Ordering::Relaxed) != stuck {
                shard.stuck.store(stuck, Ordering::Relaxed);
            }
            if !stuck {
                continue;
            }
            stuck_somewhere = true;
            self.fire_timers(index);
            if shard.has_stealable() {
                self.shared.notify();
            }
        }
        self.attend_driver(stuck_somewhere);
    }

    /// Fires what is due of a stuck worker's timers. The wakes go to the inject queue.
    fn fire_timers(&self, index: usize) {
        let timers = &self.shared.shard(index).timers;
        if timers.next_deadline_ms() != NEVER {
            timers.advance(self.shared.clock.now_ms());
        }
    }

    /// Nobody has turned the driver since the last look, and nobody sits in it: have a sleeper do that, or else do it here.
    fn attend_driver(&mut self, stuck_somewhere: bool) {
        let turns = self.shared.driver_turns.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.turns, turns) != turns {
            return;
        }
        let Some(handle) = &self.shared.driver else { return };
        let Some(mut seat) = self.shared.driver_seat.try_lock() else { return };
        if let (Some(driver), true, false) = (&mut *seat, stuck_somewhere, self.shared.idle.any_sleeping()) {
            driver.turn(handle, Some(Duration::ZERO), self.shared.config.events_per_busy_turn);
        }
        drop(seat);
        // SeqCst: pairs with the fence in `Worker::sleep`. Either that worker finds the seat free, or its bit is seen here.
        fence(Ordering::SeqCst);
        // Asked only now: a worker that fell asleep while the seat was ours found it taken, and sleeps beside it. Whoever is woken
        // finds nothing to run, and then goes to sleep in the driver.
        if self.shared.idle.any_sleeping() {
            self.shared.notify();
        }
    }
}
