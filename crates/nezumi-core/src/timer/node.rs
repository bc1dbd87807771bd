//! One timer, as the wheel sees it.
//!
//! A node lives inside the future that waits, pinned, and hangs in the wheel of a shard while it is pending. Two sides know
//! it: its *owner*, who holds the future by `&mut`, and the *holder* of the wheel's lock.
//!
//! The state word is the deadline while the node is pending, else one of a few values above every deadline.
//!
//! ```text
//! IDLE, UNARMED -- poll --> NOTED -- end of the poll --> deadline -- fire ------> FIRED
//!        |                                                |    ^  -- shutdown --> CLOSED
//!        '--------------- poll, elsewhere ----------------'  reset -- cancel ---> IDLE
//!
//! reset of what is not pending or noted --> UNARMED
//! ```
//!
//! What it means to be noted is told in [`notes`](super::notes).
//!
//! | field | pending | else |
//! |---|---|---|
//! | `links`, `bucket` | the holder | the owner, who leaves them alone |
//! | `state` | the holder; the owner without the lock may only raise the deadline, by CAS | the owner; while noted, see `notes` |
//! | `note` | – | the owner |
//! | `waker` | read: owner and holder; written: the owner while it holds the lock | the owner, to whom it is empty |
//!
//! Two consequences. The owner may ask whether the stored waker is still the right one without taking the lock: nobody
//! writes it. And `fire` reads the waker out bit by bit, without clearing the place, *before* it stores FIRED, which is its
//! last touch of the node: whoever sees FIRED may free the node without taking the lock.
//!
//! Tests: those of `timers`; loom: `models::fired_while_dropped`, `models::pushed_later_while_fired`.

use super::LATEST_MS;
use super::notes::Note;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use nezumi_queue::list::{Link, Links};
use std::cell::Cell;
use std::fmt;
use std::mem::{self, ManuallyDrop, offset_of};
use std::ptr::{self, NonNull};
use std::task::Waker;

/// Never armed, or cancelled.
pub(super) const IDLE: u64 = u64::MAX - 1;
/// Given a new deadline since, not armed again yet.
pub(super) const UNARMED: u64 = u64::MAX - 2;
/// The deadline has passed.
pub(super) const FIRED: u64 = u64::MAX - 3;
/// The runtime was shut down first.
pub(super) const CLOSED: u64 = u64::MAX - 4;
/// To be armed when the poll ends: see `notes`.
pub(super) const NOTED: u64 = u64::MAX - 5;

/// Whether `state` is a deadline.
#[inline]
pub(super) fn is_pending(state: u64) -> bool {
    state <= LATEST_MS
}

/// One timer, as the wheel sees it. See the module's table for who may touch what.
pub struct Node {
    links: Links,
    pub(super) bucket: AtomicU16,
    pub(super) state: AtomicU64,
    /// Where it is noted, while it is.
    pub(super) note: Cell<*const Note>,
    /// Bits of a waker that may have been moved out: never dropped in place.
    waker: UnsafeCell<ManuallyDrop<Option<Waker>>>,
}

// SAFETY: `OFFSET` is that of `links`, which nothing here touches.
unsafe impl Link for Node {
    const OFFSET: usize = offset_of!(Node, links);
}

// SAFETY: the cell is accessed as the module's table says, and a `Waker` may be used from any thread.
unsafe impl Send for Node {}
// SAFETY: as above.
unsafe impl Sync for Node {}

impl Default for Node {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Node");
        match self.state.load(Ordering::Relaxed) {
            IDLE => f.field("state", &"idle"),
            UNARMED => f.field("state", &"unarmed"),
            NOTED => f.field("state", &"noted"),
            FIRED => f.field("state", &"fired"),
            CLOSED => f.field("state", &"closed"),
            deadline_ms => f.field("deadline_ms", &deadline_ms),
        };
        f.finish()
    }
}

impl Node {
    /// A node that was never armed.
    #[must_use]
    pub fn new() -> Self {
        Self {
            links: Links::new(),
            bucket: AtomicU16::new(0),
            state: AtomicU64::new(IDLE),
            note: Cell::new(ptr::null()),
            waker: UnsafeCell::new(ManuallyDrop::new(None)),
        }
    }

    /// What has become of it, for its owner, without the lock.
    #[inline]
    pub(super) fn state(&self) -> u64 {
        // Acquire: pairs with the Release of whoever armed it or ended the wait; the waker is visible, and if it is not pending the rest
        // of the node is the owner's again.
        self.state.load(Ordering::Acquire)
    }

    /// The deadline of a pending node; the owner may raise it at any time.
    #[inline]
    pub(super) fn deadline_ms(&self) -> u64 {
        // Relaxed: a value read too early is only a visit too early, and `fire` looks again.
        self.state.load(Ordering::Relaxed)
    }

    /// Raises the deadline without the lock. `false` if the node is not pending, or if the new one is earlier.
    pub(super) fn push_later(&self, deadline_ms: u64) -> bool {
        let mut now = self.state.load(Ordering::Relaxed);
        while is_pending(now) && now <= deadline_ms {
            // Relaxed: the deadline itself is all there is to publish. A CAS, since `fire` may come first.
            match self.state.compare_exchange_weak(now, deadline_ms, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    /// Whether the stored waker wakes the same task as `waker`.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub(super) unsafe fn is_stored(&self, waker: &Waker) -> bool {
        // SAFETY: row `waker`: only the owner writes, and that is the caller. If it was moved out in the meantime, its bits
        // are still there, and only they are compared.
        self.waker.with(|cell| unsafe { (*cell).as_ref().is_some_and(|stored| stored.will_wake(waker)) })
    }

    /// Puts `waker` in the place and returns the one that stood there.
    ///
    /// # Safety
    ///
    /// The caller is the owner, the node is pending, and the caller holds the lock.
    pub(super) unsafe fn swap_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.waker.with_mut(|cell| {
            // SAFETY: row `waker`, first column; pending under the lock, so the waker has not been moved out.
            ManuallyDrop::into_inner(mem::replace(unsafe { &mut *cell }, ManuallyDrop::new(waker)))
        })
    }

    /// Puts `waker` in the empty place.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and the node is not pending.
    pub(super) unsafe fn set_waker(&self, waker: Option<Waker>) {
        // SAFETY: row `waker`, second column: what stood there was moved out, so it is overwritten and not dropped.
        self.waker.with_mut(|cell| unsafe { cell.write(ManuallyDrop::new(waker)) });
    }

    /// Ends the wait, unless the deadline was raised past `not_after_ms` in the meantime: then returns the new one.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and the node is pending and in no list. After `Ok` it may be gone.
    pub(super) unsafe fn fire(
        node: NonNull<Node>,
        end: u64,
        not_after_ms: u64,
    ) -> Result<Option<Waker>, u64> {
        let node = node.as_ptr();
        // No `&Node` here, which would have to stay valid until the end of this function: a reference to one field at a
        // time.
        // SAFETY: a pending node is live until its owner has taken the lock, or has seen `end`.
        let mut deadline_ms = unsafe { (*node).state.load(Ordering::Relaxed) };
        // SAFETY: row `waker`, first column: the holder may read. It becomes ours if the CAS succeeds, and is left to the
        // node if not.
        let waker = unsafe { (*node).waker.with(|cell| cell.read()) };
        while deadline_ms <= not_after_ms {
            // Release: pairs with the Acquire of the owner's load; what was done to the node is done. Last touch.
            // SAFETY: as above.
            let ended = unsafe {
                (*node).state.compare_exchange_weak(deadline_ms, end, Ordering::Release, Ordering::Relaxed)
            };
            match ended {
                Ok(_) => return Ok(ManuallyDrop::into_inner(waker)),
                Err(raised) => deadline_ms = raised,
            }
        }
        Err(deadline_ms)
    }
}
