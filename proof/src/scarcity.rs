//! A heap that refuses, when a case asks for it.
//!
//! Asked by the allocator of `census` before each allocation; while nothing is asked for, that is one load. What is refused is told to whoever reads the
//! standard output, in a line for each, without any memory of the heap.
//!
//! A site is what called the allocator, and what had called that: a number made of the innermost return addresses, as they lie in the program's file, so that it
//! is the same in each process.

use crate::census::heap;
use crate::seed::Seed;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::io::Write;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};

/// Which allocations are refused, of those since `begin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// None; their sites are noted.
    None,
    /// One, with so many up to it.
    Nth(u64),
    /// That one, and all after it.
    From(u64),
    /// The first of a site.
    Site(u64),
    /// One in so many.
    OneIn(u32),
    /// What would have more bytes in use than so many beside those at first.
    Above(isize),
    /// None by the allocator itself: the address space may not grow by more than so many KiB, be it for the heap, stacks, or the system's own.
    Space(u64),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plan::None => f.write_str("none:0"),
            Plan::Nth(nth) => write!(f, "nth:{nth}"),
            Plan::From(nth) => write!(f, "from:{nth}"),
            Plan::Site(site) => write!(f, "site:{site}"),
            Plan::OneIn(n) => write!(f, "one-in:{n}"),
            Plan::Above(bytes) => write!(f, "above:{bytes}"),
            Plan::Space(kib) => write!(f, "space:{kib}"),
        }
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        fn number<T: FromStr>(text: &str) -> Result<T, String> {
            text.parse().map_err(|_| format!("{text:?} is not such a number"))
        }

        match text.split_once(':') {
            Some(("none", _)) => Ok(Plan::None),
            Some(("nth", text)) => number(text).map(Plan::Nth),
            Some(("from", text)) => number(text).map(Plan::From),
            Some(("site", text)) => number(text).map(Plan::Site),
            Some(("one-in", text)) => number(text).map(Plan::OneIn),
            Some(("above", text)) => number(text).map(Plan::Above),
            Some(("space", text)) => number(text).map(Plan::Space),
            _ => Err(format!("there is no plan {text:?}")),
        }
    }
}

struct Intended {
    plan: Plan,
    seed: Seed,
}

static INTENDED: OnceLock<Intended> = OnceLock::new();
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static IS_ON: AtomicBool = AtomicBool::new(false);
static HEAP_AT_FIRST: AtomicIsize = AtomicIsize::new(0);
static MOST_HEAP: AtomicIsize = AtomicIsize::new(0);
static COUNT: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// What `begin` will start, once for the process.
pub(crate) fn intend(plan: Plan, seed: Seed) {
    let _ = INTENDED.set(Intended { plan, seed });
}

/// From now on the plan holds; a second call is none.
pub(crate) fn begin() {
    let Some(intended) = INTENDED.get() else { return };
    if HAS_BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    HEAP_AT_FIRST.store(heap().0, Ordering::Relaxed);
    if let Plan::Space(kib) = intended.plan {
        limit_space(kib);
    }
    // Release: pairs with the load in `refuses`.
    IS_ON.store(true, Ordering::Release);
}

fn limit_space(kib: u64) {
    // The first thread's stack grows where it is touched, and the system has no other way to refuse that than to end the process.
    touch_stack(64);
    let size = std::fs::read_to_string("/proc/self/statm").expect("the size of the process");
    let pages: u64 = size.split_whitespace().next().and_then(|pages| pages.parse().ok()).expect("a number");
    crate::faults::limit(libc::RLIMIT_AS, pages * 4096 + kib * 1024);
}

#[inline(never)]
fn touch_stack(pages: usize) {
    let page = std::hint::black_box([pages as u8; 4096]);
    if pages > 0 {
        touch_stack(pages - 1);
    }
    std::hint::black_box(page);
}

/// From now on it does not. How many allocations there were, and the most bytes that they had in use; the sites that were noted go to the standard output.
pub(crate) fn end() -> (u64, isize) {
    IS_ON.store(false, Ordering::Relaxed);
    for site in SITES.iter().map(|site| site.load(Ordering::Relaxed)).filter(|&site| site != 0) {
        println!("site {site}");
    }
    (COUNT.load(Ordering::Relaxed), MOST_HEAP.load(Ordering::Relaxed))
}

/// Whether an allocation of `size` bytes fails, by which `growth` more would be in use.
#[inline]
pub(crate) fn refuses(size: usize, growth: isize) -> bool {
    IS_ON.load(Ordering::Acquire) && is_refused(size, growth)
}

#[cold]
fn is_refused(size: usize, growth: isize) -> bool {
    let Some(Intended { plan, seed }) = INTENDED.get() else { return false };
    let number = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    // From here alone: the way into this function is part of it.
    let site = site();
    let more = || heap().0 + growth - HEAP_AT_FIRST.load(Ordering::Relaxed);
    let is_refused = match *plan {
        Plan::None => {
            note(site);
            MOST_HEAP.fetch_max(more(), Ordering::Relaxed);
            false
        }
        Plan::Nth(nth) => number == nth,
        Plan::From(nth) => number >= nth,
        Plan::Site(wanted) => site == wanted && REFUSED.load(Ordering::Relaxed) == 0,
        Plan::OneIn(n) => seed.part(number).rand().one_in(n),
        Plan::Above(bytes) => more() > bytes,
        Plan::Space(_) => false,
    };
    // Whoever goes on after very many refusals need not tell of each.
    if is_refused && REFUSED.fetch_add(1, Ordering::Relaxed) < 500 {
        say(format_args!("refused {size} {site}"));
    }
    is_refused
}

/// Writes a short line to the standard output, without any memory of the heap.
pub(crate) fn say(what: fmt::Arguments<'_>) {
    let mut line = [0; 96];
    let mut rest = &mut line[..];
    let _ = writeln!(rest, "{what}");
    let length = 96 - rest.len();
    // SAFETY: so many bytes stand there. One write of so few is not taken apart.
    unsafe { libc::write(1, line.as_ptr().cast(), length) };
}

static SITES: [AtomicU64; 8192] = [const { AtomicU64::new(0) }; 8192];

fn note(site: u64) {
    let first = site as usize % SITES.len();
    for index in (first..SITES.len()).chain(0..first) {
        match SITES[index].compare_exchange(0, site, Ordering::Relaxed, Ordering::Relaxed) {
            Err(other) if other != site => {}
            _ => return,
        }
    }
}

/// How many return addresses make a site.
const FRAMES: u32 = 16;

/// Never 0.
#[inline(never)]
fn site() -> u64 {
    #[repr(C)]
    struct Trace {
        frames: u32,
        site: u64,
    }

    unsafe extern "C" {
        // Of the library that unwinds panics. None of this takes memory.
        fn _Unwind_Backtrace(
            visit: extern "C" fn(*mut c_void, *mut Trace) -> c_int,
            trace: *mut Trace,
        ) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
        // Made by the linker: where the program begins, and where its code ends.
        static __executable_start: u8;
        static etext: u8;
    }

    extern "C" fn visit(frame: *mut c_void, trace: *mut Trace) -> c_int {
        const GO_ON: c_int = 0;
        const STOP: c_int = 5;
        // SAFETY: the frame is the unwinder's; the trace is that of the call below, which waits for us; of the linker's symbols only the addresses are taken.
        let (trace, address, begin, end) = unsafe {
            let (begin, end) = (&raw const __executable_start, &raw const etext);
            (&mut *trace, _Unwind_GetIP(frame), begin.addr(), end.addr())
        };
        // Libraries lie elsewhere each time.
        if (begin..end).contains(&address) {
            trace.frames += 1;
            trace.site =
                (trace.site ^ (address - begin) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
        if trace.frames < FRAMES { GO_ON } else { STOP }
    }

    let mut trace = Trace { frames: 0, site: 0 };
    // SAFETY: `visit` takes what it is given here.
    unsafe { _Unwind_Backtrace(visit, &raw mut trace) };
    trace.site.max(1)
}

#[cfg(test)]
mod tests {
    use super::Plan;

    #[test]
    fn a_plan_reads_back() {
        for plan in [
            Plan::None,
            Plan::Nth(1),
            Plan::From(u64::MAX),
            Plan::Site(3),
            Plan::OneIn(4),
            Plan::Above(5),
            Plan::Space(6),
        ] {
            assert_eq!(plan.to_string().parse(), Ok(plan));
        }
        assert!("nth:x".parse::<Plan>().is_err() && "nothing".parse::<Plan>().is_err());
    }
}
