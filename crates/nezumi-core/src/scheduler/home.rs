//! A cheap way to hold on to a runtime.
//!
//! Called by tasks, timers and I/O, each of which must find its runtime again. Knows of a shard only its counts.
//!
//! Promise: a runtime's memory stays while any home stands; counting homes on the thread that owns the shard costs no atomic
//! read-modify-write.
//!
//! Two counts, after "Biased reference counting" (Choi, Shull, Torrellas 2018): one plain, the owner's; one atomic, everybody else's,
//! which starts at a bias that stands for the owner. A home may be made on one thread and dropped on another, so that either count alone
//! may go below zero. When the owner ends, it replaces the bias by its own count; from then on the atomic one is exact, and whoever brings it
//! to zero gives up the strong reference that stands behind the shard. A handle may bring a shard back from zero after the end of its
//! runtime; whoever does takes that reference again.

use super::shared::Shared;
use super::{Shard, context};
use crate::task::{Header, Runnable, Schedule};
use nezumi_prim::sync::atomic::Ordering;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// A counted reference to one shard of a runtime: the worker on whose thread it was made, or, off the workers, a shard shared by outside
/// threads. Cloning it touches a cache line of that shard only, never one that all workers share.
///
/// It keeps the runtime's memory alive, not the runtime running.
pub struct Home(NonNull<Shard>);

// SAFETY: a shard is made for shared use; its owner's part is reached only on the owner's thread, which every use checks.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    /// The shard of this thread: of the worker it is, else of the runtime it has entered. `None` outside a runtime.
    #[inline]
    #[must_use]
    pub fn current() -> Option<Home> {
        let shard = NonNull::new(context::with(context::Context::shard).cast_mut())?;
        // SAFETY: whoever set the context keeps the shard valid while it stands.
        Some(unsafe { Home::of(shard) })
    }

    /// One more reference to a shard.
    ///
    /// # Safety
    ///
    /// The shard is valid.
    #[inline]
    pub(crate) unsafe fn of(shard: NonNull<Shard>) -> Home {
        // SAFETY: the caller's promise.
        let counts = unsafe { &shard.as_ref().homes };
        if context::with(|context| context.owns(shard.as_ptr())) {
            counts.owner.with_mut(|count| {
                // SAFETY: this thread is the owner.
                unsafe { *count += 1 };
            });
        } else if counts.others.fetch_add(1, Ordering::Relaxed) == 0 {
            // Relaxed: the caller holds the runtime. Nobody held this shard any more, so its strong reference was given up: after the
            // shutdown, by way of a handle.
            // SAFETY: the caller's promise.
            unsafe { Shard::revive(shard) };
        }
        Home(shard)
    }

    #[inline]
    pub(crate) fn shard(&self) -> &Shard {
        // SAFETY: our reference keeps it.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        self.shard().shared()
    }

    /// Whether both are of the same runtime.
    #[inline]
    #[must_use]
    pub fn same_runtime(&self, other: &Home) -> bool {
        std::ptr::eq(self.shared(), other.shared())
    }

    /// Whether both are the same shard.
    #[inline]
    #[must_use]
    pub fn same_shard(&self, other: &Home) -> bool {
        self.0 == other.0
    }

    /// Whether this thread's current home is this one: a comparison of two pointers.
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        std::ptr::eq(context::with(context::Context::shard), self.0.as_ptr())
    }

    /// The timers of this shard.
    #[inline]
    #[must_use]
    pub fn timers(&self) -> &crate::timer::Timers {
        self.shared().timers_of(self.shard())
    }

    /// The runtime's clock.
    #[inline]
    #[must_use]
    pub fn clock(&self) -> &crate::timer::Clock {
        &self.shared().clock
    }

    /// Whether the runtime was built with time enabled.
    #[inline]
    #[must_use]
    pub fn time_enabled(&self) -> bool {
        self.shared().config.enable_time
    }

    /// Tells the scheduler that `deadline_ms` is now the earliest of this shard's timers. Called under no lock. Wakes whoever sleeps past it.
    pub fn timer_armed(&self, deadline_ms: u64) {
        Self::timer_armed_in(self.shard(), deadline_ms);
    }

    /// The same for the home of a shard that is not counted.
    pub(crate) fn timer_armed_in(shard: &Shard, deadline_ms: u64) {
        // The owner looks at its timers before it sleeps. Those of a spare's shard are another worker's.
        let shared = shard.shared();
        if shard.index() >= shared.workers() || !context::with(|context| context.owns(shard)) {
            shared.timer_armed(shard, deadline_ms);
        }
    }
}

impl Clone for Home {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: our reference keeps the shard.
        unsafe { Home::of(self.0) }
    }
}

impl Drop for Home {
    #[inline]
    fn drop(&mut self) {
        let counts = &self.shard().homes;
        if context::with(|context| context.owns(self.0.as_ptr())) {
            counts.owner.with_mut(|count| {
                // SAFETY: this thread is the owner.
                unsafe { *count -= 1 };
            });
            return;
        }
        // AcqRel: everything done through this home happens before the free.
        if counts.others.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the bias is gone and the count is zero: nobody refers to the shard any more.
            unsafe { Shard::free(self.0) };
        }
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home").field("shard", &self.shard().index()).finish()
    }
}

impl Schedule for Home {
    const REGISTRY_REFS: usize = 1;

    #[inline]
    unsafe fn schedule(this: *const Self, runnable: Runnable) {
        // SAFETY: the caller's promise: the home is valid until the runnable is given away, and the pointer is all that is read.
        super::schedule::woken(unsafe { (*this).0 }, runnable);
    }

    #[inline]
    unsafe fn reschedule(this: *const Self, runnable: Runnable) {
        // SAFETY: as above.
        super::schedule::yielded(unsafe { (*this).0 }, runnable);
    }

    #[inline]
    fn release(&self, task: &Header) -> bool {
        super::schedule::release(self.0, task)
    }

    #[inline]
    fn terminated(&self, task: &Header) {
        if let Some(hook) = &self.shared().config.hooks.task_terminated {
            // A hook is user code.
            let meta = crate::runtime::TaskMeta::of(task);
            nezumi_wake::contain(|| hook(&meta));
        }
    }

    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    #[inline(always)]
    fn grace(&self) -> Option<&'static crate::dump::Grace> {
        Some(&crate::dump::GRACE)
    }

    #[cold]
    fn panicked(&self) {
        self.shared().task_panicked();
    }
}

/// Keeps the runtime's shared part, whose address a shard knows.
pub(super) fn keep(shared: &Arc<Shared>) -> *const Shared {
    Arc::into_raw(Arc::clone(shared))
}
