//! What belongs to one worker, or to the outside threads that share a number.
//!
//! Called by everything in `scheduler`. A shard is where a task's spawning, its queue place, its timers and its counts stay on
//! cache lines that one worker writes.

use super::bed::Bed;
use super::crowd::Crowd;
use super::glance::Sight;
use super::polling::Polling;
use super::shared::Shared;
use super::waits::Waits;
use crate::runtime::{Config, Histogram};
use crate::task::{Header, Registry, Runnable};
use crate::timer::Timers;
use nezumi_prim::CachePadded;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use nezumi_queue::{Ring, Shelf};
use nezumi_recorder::Counters;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::ThreadId;

/// Stands in the atomic count of homes for the owner and its own count.
const BIAS: isize = 1 << (isize::BITS - 8);

/// The two counts of a shard's homes. See `home`.
pub(super) struct Homes {
    pub(super) owner: UnsafeCell<isize>,
    pub(super) others: CachePadded<AtomicIsize>,
}

/// What is never written once the shard is made. Every worker that polls or wakes a task of this shard reads it, and would wait for the owner
/// each time if it lay on a line that the owner writes.
///
/// In this order, so that what each wake reads is on one line.
#[repr(C)]
struct Fixed {
    /// Holds one strong reference, given up in `free`.
    shared: *const Shared,
    index: usize,
    /// Since when tasks are runnable, where the builder asked.
    waits: Option<Box<Waits>>,
    /// How long polls took, where the builder asked.
    poll_times: Option<Histogram>,
}

/// One worker's part of a runtime, or one of those that outside threads share.
pub(crate) struct Shard {
    fixed: CachePadded<Fixed>,
    pub(super) homes: Homes,
    /// What is runnable here. Normal priority.
    pub(super) ring: Ring<Runnable>,
    /// What is runnable here with `Priority::High`, and with `Priority::Background`.
    pub(super) high: Ring<Runnable, 64>,
    pub(super) background: Ring<Runnable, 64>,
    /// What has yielded here since the driver's last turn.
    pub(super) yielded: CachePadded<Shelf<Runnable>>,
    pub(super) registry: Registry,
    /// Guards the registry's owner part where the shard has no owner.
    pub(super) registry_lock: Mutex<()>,
    pub(super) timers: Timers,
    pub(super) bed: Bed,
    pub(super) counters: CachePadded<Counters>,
    /// How many tasks the single-threaded scheduler's queue holds. For metrics.
    pub(super) depth: AtomicUsize,
    /// The thread that drives the worker, or the last that did. For metrics.
    thread: Mutex<Option<ThreadId>>,
    pub(crate) polling: CachePadded<Polling>,
    /// How much of what waits here is for others.
    pub(super) crowd: CachePadded<Crowd>,
    /// What others have seen of the owner's polls.
    pub(super) sight: Sight,
}

// SAFETY: `fixed.shared` is a strong reference to a `Sync` value; `homes.owner` and the owner's parts of `ring` and `registry` are touched
// only by the owner (module `home`, contracts of the unsafe functions).
unsafe impl Send for Shard {}
// SAFETY: as above.
unsafe impl Sync for Shard {}

impl Shard {
    /// A shard of the runtime whose shared part will stand at `shared`.
    pub(super) fn new(shared: *const Shared, index: usize, config: &Config) -> Self {
        let histogram = |configuration: &Option<_>| configuration.as_ref().map(Histogram::new);
        let waits =
            config.tracks_waits.then(|| Box::new(Waits::new(histogram(&config.schedule_latency_histogram))));
        let poll_times = histogram(&config.poll_time_histogram);
        Self {
            fixed: CachePadded::new(Fixed { shared, index, waits, poll_times }),
            homes: Homes { owner: UnsafeCell::new(0), others: CachePadded::new(AtomicIsize::new(BIAS)) },
            ring: Ring::new(),
            high: Ring::new(),
            background: Ring::new(),
            yielded: CachePadded::new(Shelf::new()),
            registry: Registry::new(),
            registry_lock: Mutex::new(()),
            timers: Timers::new(),
            bed: Bed::new(),
            counters: CachePadded::default(),
            depth: AtomicUsize::new(0),
            thread: Mutex::new(None),
            polling: CachePadded::new(Polling::new()),
            crowd: CachePadded::new(Crowd::new()),
            sight: Sight::new(),
        }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        // SAFETY: the shard is inside the shared part, which lives as long as it does.
        unsafe { &*self.fixed.shared }
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.fixed.index
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<Shard> {
        NonNull::from(self)
    }

    /// Ends the owner's part: from now on the atomic count is exact. Once per shard.
    ///
    /// # Safety
    ///
    /// The caller is the owner, for the last time, and gives up the strong reference that stands behind the shard.
    pub(super) unsafe fn disown(&self) {
        // SAFETY: the caller is the owner.
        let own = self.homes.owner.with(|count| unsafe { *count });
        // AcqRel: as in `Home::drop`.
        let before = self.homes.others.fetch_add(own - BIAS, Ordering::AcqRel);
        if before + own - BIAS == 0 {
            // SAFETY: the count is zero and no owner is left.
            unsafe { Shard::free(self.as_ptr()) };
        }
    }

    /// Gives up the strong reference to the shared part, and with the last one the shard itself.
    ///
    /// # Safety
    ///
    /// Called once, when nobody refers to the shard any more.
    #[cold]
    pub(super) unsafe fn free(shard: NonNull<Shard>) {
        // SAFETY: `keep` made this strong reference; the pointer is copied out before the memory may go.
        unsafe { Arc::decrement_strong_count(shard.as_ref().fixed.shared) };
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn poll_times(&self) -> Option<&Histogram> {
        self.fixed.poll_times.as_ref()
    }

    pub(crate) fn waits(&self) -> Option<&Waits> {
        self.fixed.waits.as_deref()
    }

    /// A task whose home this is becomes runnable. The caller holds its runnable.
    #[inline(always)]
    pub(super) fn becomes_runnable(&self, task: &Header) {
        if let Some(waits) = self.waits() {
            waits.begin(task);
        }
    }

    /// The thread that drives the worker, or the last that did.
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        *self.thread.lock()
    }

    /// Notes that this thread drives the worker from now on.
    pub(super) fn is_driven_here(&self) {
        *self.thread.lock() = Some(std::thread::current().id());
        self.sight.forget();
        self.polling.is_here();
    }

    /// How many tasks wait here. A hot one, which is next in any case, is not counted, as Tokio does not count what is in its slot for that.
    pub(crate) fn queue_depth(&self) -> usize {
        let normal = self.ring.len().saturating_sub(usize::from(self.ring.has_hot()));
        normal + self.high.len() + self.background.len() + self.depth.load(Ordering::Relaxed)
    }

    /// Takes the strong reference again that [`free`](Self::free) gave up.
    ///
    /// # Safety
    ///
    /// The caller holds the runtime by another way, and has brought the count from zero to one.
    #[cold]
    pub(super) unsafe fn revive(shard: NonNull<Shard>) {
        // SAFETY: the caller keeps the shared part, so that its count is not zero.
        unsafe { Arc::increment_strong_count(shard.as_ref().fixed.shared) };
    }

    /// Whether a thief, or the owner, would find something here.
    #[inline]
    pub(super) fn has_stealable(&self) -> bool {
        self.is_crowded()
            || !self.high.is_empty()
            || !self.background.is_empty()
            || (self.crowd.stuck.load(Ordering::Relaxed)
                && (!self.ring.is_empty() || !self.yielded.is_empty()))
    }

    /// Whether so much is left in the ring once the owner, who is between two polls, has taken the next.
    pub(super) fn is_more_than_the_next(&self) -> bool {
        self.crowd.is_enough(self.ring.len().saturating_sub(1))
    }

    /// Whether so much waits in the ring that it is worth a theft. The hot task does not wait: it is next.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        let waiting = self.ring.len().saturating_sub(usize::from(self.ring.has_hot()));
        self.crowd.is_enough(waiting)
    }
}
