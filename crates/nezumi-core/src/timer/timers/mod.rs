//! One shard's timers: a wheel behind a lock, and the time until which its worker may sleep.
//!
//! Called by [`Entry`](super::Entry) (arm, renew, cancel) and by the scheduler (look at the bound, advance, shut down). As a rule
//! all of these are the worker of the shard, so that the lock is free; but a task that has moved drops its timers from
//! where it is, and any thread may advance timers that are overdue since their worker is stuck.
//!
//! Promise: no user code (clone, drop or wake of a waker) runs under the lock; the lock is held for a bounded number of
//! steps at a time; a node that has fired, or was cancelled, is never touched again.
//!
//! The handshake with the sleeping worker is in the header of the module above. Here, `earliest_ms` is written under the
//! lock only: lowered by `arm`, raised by `advance` and `settle`, which have looked in the wheel.
//!
//! Tests: `fires_in_batches_without_the_lock`, `a_waker_may_drop_other_timers`, `a_panicking_waker_does_not_stop_the_rest`,
//! `shutdown_fires_what_is_pending_and_refuses_the_rest`; loom: `super::models`.

use super::lock::{Lock, LockGuard};
use super::node::{CLOSED, FIRED, Node};
use super::{NEVER, Popped, Wheel};
use nezumi_prim::CachePadded;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nezumi_wake::{FirstPanic, WakeList};
use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;

mod arm;

pub(super) use arm::Armed;

/// How many nodes may be moved before the lock is released for a moment.
const STEPS: usize = 256;

/// The timers of one shard.
pub struct Timers {
    shared: CachePadded<Shared>,
}

struct Shared {
    /// Never later than the first deadline in the wheel.
    earliest_ms: AtomicU64,
    /// The latest time that anybody has told us. A deadline up to here need not wait for a turn of the wheel.
    seen_ms: AtomicU64,
    closed: AtomicBool,
    inner: Lock<Inner>,
}

struct Inner {
    wheel: Wheel,
    /// A timer was cancelled that `earliest_ms` may have come from.
    stale: bool,
}

impl Default for Timers {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers").field("next_deadline_ms", &self.next_deadline_ms()).finish_non_exhaustive()
    }
}

// What the scheduler calls.
impl Timers {
    /// No timers, at tick 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: CachePadded::new(Shared {
                earliest_ms: AtomicU64::new(NEVER),
                seen_ms: AtomicU64::new(0),
                closed: AtomicBool::new(false),
                inner: Lock::new(Inner { wheel: Wheel::new(), stale: false }),
            }),
        }
    }

    /// No later than the first deadline; [`NEVER`] if there is none. One load.
    ///
    /// Whoever is about to sleep asks after its `fence(SeqCst)` (S3 of the header above).
    #[inline]
    #[must_use]
    pub fn next_deadline_ms(&self) -> u64 {
        // Relaxed: the fences of the handshake order it, or it is a hint.
        self.shared.earliest_ms.load(Ordering::Relaxed)
    }

    /// Forgets a bound that came from a timer which was cancelled since. A worker with nothing to do calls this before it
    /// announces that it sleeps, so that it is not woken in vain.
    pub fn settle(&self) {
        if self.next_deadline_ms() != NEVER {
            let mut inner = self.lock();
            if inner.stale {
                self.publish(&mut inner);
            }
        }
    }

    /// Fires whatever is due by `now_ms`, and returns how many timers that were. Any thread may call it, at any time.
    ///
    /// Costs a load and a store if nothing is due. Wakes outside the lock, 32 at a time.
    ///
    /// # Panics
    ///
    /// If a waker does; after all the others were woken.
    pub fn advance(&self, now_ms: u64) -> usize {
        self.see(now_ms);
        if self.next_deadline_ms() > now_ms { 0 } else { self.fire_due(now_ms) }
    }

    /// Says that it is this late, and leaves the firing to `advance`.
    #[inline]
    pub(super) fn see(&self, now_ms: u64) {
        // Relaxed, and no read-modify-write: a value overwritten by an older one only costs the way through the wheel.
        if self.shared.seen_ms.load(Ordering::Relaxed) < now_ms {
            self.shared.seen_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Fires every timer with the shut-down error, and refuses all that come later.
    ///
    /// # Panics
    ///
    /// If a waker does; after all the others were woken.
    pub fn shutdown(&self) {
        let mut wakers = Wakes::default();
        let mut inner = self.lock();
        // Relaxed: read under the lock. Set before the first batch, so that nothing is armed between two.
        self.shared.closed.store(true, Ordering::Relaxed);
        while let Some(node) = inner.wheel.pop_any() {
            // SAFETY: the lock is held, and the node was in the wheel until now. The bound lets every deadline end.
            if let Ok(Some(waker)) = unsafe { Node::fire(node, CLOSED, NEVER) } {
                wakers.list.push(waker);
            }
            if !wakers.list.can_push() {
                drop(inner);
                wakers.wake_all();
                inner = self.lock();
            }
        }
        self.publish(&mut inner);
        drop(inner);
        wakers.finish();
    }

    /// How many timers are pending.
    #[must_use]
    pub fn live(&self) -> usize {
        self.lock().wheel.len()
    }

    #[cold]
    #[inline(never)]
    fn fire_due(&self, now_ms: u64) -> usize {
        let mut wakers = Wakes::default();
        let mut fired = 0;
        let mut steps = 0;
        let mut inner = self.lock();
        loop {
            match inner.wheel.pop(now_ms) {
                Popped::Due(node) => {
                    if let Some(waker) = fire(&mut inner.wheel, node) {
                        fired += 1;
                        waker.into_iter().for_each(|waker| wakers.list.push(waker));
                    }
                }
                Popped::Moved => {}
                Popped::Nothing => break,
            }
            steps += 1;
            if !wakers.list.can_push() || steps == STEPS {
                steps = 0;
                drop(inner);
                wakers.wake_all();
                inner = self.lock();
            }
        }
        self.publish(&mut inner);
        drop(inner);
        wakers.finish();
        fired
    }

    #[inline]
    fn lock(&self) -> LockGuard<'_, Inner> {
        self.shared.inner.lock()
    }

    /// Makes the bound as good as the wheel's.
    fn publish(&self, inner: &mut Inner) {
        inner.stale = false;
        // Relaxed: no sleeper must hear of it, since the bound only rises here.
        self.shared.earliest_ms.store(inner.wheel.next_deadline_ms(), Ordering::Relaxed);
    }
}

/// Wakers to be woken outside the lock, and the first panic of one of them.
#[derive(Default)]
struct Wakes {
    list: WakeList,
    panics: FirstPanic,
}

impl Wakes {
    fn wake_all(&mut self) {
        self.panics.run(|| self.list.wake_all());
    }

    fn finish(mut self) {
        self.wake_all();
        self.panics.resume();
    }
}

/// Ends the wait of a node that was popped, and returns its waker; `None` if its owner put it off at the last moment.
fn fire(wheel: &mut Wheel, node: NonNull<Node>) -> Option<Option<Waker>> {
    // SAFETY: the wheel is borrowed mutably, hence locked, and has just handed the node out.
    match unsafe { Node::fire(node, FIRED, wheel.elapsed_ms()) } {
        Ok(waker) => Some(waker),
        Err(later_ms) => {
            // SAFETY: it did not fire, so it is live, and in no list.
            let inserted = unsafe { wheel.insert(node, later_ms) };
            debug_assert!(inserted, "`fire` ends every wait up to `elapsed_ms`");
            None
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;
