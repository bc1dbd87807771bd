//! What the scheduler tells about itself.
//!
//! Called by the workers of `nezumi-core`; read by its metrics. Knows nothing of tasks or workers.
//!
//! [`Event`] names once what can happen. [`Counters`] counts it: one set per worker, on cache lines of its own, written by that worker
//! alone with plain loads and stores, so that counting costs no read-modify-write and disturbs nobody. Readers sum what they see.

use nezumi_prim::sync::atomic::{AtomicU64, Ordering};

/// What a scheduler can tell of. The vocabulary of counters, traces and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// A task was made.
    Spawned,
    /// A task was polled.
    Polled,
    /// A task ended.
    Completed,
    /// A task was pushed on the worker's own ring.
    ScheduledLocally,
    /// A task came from outside the workers.
    ScheduledRemotely,
    /// A task was made to yield since its budget was used up.
    ForcedYield,
    /// The ring was full and gave half of itself to the relay.
    Overflowed,
    /// One task was taken from another worker.
    Stolen,
    /// One batch of tasks was taken from another worker.
    StealOperation,
    /// The worker went to sleep.
    Parked,
    /// The worker woke up.
    Unparked,
    /// The worker woke up, found nothing and went to sleep again.
    WokenInVain,
    /// Another worker took over what this one left behind in a long poll.
    Rescued,
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// One worker's counters. Written by the worker alone, read by anyone.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)*
        }
    };
}

counters! {
    /// [`Event::Spawned`].
    spawned,
    /// [`Event::Polled`].
    polled,
    /// [`Event::Completed`].
    completed,
    /// [`Event::ScheduledLocally`].
    scheduled_locally,
    /// [`Event::ForcedYield`].
    forced_yields,
    /// [`Event::Overflowed`].
    overflowed,
    /// [`Event::Stolen`].
    stolen,
    /// [`Event::StealOperation`].
    steal_operations,
    /// [`Event::Parked`].
    parked,
    /// [`Event::Parked`] and [`Event::Unparked`] together.
    parked_unparked,
    /// [`Event::WokenInVain`].
    woken_in_vain,
    /// [`Event::Rescued`].
    rescued,
    /// Nanoseconds spent awake.
    busy_ns,
    /// A moving average of the nanoseconds one poll takes.
    mean_poll_ns,
}

/// A number that one thread writes.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the owner of the counter may call this: it is not a read-modify-write.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        // Relaxed: a statistic. One writer, so that the load cannot miss an increment.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Replaces the value. Only the owner of the counter may call this.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds `n` where several threads write.
    #[inline]
    pub fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The value, as far as this thread can see.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
