//! What the two ends of a watch channel share: the value, its version, and who waits.

use crate::waiters::{Waiter, Waiting, wake_all};
use nezumi_prim::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use nezumi_prim::sync::{Mutex, RwLock};
use nezumi_queue::list::LinkedList;
use nezumi_wake::FirstPanic;
use std::fmt;

/// Over how many lists the waiting receivers are spread, so that their locks are not one bottleneck.
pub(super) const SHARDS: usize = 8;

/// All senders are gone.
const CLOSED: u64 = 1;
/// One bit per shard: its list may hold waiters.
const WAITING: u64 = ((1 << SHARDS) - 1) << 1;
/// What one change adds; the version is what stands from here on.
const STEP: u64 = 1 << (SHARDS + 1);

const fn waiting(shard: usize) -> u64 {
    1 << (shard + 1)
}

pub(super) type Shard = Mutex<LinkedList<Waiter>>;

pub(super) struct Shared<T> {
    pub(super) value: RwLock<T>,
    state: State,
    shards: [Shard; SHARDS],
    pub(super) receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    /// Senders that wait for the last receiver to go.
    pub(super) closing: Shard,
}

/// Which value a receiver saw last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(u64);

impl Version {
    pub(super) const INITIAL: Self = Self(0);

    /// A version that differs from the current one.
    pub(super) fn step_back(&mut self) {
        self.0 = self.0.wrapping_sub(STEP);
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Version").field(&(self.0 / STEP)).finish()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Snapshot(u64);

impl Snapshot {
    pub(super) fn version(self) -> Version {
        Version(self.0 & !(CLOSED | WAITING))
    }

    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether a receiver that saw `seen` has anything to learn.
    pub(super) fn is_news(self, seen: Version) -> bool {
        self.version() != seen || self.is_closed()
    }
}

struct State(AtomicU64);

impl<T> Shared<T> {
    pub(super) fn new(value: T, receivers: usize) -> Self {
        Self {
            value: RwLock::new(value),
            state: State(AtomicU64::new(Version::INITIAL.0)),
            shards: std::array::from_fn(|_| Shard::default()),
            receivers: AtomicUsize::new(receivers),
            senders: AtomicUsize::new(1),
            closing: Shard::default(),
        }
    }

    /// Acquire: pairs with the Release in `bump` and `close`.
    pub(super) fn state(&self) -> Snapshot {
        Snapshot(self.state.0.load(Ordering::Acquire))
    }

    pub(super) fn waiting(&self, shard: usize) -> Waiting<'_, LinkedList<Waiter>> {
        Waiting::new(&self.shards[shard])
    }

    /// Counts a change, under the write lock of the value. Returns who is to be [woken](Self::wake) after it.
    #[must_use]
    pub(super) fn bump(&self) -> u64 {
        // Release: what the sender did before is visible to who sees the change. No Acquire: the lock of a list orders the rest.
        self.state.0.fetch_add(STEP, Ordering::Release) & WAITING
    }

    pub(super) fn close(&self) {
        // As in `bump`.
        let waiting = self.state.0.fetch_or(CLOSED, Ordering::Release) & WAITING;
        self.wake(waiting);
    }

    /// Announces a waiter in `shard`, whose lock is held, unless there is news.
    pub(super) fn announce(&self, shard: usize, seen: Version) -> Option<Snapshot> {
        // Acquire, here and on failure: as in `state`; news that is found here is as good.
        let mut now = self.state.0.load(Ordering::Acquire);
        loop {
            if Snapshot(now).is_news(seen) {
                return Some(Snapshot(now));
            }
            if now & waiting(shard) != 0 {
                // Nobody clears the bit without the lock that we hold: whoever changed, or changes, the state since it was
                // set comes for this list after us.
                return None;
            }
            // R2 of the module header. Relaxed: the bit brings who sees it to the lock that we hold, and nothing else.
            match self.state.0.compare_exchange_weak(
                now,
                now | waiting(shard),
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                Ok(_) => return None,
                Err(found) => now = found,
            }
        }
    }

    /// Wakes the waiters of the shards whose bits are set in `waiting`.
    #[inline]
    pub(super) fn wake(&self, waiting: u64) {
        if waiting != 0 {
            self.wake_shards(waiting);
        }
    }

    #[cold]
    fn wake_shards(&self, bits: u64) {
        let mut panics = FirstPanic::new();
        for (shard, lock) in self.shards.iter().enumerate() {
            if bits & waiting(shard) == 0 {
                continue;
            }
            let guard = lock.lock();
            // Relaxed: the lock orders it against `announce`.
            self.state.0.fetch_and(!waiting(shard), Ordering::Relaxed);
            // A panicking waker must not keep the other shards asleep.
            panics.run(|| wake_all(lock, guard));
        }
        panics.resume();
    }

    /// One receiver less. Wakes the senders that wait for the last one.
    pub(super) fn receiver_gone(&self) {
        // Release: what the receiver did is visible to a sender that sees the count at zero.
        if self.receivers.fetch_sub(1, Ordering::Release) == 1 {
            wake_all(&self.closing, self.closing.lock());
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Shared")
            .field("value", &self.value)
            .field("version", &state.version())
            .field("is_closed", &state.is_closed())
            .field("ref_count_rx", &self.receivers.load(Ordering::Relaxed))
            .finish()
    }
}
