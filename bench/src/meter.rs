//! What is counted besides time: allocations, context switches, CPU.
//!
//! Allocations are counted in rounds of their own, which are not timed: a shared counter on every allocation would cost
//! most where most is allocated, and so flatter the other side. While nothing is counted an allocation pays for one read of
//! a line that nobody writes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a counter that can be switched on.
pub(crate) struct CountingAllocator;

#[inline(always)]
fn count() {
    if COUNTING.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}

// SAFETY: every call is handed on to `System` unchanged; counting touches nothing but two statics and allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `at` came from `System` with `layout`, because everything here does; the rest is the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `System` with `layout`, because everything here does.
        unsafe { System.dealloc(at, layout) }
    }
}

/// How often the whole process allocated while `work` ran.
pub(crate) fn allocations<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = ALLOCATIONS.load(Relaxed);
    COUNTING.store(true, Relaxed);
    let out = work();
    COUNTING.store(false, Relaxed);
    (ALLOCATIONS.load(Relaxed) - before, out)
}

/// What a build with `--cfg nezumi_count` has counted while `work` ran, by name. An ordinary build counts nothing, and `work` costs what it costs.
#[cfg(nezumi_count)]
pub(crate) fn counts<T>(work: impl FnOnce() -> T) -> (Vec<(&'static str, u64)>, T) {
    let before = nezumi_prim::count::Counts::now();
    let (allocations, out) = allocations(work);
    let counts = nezumi_prim::count::Counts::now() - before;
    let named = [
        ("rmw", counts.modified),
        ("shared", counts.shared),
        ("locks", counts.locked),
        ("fences", counts.fenced),
        ("allocations", allocations),
    ];
    (named.to_vec(), out)
}

#[cfg(not(nezumi_count))]
pub(crate) fn counts<T>(work: impl FnOnce() -> T) -> (Vec<(&'static str, u64)>, T) {
    (Vec::new(), work())
}

/// What the kernel has counted so far, or (as a difference) meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) voluntary_switches: u64,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl Usage {
    /// Of all threads, those that have ended included.
    pub(crate) fn of_process() -> Usage {
        usage(libc::RUSAGE_SELF)
    }

    /// Of the calling thread. Nothing where the kernel does not tell.
    pub(crate) fn of_thread() -> Usage {
        #[cfg(target_os = "linux")]
        return usage(libc::RUSAGE_THREAD);
        #[cfg(not(target_os = "linux"))]
        return Usage::default();
    }

    pub(crate) fn and(self, other: Usage) -> Usage {
        Usage {
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            user: self.user + other.user,
            system: self.system + other.system,
        }
    }

    pub(crate) fn since(self, before: Usage) -> Usage {
        Usage {
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}

fn usage(whose: libc::c_int) -> Usage {
    // SAFETY: `rusage` is plain integers, for which all zeroes is a value.
    let mut answer: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `answer` is a live `rusage`, which is all that the call writes to.
    let failed = unsafe { libc::getrusage(whose, &mut answer) };
    assert_eq!(failed, 0, "the kernel did not tell what was used");
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Usage {
        voluntary_switches: answer.ru_nvcsw as u64,
        user: time(answer.ru_utime),
        system: time(answer.ru_stime),
    }
}

/// Lets the process open as many files as it may: ten thousand connections are twenty thousand sockets. How many it may.
pub(crate) fn allow_many_files() -> u64 {
    const WANTED: libc::rlim_t = 65_536;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live `rlimit`, which is all that the call writes to.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return 0;
    }
    // More than the hard limit is for the privileged; the rest take what there is.
    for most in [limit.rlim_max.max(WANTED), limit.rlim_max] {
        let wanted = libc::rlimit { rlim_cur: most.min(WANTED), rlim_max: most };
        // SAFETY: `wanted` is a live `rlimit` and is only read.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) } == 0 {
            return wanted.rlim_cur;
        }
    }
    limit.rlim_cur
}

/// How much of the process lies in memory, in bytes. Nothing where the kernel does not tell.
pub(crate) fn resident_bytes() -> u64 {
    let pages = |text: &str| text.split_whitespace().nth(1)?.parse::<u64>().ok();
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    // SAFETY: asks for a number and touches nothing.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages(&statm).unwrap_or(0) * u64::try_from(page).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_counted_while_asked_for() {
        // Other tests may allocate meanwhile, so this is a lower bound.
        let (count, _) = allocations(|| (0..100).map(Box::new).collect::<Vec<_>>());
        assert!(count >= 101, "counted {count}");
    }

    #[test]
    fn memory_that_is_written_to_is_resident() {
        let before = resident_bytes();
        let held = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(cfg!(not(target_os = "linux")) || resident_bytes() >= before + (32 << 20));
        drop(held);
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = Usage::of_process();
        std::thread::sleep(Duration::from_millis(1));
        assert!(Usage::of_process().since(before).voluntary_switches >= 1);
    }
}
