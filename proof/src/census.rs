//! What the process has: descriptors, threads, children, heap.
//!
//! Taken before a run and after it; what is there in the end and was not at first has been leaked. What only a first run needs (the
//! runtime's statics, buffers of the standard library) a run before the first census has made.

use crate::scarcity;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The system's allocator, and how much of it is in use.
pub(crate) struct Counting;

/// Each thread counts on a line that few others write: a counter for all would order accesses that the runtime does not order.
const LANES: usize = 64;

#[repr(align(128))]
struct Lane {
    bytes: AtomicIsize,
    blocks: AtomicIsize,
}

static HEAP: [Lane; LANES] =
    [const { Lane { bytes: AtomicIsize::new(0), blocks: AtomicIsize::new(0) } }; LANES];

fn count(bytes: isize, blocks: isize) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LANE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let lane = LANE.with(|lane| {
        if lane.get() == usize::MAX {
            lane.set(NEXT.fetch_add(1, Ordering::Relaxed) % LANES);
        }
        lane.get()
    });
    HEAP[lane].bytes.fetch_add(bytes, Ordering::Relaxed);
    HEAP[lane].blocks.fetch_add(blocks, Ordering::Relaxed);
}

// SAFETY: all is done by the system's allocator, with the arguments as they came, or else refused.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if scarcity::refuses(layout.size(), layout.size() as isize) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count(layout.size() as isize, 1);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if scarcity::refuses(layout.size(), layout.size() as isize) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count(layout.size() as isize, 1);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize), -1);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if scarcity::refuses(size, size as isize - layout.size() as isize) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            count(size as isize - layout.size() as isize, 0);
        }
        moved
    }
}

/// How many bytes of the heap are in use, and in how many blocks.
pub(crate) fn heap() -> (isize, isize) {
    let sum = |of: fn(&Lane) -> &AtomicIsize| HEAP.iter().map(|lane| of(lane).load(Ordering::Relaxed)).sum();
    (sum(|lane| &lane.bytes), sum(|lane| &lane.blocks))
}

/// What is there at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    pub(crate) children: usize,
    pub(crate) heap_bytes: isize,
    pub(crate) heap_blocks: isize,
}

impl Census {
    pub(crate) fn take() -> Self {
        let (heap_bytes, heap_blocks) = heap();
        let entries = |path| std::fs::read_dir(path).map_or(0, Iterator::count);
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let children = threads
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
            .map(|children| children.split_whitespace().count())
            .sum();
        Census {
            descriptors: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            children,
            heap_bytes,
            heap_blocks,
        }
    }

    /// Whether this, taken after a run, has nothing that `before` had not. A few kilobytes of heap may be the buffers of somebody's library.
    fn leaks_nothing_since(&self, before: &Census) -> bool {
        self.descriptors <= before.descriptors
            && self.threads <= before.threads
            && self.children <= before.children
            && self.heap_bytes <= before.heap_bytes + 4096
            && self.heap_blocks <= before.heap_blocks + 16
    }

    /// Waits until nothing is there that was not at first; threads that have been joined take a moment to vanish from /proc. The last
    /// census taken, if it came to that within `patience`, or as an error.
    pub(crate) fn settled(before: &Census, patience: Duration) -> Result<Census, Census> {
        let start = Instant::now();
        loop {
            let now = Census::take();
            if now.leaks_nothing_since(before) {
                return Ok(now);
            }
            if start.elapsed() > patience {
                return Err(now);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} descriptors, {} threads, {} children, {} bytes of heap in {} blocks",
            self.descriptors, self.threads, self.children, self.heap_bytes, self.heap_blocks
        )
    }
}
