//! Operations that may wait, and their polls.

use super::resource::Resource;
use nezumi_wake::contain;
use pin_project_lite::pin_project;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};
use tracing::Span;
use tracing::span::Entered;

/// The spans of one operation on a resource: of itself, and of its polls.
#[derive(Clone, Debug)]
pub struct Waiting {
    op: Span,
    poll: Span,
}

// As for `Resource`.
impl UnwindSafe for Waiting {}
impl RefUnwindSafe for Waiting {}

/// A poll is under way, until this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Inside<'a> {
    // Left in this order.
    _poll: Entered<'a>,
    _op: Entered<'a>,
    _resource: Entered<'a>,
}

impl Inside<'_> {
    /// The poll is over.
    pub fn leave(self) {}
}

impl Waiting {
    pub(super) fn new(op: Span, poll: Span) -> Self {
        Self { op, poll }
    }

    /// Of which nobody is told.
    pub(super) fn none() -> Self {
        Self::new(Span::none(), Span::none())
    }

    pub(super) fn op(&self) -> &Span {
        &self.op
    }

    /// The operation on `resource` is being polled.
    pub fn enter<'a>(&'a self, resource: &'a Resource) -> Inside<'a> {
        let (_resource, _op) = (resource.span().enter(), self.op.enter());
        Inside { _poll: self.poll.enter(), _op, _resource }
    }
}

/// A poll has ended so.
#[inline]
pub fn polled(op_name: &'static str, is_ready: bool) {
    tracing::trace!(target: "runtime::resource::poll_op", op_name, is_ready);
}

pin_project! {
    /// The future of an operation, within its spans.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Operation<F> {
        #[pin]
        future: F,
        waiting: Waiting,
        resource: Resource,
        // `None` where nobody is told.
        poll_op: Option<&'static str>,
    }
}

impl<F> Operation<F> {
    pub(super) fn new(
        resource: &Resource,
        source: &'static str,
        poll_op: &'static str,
        inherits_child_attrs: bool,
        make: impl FnOnce() -> F,
    ) -> Self {
        resource.in_scope(|| {
            let op = tracing::trace_span!(
                target: "tokio::util::trace",
                "runtime.resource.async_op",
                source,
                inherits_child_attrs,
            );
            let (future, poll) = op.in_scope(|| {
                let poll =
                    tracing::trace_span!(target: "tokio::util::trace", "runtime.resource.async_op.poll");
                (make(), poll)
            });
            Self {
                future,
                waiting: Waiting::new(op, poll),
                resource: resource.clone(),
                poll_op: Some(poll_op),
            }
        })
    }
}

impl<F> Operation<F> {
    /// One of which nobody is told.
    pub(super) fn silent(future: F) -> Self {
        Self { future, waiting: Waiting::none(), resource: Resource::none(), poll_op: None }
    }
}

impl<F: Future> Future for Operation<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(poll_op) = *this.poll_op else { return this.future.poll(cx) };
        let inside = this.waiting.enter(this.resource);
        let outcome = this.future.poll(cx);
        if outcome.is_pending() {
            polled(poll_op, false);
            return Poll::Pending;
        }
        // What was waited for may be a lock that would never be given up: it must not be lost on the way.
        contain(|| {
            polled(poll_op, true);
            inside.leave();
        });
        outcome
    }
}
