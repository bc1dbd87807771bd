//! The permits of a semaphore, and what the program sees in their place: a semaphore, a mutex, a lock for readers and writers.

use super::operation::{Operation, Waiting, polled};
use super::resource::{Resource, update};
use std::cell::UnsafeCell;
use std::fmt;
use tracing::Level;

/// Two resources: the permits, and what they stand for.
#[derive(Clone, Debug)]
pub struct Permits {
    // What the program sees goes first.
    owner: Resource,
    own: Resource,
    scope: Scope,
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Nothing,
    /// Who waits, but not how many permits there are. A subscriber may itself send over a channel without waiting, while it is told
    /// something for the first time: whatever that does must not be told.
    Operations,
    All,
}

impl Permits {
    /// Of which nobody is told.
    #[must_use]
    pub const fn none() -> Self {
        Self { owner: Resource::none(), own: Resource::none(), scope: Scope::Nothing }
    }

    fn of(owner: Resource, permits: usize) -> Self {
        let own = owner.in_scope(|| {
            let own = Resource::permits();
            update!(own, permits, permits.op = "override");
            own
        });
        Self { owner, own, scope: Scope::All }
    }

    /// Those of a channel.
    #[must_use]
    pub fn of_channel() -> Self {
        Self { owner: Resource::none(), own: Resource::permits(), scope: Scope::Operations }
    }

    /// Those of a semaphore.
    #[must_use]
    #[track_caller]
    pub fn of_semaphore(permits: usize) -> Self {
        Self::of(Resource::semaphore(), permits)
    }

    /// That of a mutex.
    #[must_use]
    #[track_caller]
    pub fn of_mutex() -> Self {
        let owner = Resource::mutex();
        let own = owner.in_scope(|| {
            tracing::trace!(target: "runtime::resource::state_update", locked = false);
            let own = Resource::permits();
            update!(own, permits = 1_usize, permits.op = "override");
            own
        });
        Self { owner, own, scope: Scope::All }
    }

    /// Those of a lock for so many readers.
    #[must_use]
    #[track_caller]
    pub fn of_rwlock(max_readers: u32) -> Self {
        Self::of(Resource::rwlock(max_readers), max_readers as usize)
    }

    /// The program locks, or asks for permits, by the function `source`.
    #[inline]
    pub fn operation<F>(&self, source: &'static str, make: impl FnOnce() -> F) -> Operation<F> {
        match self.scope {
            Scope::Nothing => Operation::silent(make()),
            _ => self.owner.operation(source, "poll", make),
        }
    }

    /// The program asks a semaphore for permits by the function `source`: what it asks for is shown.
    #[inline]
    pub fn acquisition<F>(&self, source: &'static str, make: impl FnOnce() -> F) -> Operation<F> {
        match self.scope {
            Scope::Nothing => Operation::silent(make()),
            _ => Operation::new(&self.owner, source, "poll", true, make),
        }
    }

    /// Somebody asks for so many permits.
    #[must_use]
    pub fn acquire(&self, permits: usize) -> Waiting {
        if self.scope == Scope::Nothing {
            return Waiting::none();
        }
        self.own.in_scope(|| {
            let op = tracing::trace_span!(
                target: "tokio::sync::batch_semaphore",
                "runtime.resource.async_op",
                source = "Acquire::new",
            );
            let poll = op.in_scope(|| {
                tracing::trace!(
                    target: "runtime::resource::async_op::state_update",
                    permits_requested = permits,
                    permits.op = "override",
                );
                tracing::trace!(
                    target: "runtime::resource::async_op::state_update",
                    permits_obtained = 0_usize,
                    permits.op = "override",
                );
                tracing::trace_span!(
                    target: "tokio::sync::batch_semaphore",
                    "runtime.resource.async_op.poll"
                )
            });
            Waiting::new(op, poll)
        })
    }

    /// An operation on the permits is being polled.
    pub fn enter<'a>(&'a self, waiting: &'a Waiting) -> super::Inside<'a> {
        waiting.enter(&self.own)
    }

    /// A poll of somebody who asks has ended so.
    pub fn polled(&self, is_ready: bool) {
        if self.scope != Scope::Nothing {
            polled("poll_acquire", is_ready);
        }
    }

    /// So many permits are not available any more.
    pub fn taken(&self, permits: usize) {
        if self.scope == Scope::All {
            update!(self.own, permits, permits.op = "sub");
        }
    }

    /// So many permits are about to be available.
    pub fn added(&self, permits: usize) {
        if self.scope == Scope::All {
            update!(self.own, permits, permits.op = "add");
        }
    }

    /// The operation that the caller is inside got so many permits.
    pub fn obtained(&self, permits: usize) {
        if self.scope == Scope::Nothing {
            return;
        }
        tracing::trace!(
            target: "runtime::resource::async_op::state_update",
            permits_obtained = permits,
            permits.op = "add",
        );
    }

    /// These were granted what they waited for. Under no lock.
    pub fn served(&self, granted: Granted) {
        let mut taken = 0;
        for (waiting, permits) in granted.0 {
            match waiting {
                Some(waiting) => waiting.op().in_scope(|| self.obtained(permits)),
                // Nobody listened when it came to wait.
                None => self.obtained(permits),
            }
            taken += permits;
        }
        if taken > 0 {
            self.taken(taken);
        }
    }

    /// The mutex was locked, or unlocked.
    pub fn locked(&self, locked: bool) {
        if self.scope == Scope::All {
            self.owner.locked(locked);
        }
    }

    /// There is one more reader.
    pub fn reader_came(&self) {
        if self.scope == Scope::All {
            self.owner.reader("add");
        }
    }

    /// There is one reader less.
    pub fn reader_left(&self) {
        if self.scope == Scope::All {
            self.owner.reader("sub");
        }
    }

    /// There is a writer now, or none any more.
    pub fn write_locked(&self, locked: bool) {
        if self.scope == Scope::All {
            self.owner.write_locked(locked);
        }
    }
}

/// The spans of one who waits in a queue, for whoever grants them what they wait for. Guarded by the lock of that queue.
#[derive(Default)]
pub struct Slot(UnsafeCell<Option<Waiting>>);

// SAFETY: spans may be used on any thread; access is under the contract of the methods.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// With nothing in it.
    #[must_use]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// Keeps the spans of who is about to queue.
    ///
    /// # Safety
    ///
    /// Nobody else knows of this slot yet.
    pub unsafe fn keep(&self, waiting: &Waiting) {
        if tracing::level_enabled!(Level::TRACE) {
            let waiting = Some(waiting.clone());
            // SAFETY: the caller's promise.
            drop(std::mem::replace(unsafe { &mut *self.0.get() }, waiting));
        }
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// Who was granted what, to be told once the lock is released.
#[derive(Debug, Default)]
pub struct Granted(Vec<(Option<Waiting>, usize)>);

impl Granted {
    /// Nobody, as yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whose spans these are has so many permits.
    ///
    /// # Safety
    ///
    /// The caller holds the lock that guards the slot.
    pub unsafe fn push(&mut self, slot: &Slot, permits: usize) {
        if tracing::level_enabled!(Level::TRACE) {
            // SAFETY: the lock excludes every other access.
            let waiting = unsafe { &mut *slot.0.get() }.take();
            self.0.push((waiting, permits));
        }
    }
}
