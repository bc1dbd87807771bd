//! What a worker is doing, for the watch to see.
//!
//! Called by `worker` (two plain stores for each poll), `observe` (which task it is, where somebody wants to know), `watch` and `dump` (read). All on
//! one line, which only the worker writes.
//!
//! Promise: `task_of` names the task of the poll that it is asked about, or nothing. The worker writes the number of the poll first and its task
//! after; the watch reads the task and then the number again. It asks only of a poll whose number was seen twice, a good part of a
//! millisecond apart, by when the stores that follow that of the number have arrived. Test: `the_task_of_a_poll_that_is_over_is_not_told`.

use crate::task::Id;
use std::num::NonZeroU64;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64, Ordering, fence};
use std::time::Duration;

/// No clock is known.
const NO_CLOCK: i64 = i64::MIN;

/// The current poll of one worker.
#[derive(Debug)]
pub(crate) struct Polling {
    /// How many polls the worker has begun. The same number twice, awake, means one long poll.
    begun: AtomicU64,
    /// The task of the last one; 0 as long as there was none.
    id: AtomicU64,
    spawned_at: AtomicPtr<Location<'static>>,
    /// Where that task is, or was: an address, for comparison.
    running: AtomicPtr<()>,
    /// An address in a frame of the worker's thread that is further out than all polls.
    outermost: AtomicPtr<()>,
    /// The clock of the worker's thread, by which the system tells how much processor time it has used.
    clock: AtomicI64,
    /// The system's number for that thread; 0 where it has none that helps.
    thread: AtomicI32,
    /// A thread is the worker: it has begun, and has not given it up.
    is_driven: AtomicBool,
}

impl Polling {
    pub(super) fn new() -> Self {
        Self {
            begun: AtomicU64::new(0),
            id: AtomicU64::new(0),
            spawned_at: AtomicPtr::new(ptr::null_mut()),
            running: AtomicPtr::new(ptr::null_mut()),
            outermost: AtomicPtr::new(ptr::null_mut()),
            clock: AtomicI64::new(NO_CLOCK),
            thread: AtomicI32::new(0),
            is_driven: AtomicBool::new(false),
        }
    }

    /// The worker is about to poll a task.
    #[inline(always)]
    pub(super) fn begin(&self) {
        self.begun.store(self.begun.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// It is this one. Told only where the program wants to hear of stuck tasks.
    pub(super) fn is_of(&self, id: Id, spawned_at: &'static Location<'static>) {
        // Release: pairs with the fence in `task_of`. Who sees this task sees the number of its poll, or a later one.
        self.id.store(id.0.get(), Ordering::Release);
        self.spawned_at.store(ptr::from_ref(spawned_at).cast_mut(), Ordering::Release);
    }

    /// The task of the current poll, or of the last, by its address. Only the worker writes it.
    #[inline(always)]
    pub(crate) fn running(&self) -> *const () {
        self.running.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn runs(&self, task: *const ()) {
        self.running.store(task.cast_mut(), Ordering::Relaxed);
    }

    /// All polls of the worker will have their frames further in than this address of the thread's stack.
    pub(super) fn polls_within<T>(&self, frame: &T) {
        self.outermost.store(ptr::from_ref(frame).cast_mut().cast(), Ordering::Relaxed);
    }

    /// The system's number of the worker's thread, where there is one, and how far out its polls may reach on that thread's stack.
    // Asked only where threads can be asked for it (`dump::native`).
    #[allow(dead_code)]
    pub(crate) fn stack(&self) -> Option<(i32, *const ())> {
        let thread = self.thread.load(Ordering::Relaxed);
        (self.is_driven() && thread != 0)
            .then(|| (thread, self.outermost.load(Ordering::Relaxed).cast_const()))
    }

    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// The task of the poll with this number, if that is the current one, or the last.
    pub(super) fn task_of(&self, begun: u64) -> Option<(Id, &'static Location<'static>)> {
        let id = NonZeroU64::new(self.id.load(Ordering::Relaxed))?;
        let spawned_at = self.spawned_at.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        if self.begun() != begun || spawned_at.is_null() {
            return None;
        }
        // SAFETY: it came from a reference that is valid for ever.
        Some((Id(id), unsafe { &*spawned_at }))
    }

    /// This thread is the worker from now on.
    pub(super) fn is_here(&self) {
        self.clock.store(own_clock().unwrap_or(NO_CLOCK), Ordering::Relaxed);
        self.thread.store(own_number(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `is_driven`, so that the clock which is then read is that of this thread.
        self.is_driven.store(true, Ordering::Release);
    }

    /// This thread is the worker no more; the next one may be on its way.
    pub(super) fn is_left(&self) {
        self.is_driven.store(false, Ordering::Relaxed);
        // Whoever is it next has not polled that task.
        self.runs(ptr::null());
    }

    /// Whether a thread is the worker. One that is on its way to be is late at most, not stuck.
    pub(crate) fn is_driven(&self) -> bool {
        self.is_driven.load(Ordering::Acquire)
    }

    /// Whether the worker's thread runs at this moment, or would if another did not have its processor. `true` where the system does not say.
    pub(crate) fn is_runnable(&self) -> bool {
        is_runnable(self.thread.load(Ordering::Relaxed))
    }

    /// How much processor time the worker's thread has used; `None` where the system does not say, or the thread has ended.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        match self.clock.load(Ordering::Relaxed) {
            NO_CLOCK => None,
            clock => read(clock),
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn own_clock() -> Option<i64> {
    let mut clock = 0;
    // SAFETY: the thread is this one, and `clock` has room for the answer.
    let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    (failed == 0).then_some(i64::from(clock))
}

#[cfg(all(target_os = "linux", not(miri)))]
fn read(clock: i64) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` has room for the answer. The clock of a thread that has ended is an error.
    let failed = unsafe { libc::clock_gettime(clock as libc::clockid_t, &raw mut time) };
    (failed == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Whether this thread of the process runs, or would if it had a processor.
#[cfg(all(target_os = "linux", not(miri)))]
fn is_runnable(thread: i32) -> bool {
    use std::io::Read;

    let mut text = [0; 128];
    let read = std::fs::File::open(format!("/proc/self/task/{thread}/stat"))
        .and_then(|mut file| file.read(&mut text))
        .unwrap_or(0);
    // The state follows the name, which is in parentheses and may contain any, and is 15 bytes long at most.
    let after_name = text[..read].iter().rposition(|&byte| byte == b')');
    after_name.and_then(|at| text.get(at + 2)) == Some(&b'R')
}

#[cfg(all(target_os = "linux", not(miri)))]
fn own_number() -> i32 {
    // SAFETY: the call has no conditions.
    unsafe { libc::gettid() }
}

#[cfg(any(not(target_os = "linux"), miri))]
fn is_runnable(_thread: i32) -> bool {
    true
}

#[cfg(any(not(target_os = "linux"), miri))]
fn own_number() -> i32 {
    0
}

#[cfg(any(not(target_os = "linux"), miri))]
fn own_clock() -> Option<i64> {
    None
}

#[cfg(any(not(target_os = "linux"), miri))]
fn read(_clock: i64) -> Option<Duration> {
    None
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{Id, Location, Polling};

    #[test]
    fn a_worker_that_has_polled_nothing_has_no_task() {
        assert_eq!(Polling::new().task_of(0), None);
    }

    #[test]
    fn the_task_of_a_poll_that_is_over_is_not_told() {
        let (id, here) = (Id::next(), Location::caller());
        let polling = Polling::new();
        polling.begin();
        polling.is_of(id, here);
        assert_eq!(polling.task_of(1), Some((id, here)));
        polling.begin();
        polling.is_of(Id::next(), here);
        assert_eq!(polling.task_of(1), None);
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn the_clock_of_a_thread_is_read_from_another_and_ends_with_it() {
        let polling = std::sync::Arc::new(Polling::new());
        let (burnt, ended) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        let time = std::thread::scope(|scope| {
            scope.spawn(|| {
                polling.is_here();
                let start = std::time::Instant::now();
                while start.elapsed() < std::time::Duration::from_millis(5) {}
                assert!(polling.is_runnable());
                burnt.wait();
                ended.wait();
            });
            burnt.wait();
            let time = polling.cpu_time();
            // It waits at the barrier, or is about to.
            while polling.is_runnable() {
                std::thread::yield_now();
            }
            ended.wait();
            time
        });
        assert!(time.is_some_and(|time| !time.is_zero()));
    }
}
