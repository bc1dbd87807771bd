//! Tasks, and what becomes of their wakers.

use crate::{Kind, Spawned};
use std::any::type_name;
use std::num::NonZeroU64;
use std::panic::Location;
use tracing::{Instrument, Span};

/// A future within the span of its task.
pub type Traced<F> = tracing::instrument::Instrumented<F>;

/// A future that is about to become a task, within its span.
pub fn task<F>(kind: Kind, spawned: Spawned<'_>, future: F) -> Traced<F> {
    let kind = match kind {
        Kind::Task => "task",
        Kind::Local => "local",
    };
    future.instrument(span_of_task(kind, spawned, size_of::<F>()))
}

/// A future that a thread blocks on, within a span as if it were a task, with an id of its own.
#[track_caller]
pub fn block_on<F>(next_id: impl FnOnce() -> u64, future: F) -> Traced<F> {
    let spawned = Spawned { id: next_id(), name: None, at: Location::caller() };
    future.instrument(span_of_task("block_on", spawned, size_of::<F>()))
}

fn span_of_task(kind: &str, spawned: Spawned<'_>, size: usize) -> Span {
    tracing::trace_span!(
        target: "tokio::task",
        parent: None,
        "runtime.spawn",
        %kind,
        task.id = spawned.id,
        task.name = %spawned.name.unwrap_or_default(),
        size.bytes = size,
        loc.file = spawned.at.file(),
        loc.line = spawned.at.line(),
        loc.col = spawned.at.column(),
    )
}

/// The future that calls a closure of the type `C` on a thread for blocking work, within the span of that task.
pub fn blocking<C, F>(spawned: Spawned<'_>, future: F) -> Traced<F> {
    future.instrument(span_of_closure(type_name::<C>(), spawned, size_of::<C>()))
}

fn span_of_closure(closure: &str, spawned: Spawned<'_>, size: usize) -> Span {
    tracing::trace_span!(
        target: "tokio::task::blocking",
        "runtime.spawn",
        kind = %"blocking",
        task.id = spawned.id,
        task.name = %spawned.name.unwrap_or_default(),
        "fn" = %closure,
        size.bytes = size,
        loc.file = spawned.at.file(),
        loc.line = spawned.at.line(),
        loc.col = spawned.at.column(),
    )
}

/// The number of a task's span, by which its wakers are told apart. It does not keep the span.
#[derive(Clone, Copy, Debug)]
pub struct TaskSpan(Option<NonZeroU64>);

impl TaskSpan {
    /// That of a task's future.
    #[inline]
    pub fn of<F>(future: &Traced<F>) -> Self {
        Self(future.span().id().map(|id| id.into_non_zero_u64()))
    }

    #[inline]
    fn tell(self, op: &'static str) {
        if let Some(id) = self.0 {
            tracing::trace!(target: "tokio::task::waker", op, task.id = id.get());
        }
    }

    /// A waker of the task is being cloned.
    #[inline]
    pub fn waker_cloned(self) {
        self.tell("waker.clone");
    }

    /// A waker of the task is being woken, and with that used up.
    #[inline]
    pub fn waker_woken(self) {
        self.tell("waker.wake");
    }

    /// A waker of the task is being woken.
    #[inline]
    pub fn waker_woken_by_ref(self) {
        self.tell("waker.wake_by_ref");
    }

    /// A waker of the task is being dropped.
    #[inline]
    pub fn waker_dropped(self) {
        self.tell("waker.drop");
    }
}
