//! What tasks wait for.

use super::operation::{Operation, Waiting};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::Duration;
use tracing::Span;

/// The span of something that tasks wait for. Clones are of the same.
#[derive(Clone, Debug)]
pub struct Resource(Span);

// A subscriber that panics leaves the span as it is.
impl UnwindSafe for Resource {}
impl RefUnwindSafe for Resource {}

/// A span of what the program has made at `$at`.
macro_rules! resource {
    ($target:literal, $type:literal, $kind:literal, $at:expr) => {
        Resource(tracing::trace_span!(
            target: $target,
            parent: None,
            "runtime.resource",
            concrete_type = $type,
            kind = $kind,
            loc.file = $at.file(),
            loc.line = $at.line(),
            loc.col = $at.column(),
        ))
    };
}

/// Tells how the resource changes.
macro_rules! update {
    ($resource:expr, $($field:tt)*) => {
        $resource.in_scope(|| tracing::trace!(target: "runtime::resource::state_update", $($field)*))
    };
}
pub(super) use update;

impl Resource {
    /// One that nobody is told of: made where nothing can be told.
    #[must_use]
    pub const fn none() -> Self {
        Self(Span::none())
    }

    pub(super) fn span(&self) -> &Span {
        &self.0
    }

    /// Calls `f` inside the span.
    #[inline]
    pub fn in_scope<R>(&self, f: impl FnOnce() -> R) -> R {
        self.0.in_scope(f)
    }

    /// A barrier for so many.
    #[must_use]
    #[track_caller]
    pub fn barrier(size: usize) -> Self {
        let resource = resource!("tokio::sync::barrier", "Barrier", "Sync", Location::caller());
        resource.in_scope(|| {
            tracing::trace!(target: "runtime::resource::state_update", size);
            tracing::trace!(target: "runtime::resource::state_update", arrived = 0);
        });
        resource
    }

    /// One more has come to the barrier, perhaps the last. The caller is inside its operation.
    pub fn arrived(&self, is_leader: bool) {
        tracing::trace!(target: "runtime::resource::state_update", arrived = 1, arrived.op = "add");
        tracing::trace!(target: "runtime::resource::async_op::state_update", arrived = true);
        if is_leader {
            tracing::trace!(target: "runtime::resource::async_op::state_update", is_leader = true);
            tracing::trace!(target: "runtime::resource::state_update", arrived = 0, arrived.op = "override");
        }
    }

    /// A channel for one value.
    #[must_use]
    #[track_caller]
    pub fn oneshot() -> Self {
        let resource = resource!("tokio::sync::oneshot", "Sender|Receiver", "Sync", Location::caller());
        resource.set_tx_dropped(false);
        resource.set_rx_dropped(false);
        update!(resource, value_sent = false, value_sent.op = "override");
        update!(resource, value_received = false, value_received.op = "override");
        resource
    }

    fn set_tx_dropped(&self, tx_dropped: bool) {
        update!(self, tx_dropped, tx_dropped.op = "override");
    }

    fn set_rx_dropped(&self, rx_dropped: bool) {
        update!(self, rx_dropped, rx_dropped.op = "override");
    }

    /// The sender has gone without having sent.
    pub fn tx_dropped(&self) {
        self.set_tx_dropped(true);
    }

    /// The receiver has closed the channel, or has gone without an answer.
    pub fn rx_dropped(&self) {
        self.set_rx_dropped(true);
    }

    /// The value was sent.
    pub fn value_sent(&self) {
        update!(self, value_sent = true, value_sent.op = "override");
    }

    /// The value was received.
    pub fn value_received(&self) {
        update!(self, value_received = true, value_received.op = "override");
    }

    /// A timer.
    #[must_use]
    #[track_caller]
    pub fn sleep() -> Self {
        resource!("tokio::time::sleep", "Sleep", "timer", Location::caller())
    }

    /// The timer is armed to end after so long. The caller is inside its operation.
    pub fn armed(&self, duration: Duration) {
        let ms = u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        tracing::trace!(
            target: "runtime::resource::state_update",
            duration = ms,
            duration.unit = "ms",
            duration.op = "override",
        );
    }

    /// A timer that ends again and again.
    #[must_use]
    #[track_caller]
    pub fn interval() -> Self {
        resource!("tokio::time::interval", "Interval", "timer", Location::caller())
    }

    #[track_caller]
    pub(super) fn semaphore() -> Self {
        resource!("tokio::sync::semaphore", "Semaphore", "Sync", Location::caller())
    }

    #[track_caller]
    pub(super) fn mutex() -> Self {
        resource!("tokio::sync::mutex", "Mutex", "Sync", Location::caller())
    }

    pub(super) fn locked(&self, locked: bool) {
        update!(self, locked);
    }

    #[track_caller]
    pub(super) fn rwlock(max_readers: u32) -> Self {
        let resource = resource!("tokio::sync::rwlock", "RwLock", "Sync", Location::caller());
        resource.in_scope(|| {
            tracing::trace!(target: "runtime::resource::state_update", max_readers);
            tracing::trace!(target: "runtime::resource::state_update", write_locked = false);
            tracing::trace!(target: "runtime::resource::state_update", current_readers = 0);
        });
        resource
    }

    pub(super) fn reader(&self, op: &'static str) {
        update!(self, current_readers = 1, current_readers.op = op);
    }

    pub(super) fn write_locked(&self, write_locked: bool) {
        update!(self, write_locked, write_locked.op = "override");
    }

    /// What the resource above is made of: not shown unless asked for.
    pub(super) fn permits() -> Self {
        Resource(tracing::trace_span!(
            target: "tokio::sync::batch_semaphore",
            parent: None,
            "runtime.resource",
            concrete_type = "Semaphore",
            kind = "Sync",
            is_internal = true,
        ))
    }

    /// An operation on this that may wait: `source` is the function that the program has called, `make` gives its future.
    #[inline]
    pub fn operation<F>(
        &self,
        source: &'static str,
        poll_op: &'static str,
        make: impl FnOnce() -> F,
    ) -> Operation<F> {
        Operation::new(self, source, poll_op, false, make)
    }

    /// The operation of who waits at a channel for one value.
    #[must_use]
    pub fn receive(&self) -> Waiting {
        let op = self.in_scope(|| {
            tracing::trace_span!(
                target: "tokio::sync::oneshot",
                "runtime.resource.async_op",
                source = "Receiver::await",
            )
        });
        let poll = op.in_scope(
            || tracing::trace_span!(target: "tokio::sync::oneshot", "runtime.resource.async_op.poll"),
        );
        Waiting::new(op, poll)
    }

    /// The operation of who waits for a timer.
    #[must_use]
    pub fn wait_for_timer(&self, source: &'static str) -> Waiting {
        let op = tracing::trace_span!(
            target: "tokio::time::sleep",
            parent: self.span(),
            "runtime.resource.async_op",
            source,
        );
        let poll = tracing::trace_span!(
            target: "tokio::time::sleep",
            parent: &op,
            "runtime.resource.async_op.poll"
        );
        Waiting::new(op, poll)
    }
}
