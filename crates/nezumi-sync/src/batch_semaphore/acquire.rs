//! The future that waits for permits.

use super::queue::Waiter;
use super::{AcquireError, Semaphore, TryAcquireError};
use nezumi_prim::sync::atomic::Ordering;
use nezumi_trace::Waiting;
use nezumi_wake::{coop, leaf};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Waits for permits. Dropped when queued, it leaves the queue; dropped when granted but not polled since, the permits go
    /// back.
    #[must_use = "futures do nothing unless polled"]
    pub(crate) struct Acquire<'a> {
        semaphore: &'a Semaphore,
        // Whether the waiter has joined the queue and has not yet told the caller that it was granted.
        queued: bool,
        waiting: Waiting,
        #[pin]
        waiter: Waiter,
    }

    impl PinnedDrop for Acquire<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if *this.queued {
                this.semaphore.abandon(this.waiter.as_ref());
            }
        }
    }
}

impl<'a> Acquire<'a> {
    #[inline]
    pub(super) fn new(semaphore: &'a Semaphore, waiting: Waiting, permits: usize) -> Self {
        Self { semaphore, queued: false, waiting, waiter: Waiter::new(permits) }
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("permits", &self.waiter.permits)
            .field("queued", &self.queued)
            .finish()
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if !*this.queued {
            // Before it takes anything: who only looks must leave the permits where they are.
            ready!(leaf::poll_leaf(cx));
        }
        let waiter = this.waiter.as_ref();
        let trace = &this.semaphore.trace;
        let inside = trace.enter(this.waiting);
        let was_queued = *this.queued;
        let result = if was_queued {
            match this.semaphore.poll_queued(waiter, cx) {
                Poll::Ready(result) => result,
                Poll::Pending => {
                    trace.polled(false);
                    return Poll::Pending;
                }
            }
        } else {
            match this.semaphore.take(waiter.permits) {
                Ok(()) => Ok(()),
                Err(TryAcquireError::Closed) => Err(AcquireError::new()),
                Err(TryAcquireError::NoPermits) => match this.semaphore.enqueue(waiter, this.waiting, cx) {
                    Poll::Ready(result) => result,
                    Poll::Pending => {
                        *this.queued = true;
                        trace.taken(0);
                        trace.polled(false);
                        return Poll::Pending;
                    }
                },
            }
        };
        if result.is_err() {
            trace.polled(true);
            inside.leave();
            return Poll::Ready(result);
        }
        let taken = !was_queued;
        let Poll::Ready(coop) = coop::poll_proceed(cx) else {
            if waiter.permits > 0 {
                // As if it had been queued and granted: they are told of the next time, or go back.
                waiter.share.store(waiter.permits, Ordering::Relaxed);
                *this.queued = true;
            }
            if taken {
                trace.taken(waiter.permits);
                trace.obtained(waiter.permits);
            }
            trace.polled(false);
            return Poll::Pending;
        };
        if taken {
            this.semaphore.telling(waiter.permits, || {
                trace.taken(waiter.permits);
                trace.obtained(waiter.permits);
                trace.polled(true);
                inside.leave();
            });
        } else {
            trace.polled(true);
            inside.leave();
        }
        // The permits are the caller's now.
        *this.queued = false;
        coop.made_progress();
        Poll::Ready(result)
    }
}
