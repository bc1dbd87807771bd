//! Permits, handed out in batches, first come, first served.
//!
//! Called by `semaphore`, `mutex`, `rwlock`, `once_cell` and the bounded `mpsc`. Knows nothing of what the permits stand
//! for.
//!
//! Promise: an acquire that could be served is served; nobody overtakes the head of the queue; permits granted to a
//! future that is dropped go on to those who wait.
//!
//! One word holds everything that the fast paths need: `permits << 2 | WAITERS | CLOSED`. While nobody waits, acquiring is
//! one CAS and releasing one `fetch_add`. WAITERS says that the queue is not empty: then the permits in the word belong to
//! the head of the queue, and nobody takes them but the holder of the queue's lock. So a waiter needs no partial share
//! of its own: it is granted all it asked for at once, and until then it holds nothing that could be lost.
//!
//! ```text
//! acquirer                                   releaser
//! A1 lock the queue                          R1 fetch_add permits (release)
//! A2 CAS: set WAITERS, unless enough there   R2 saw WAITERS: lock the queue,
//! A3 link the node, unlock                      grant to the heads while the permits last
//! ```
//!
//! Both write the one word, so one comes first. A2 first: R1 sees WAITERS, and R2 waits for A3. R1 first: A2's CAS fails
//! or finds the permits. A releaser that knows beforehand that somebody waits skips R1 and hands its permits to the heads
//! directly.
//!
//! WAITERS changes only under the lock, is set exactly while the queue is not empty when the lock is free, and every write
//! of the word is a read-modify-write. Hence whoever reads the word with Acquire sees what every releaser before wrote (the
//! release sequence is never broken), and may pass the permits on.
//!
//! Closing ends that: it hands the head what the word held, and the head, refused, gives it back when it is dropped. So a
//! channel that is closed under a reservation of many is idle only when that has gone.
//!
//! A node belongs to the lock while it is linked. The granter unlinks it and takes its waker, and only then, as its last
//! touch of the node, stores its `share`: from there on the node is its future's alone, which may free it without locking.
//!
//! A future takes its permits, or its place in the queue, before it asks for a unit of the task's budget: a task that has
//! used its budget up does not lose its turn. Without budget it keeps what it got, and tells its caller the next time. To be refused costs nothing.
//!
//! In reading order: here, the word, and who takes permits or gives them back; `queue`, who waits, and how they are served or refused; `acquire`, the
//! future; `error`.
//!
//! Tests: `tests` below, property `behaves_like_a_fair_counter` in `semaphore`; loom: `models` below, one for each pair of
//! acquire, release, drop of an acquire, and close.

mod acquire;
mod error;
mod queue;

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

pub(crate) use acquire::Acquire;
pub(crate) use error::granted;
pub use error::{AcquireError, TryAcquireError};

use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_queue::list::LinkedList;
use nezumi_wake::{block_on, entered};
use queue::Waiter;
use std::fmt;

const CLOSED: usize = 0b01;
const WAITERS: usize = 0b10;
const SHIFT: u32 = 2;

/// The semaphore under all others.
pub(crate) struct Semaphore {
    /// For subscribers of `tracing`, who are told under no lock, of permits that come before they are there, of those that go when they are gone; empty without that feature.
    pub(crate) trace: nezumi_trace::Permits,
    /// `permits << SHIFT | WAITERS | CLOSED`.
    word: AtomicUsize,
    queue: Mutex<LinkedList<Waiter>>,
}

impl Semaphore {
    /// How many permits there may be. The same limit as Tokio's.
    pub(crate) const MAX_PERMITS: usize = usize::MAX >> 3;

    const_fn! {
        /// A semaphore with `permits` permits, at most [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[track_caller]
        pub(crate) fn new(permits: usize) -> Self {
            assert_in_range(permits);
            Self {
                trace: nezumi_trace::Permits::none(),
                word: AtomicUsize::new(permits << SHIFT),
                queue: Mutex::new(LinkedList::new()),
            }
        }
    }

    const_fn! {
        /// A semaphore without permits that is closed from the start.
        pub(crate) fn new_closed() -> Self {
            Self {
                trace: nezumi_trace::Permits::none(),
                word: AtomicUsize::new(CLOSED),
                queue: Mutex::new(LinkedList::new()),
            }
        }
    }

    /// A semaphore that subscribers of `tracing` are told of.
    #[track_caller]
    pub(crate) fn traced(permits: usize, trace: nezumi_trace::Permits) -> Self {
        let mut semaphore = Self::new(permits);
        semaphore.trace = trace;
        semaphore
    }

    /// How many permits a newcomer could have. None while others wait: what there is then is theirs.
    #[inline]
    pub(crate) fn available_permits(&self) -> usize {
        let word = self.word.load(Ordering::Acquire);
        if word & WAITERS == 0 { word >> SHIFT } else { 0 }
    }

    /// Whether [`close`](Self::close) was called.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Takes `permits` if they are there and nobody waits. No permits are there unless it is closed.
    #[inline]
    #[track_caller]
    pub(crate) fn try_acquire(&self, permits: usize) -> Result<(), TryAcquireError> {
        assert_in_range(permits);
        self.take(permits)?;
        self.telling(permits, || self.trace.taken(permits));
        Ok(())
    }

    /// Tells that permits were taken, by `tell`. They go back if that panics.
    #[inline]
    fn telling(&self, permits: usize, tell: impl FnOnce()) {
        struct GiveBack<'a>(&'a Semaphore, usize);

        impl Drop for GiveBack<'_> {
            fn drop(&mut self) {
                self.0.put_back(self.1);
            }
        }

        if nezumi_trace::IS_ON {
            let give_back = GiveBack(self, permits);
            tell();
            std::mem::forget(give_back);
        }
    }

    #[inline]
    fn take(&self, permits: usize) -> Result<(), TryAcquireError> {
        let need = permits << SHIFT;
        // Acquire, here and on failure: pairs with the Release in `close`; who is refused sees what the closer wrote.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & CLOSED != 0 {
                return Err(TryAcquireError::Closed);
            }
            if need == 0 {
                return Ok(());
            }
            if word & WAITERS != 0 || word < need {
                return Err(TryAcquireError::NoPermits);
            }
            // Acquire: pairs with the Release in `release` and `settle`; what their callers wrote is visible to ours.
            match self.word.compare_exchange_weak(word, word - need, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(seen) => word = seen,
            }
        }
    }

    /// Waits until `permits` can be had at once, behind all who asked before.
    #[inline]
    #[track_caller]
    pub(crate) fn acquire(&self, permits: usize) -> Acquire<'_> {
        assert_in_range(permits);
        let waiting = self.trace.acquire(permits);
        Acquire::new(self, waiting, permits)
    }

    /// [`acquire`](Self::acquire) for a thread that may block.
    #[track_caller]
    pub(crate) fn blocking_acquire(&self, permits: usize) -> Result<(), AcquireError> {
        entered::assert_may_block();
        // Without waiting if that is possible: `block_on` allocates.
        match self.try_acquire(permits) {
            Ok(()) => Ok(()),
            Err(TryAcquireError::Closed) => Err(AcquireError::new()),
            Err(TryAcquireError::NoPermits) => block_on(self.acquire(permits)),
        }
    }

    /// Adds permits, and serves those at the head of the queue whom they suffice.
    #[inline]
    #[track_caller]
    pub(crate) fn release(&self, permits: usize) {
        self.release_telling(permits, || {});
    }

    /// The same. Subscribers of `tracing` are told by `tell` before it, so that whatever they are told of those who take the
    /// permits comes after.
    #[inline]
    #[track_caller]
    pub(crate) fn release_telling(&self, permits: usize, tell: impl FnOnce()) {
        struct PutBack<'a>(&'a Semaphore, usize);

        impl Drop for PutBack<'_> {
            fn drop(&mut self) {
                self.0.put_back(self.1);
            }
        }

        if permits == 0 {
            return tell();
        }
        if nezumi_trace::IS_ON {
            // Also when telling panics.
            let put_back = PutBack(self, permits);
            tell();
            self.trace.added(permits);
            std::mem::forget(put_back);
        }
        self.put_back(permits);
    }

    #[inline]
    #[track_caller]
    fn put_back(&self, permits: usize) {
        assert!(
            permits <= Self::MAX_PERMITS,
            "cannot add more than MAX_PERMITS permits ({})",
            Self::MAX_PERMITS
        );
        // Relaxed: only a hint which of the two ways is the shorter.
        if self.word.load(Ordering::Relaxed) & WAITERS != 0 {
            return self.serve(self.queue.lock(), permits);
        }
        // Release: pairs with the Acquire in `take` and `grant`.
        let before = self.word.fetch_add(permits << SHIFT, Ordering::Release);
        assert_no_overflow(before, permits);
        if before & WAITERS != 0 {
            // Somebody came to wait since: the permits in the word are theirs.
            self.serve(self.queue.lock(), 0);
        }
    }

    /// Takes up to `permits` out of the world, and returns how many. Those who wait are not robbed.
    pub(crate) fn forget_permits(&self, permits: usize) -> usize {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let taken = if word & WAITERS == 0 { permits.min(word >> SHIFT) } else { 0 };
            if taken == 0 {
                return 0;
            }
            let rest = word - (taken << SHIFT);
            // Acquire: as in `take`.
            match self.word.compare_exchange_weak(word, rest, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    self.trace.taken(taken);
                    return taken;
                }
                Err(seen) => word = seen,
            }
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.available_permits()).finish()
    }
}

/// Also said at compile time, where numbers cannot be formatted.
const TOO_MANY: &str = match usize::BITS {
    64 => "a semaphore may not have more than MAX_PERMITS permits (2305843009213693951)",
    32 => "a semaphore may not have more than MAX_PERMITS permits (536870911)",
    _ => "a semaphore may not have more than MAX_PERMITS permits (usize::MAX >> 3)",
};

#[inline]
#[track_caller]
const fn assert_in_range(permits: usize) {
    assert!(permits <= Semaphore::MAX_PERMITS, "{}", TOO_MANY);
}

/// The word has two bits of room above `MAX_PERMITS`: what was added in excess has not touched the flags.
#[inline]
#[track_caller]
fn assert_no_overflow(before: usize, added: usize) {
    assert!(
        added == 0 || (before >> SHIFT) + added <= Semaphore::MAX_PERMITS,
        "number of added permits ({added}) would overflow MAX_PERMITS ({})",
        Semaphore::MAX_PERMITS
    );
}
