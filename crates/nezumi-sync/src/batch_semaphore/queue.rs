//! Who waits for permits: how they come into the queue and leave it, served, refused, or of their own accord.
//!
//! Called by the semaphore (release, close) and by its future. The promises are those of the module above; all that happens here happens under the lock,
//! but for wakes and what is dropped.

use super::{AcquireError, CLOSED, SHIFT, Semaphore, WAITERS, assert_no_overflow};
use crate::wakers::{Batches, WakerSlot};
use nezumi_prim::sync::MutexGuard;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_queue::list::{Link, LinkedList, Links};
use nezumi_trace::{Granted, Slot, Waiting};
use nezumi_wake::FirstPanic;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// A place in the queue.
pub(super) struct Waiter {
    links: Links,
    /// How many it waits for, at least 1 if it is queued. Never changes.
    pub(super) permits: usize,
    /// How many it was given when it was taken out of the queue: all, or fewer by `close`. 0 until then.
    pub(super) share: AtomicUsize,
    waker: WakerSlot,
    slot: Slot,
}

// SAFETY: `links` is a field of the type `Links`, which only the list touches.
unsafe impl Link for Waiter {
    const OFFSET: usize = std::mem::offset_of!(Waiter, links);
}

impl Waiter {
    #[inline]
    pub(super) fn new(permits: usize) -> Self {
        Self {
            links: Links::new(),
            permits,
            share: AtomicUsize::new(0),
            waker: WakerSlot::new(),
            slot: Slot::new(),
        }
    }

    fn share(&self) -> usize {
        // Acquire: pairs with the Release in `grant` and `close`.
        self.share.load(Ordering::Acquire)
    }

    fn is_granted(&self) -> bool {
        self.share() == self.permits
    }
}

impl Semaphore {
    /// Refuses all who wait and all who come. Permits that are out can still be released.
    pub(crate) fn close(&self) {
        let mut wakers = Batches::new();
        let mut of_head = 0;
        let mut queue = self.queue.lock();
        // From here on nobody joins the queue (`enqueue` looks under the lock), so the loop ends. Release: pairs with the
        // Acquire in `is_closed` and `take`. No Acquire: the head, which is refused, gives its share back to the word, and whoever
        // reads that there sees what the releasers wrote.
        let word = self.word.fetch_or(CLOSED, Ordering::Release);
        if let Some(head) = queue.front() {
            // SAFETY: it is linked and the lock is held, so its future has not freed it.
            let head = unsafe { head.as_ref() };
            let share = head.permits.min(word >> SHIFT);
            of_head = share;
            if share > 0 {
                // Relaxed: what it held goes on by the share. WAITERS is set: others only add to the word.
                self.word.fetch_sub(share << SHIFT, Ordering::Relaxed);
                // SAFETY: the lock is held.
                wakers.push(unsafe { head.waker.take() });
                queue.pop_front();
                // The last touch, as in `grant`.
                head.share.store(share, Ordering::Release);
            }
        }
        loop {
            while wakers.has_room() {
                let Some(waiter) = queue.pop_front() else { break };
                // SAFETY: it was linked, so its future has not freed it, and the lock is held. It is not touched after this.
                wakers.push(unsafe { waiter.as_ref().waker.take() });
            }
            let emptied = queue.is_empty();
            if emptied {
                // Relaxed: it only says what the lock knows; as a read-modify-write it keeps what others released.
                self.word.fetch_and(!WAITERS, Ordering::Relaxed);
            }
            drop(queue);
            if emptied {
                wakers.wake_last();
                if of_head > 0 {
                    self.trace.taken(of_head);
                }
                return;
            }
            wakers.wake();
            queue = self.queue.lock();
        }
    }

    /// Serves the heads of the queue with the permits in the word and `in_hand` more, and wakes them.
    #[cold]
    #[track_caller]
    pub(super) fn serve<'a>(&'a self, mut queue: MutexGuard<'a, LinkedList<Waiter>>, mut in_hand: usize) {
        let mut wakers = Batches::new();
        let mut granted = Granted::new();
        loop {
            let (before, served_all) = self.grant(&mut queue, in_hand, &mut wakers, &mut granted);
            drop(queue);
            if served_all {
                wakers.wake_last();
                assert_no_overflow(before, in_hand);
                return self.trace.served(granted);
            }
            in_hand = 0;
            wakers.wake();
            queue = self.queue.lock();
        }
    }

    /// Grants to the heads while the permits last and `wakers` has room. Returns the word as it was, and whether all are
    /// served who can be.
    fn grant(
        &self,
        queue: &mut LinkedList<Waiter>,
        in_hand: usize,
        wakers: &mut Batches,
        granted: &mut Granted,
    ) -> (usize, bool) {
        // Acquire: pairs with the Release of every releaser whose permits we pass on.
        let word = self.word.load(Ordering::Acquire);
        let mut left = (word >> SHIFT) + in_hand;
        let mut served_all = true;
        while let Some(head) = queue.front() {
            // SAFETY: it is linked and the lock is held, so its future has not freed it.
            let waiter = unsafe { head.as_ref() };
            if waiter.permits > left {
                break;
            }
            if !wakers.has_room() {
                served_all = false;
                break;
            }
            left -= waiter.permits;
            queue.pop_front();
            // SAFETY: the lock is held.
            unsafe {
                wakers.push(waiter.waker.take());
                granted.push(&waiter.slot, waiter.permits);
            }
            // The last touch: the future may free the node at once. Release: pairs with the Acquire in `share`; hands on what
            // the releasers wrote.
            waiter.share.store(waiter.permits, Ordering::Release);
        }
        // The word may have grown since it was read. It is changed by the difference, never overwritten: whoever added to it
        // saw WAITERS and comes after us.
        let mut change = left.wrapping_sub(word >> SHIFT) << SHIFT;
        if word & WAITERS != 0 && queue.is_empty() {
            change = change.wrapping_sub(WAITERS);
        }
        if change != 0 {
            // Release: pairs with the Acquire in `take` and `grant`; some of `in_hand` may be among it.
            self.word.fetch_add(change, Ordering::Release);
        }
        (word, served_all)
    }

    /// Joins the queue, unless the permits can be had by now.
    #[cold]
    pub(super) fn enqueue(
        &self,
        waiter: Pin<&Waiter>,
        waiting: &Waiting,
        cx: &Context<'_>,
    ) -> Poll<Result<(), AcquireError>> {
        // Before the lock: to clone is to run the user's code. Declared first, so that it is dropped after the lock, too.
        let waker = cx.waker().clone();
        // SAFETY: a waiter is shared from the moment on when it is queued, which it has never been.
        unsafe { waiter.slot.keep(waiting) };
        let mut queue = self.queue.lock();
        let need = waiter.permits << SHIFT;
        // Relaxed: CLOSED and WAITERS are set under the lock, which orders them.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & CLOSED != 0 {
                return Poll::Ready(Err(AcquireError::new()));
            }
            if word & WAITERS != 0 {
                break;
            }
            let enough = word >= need;
            let next = if enough { word - need } else { word | WAITERS };
            // Acquire: as in `take`.
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if enough => return Poll::Ready(Ok(())),
                Ok(_) => break,
                Err(seen) => word = seen,
            }
        }
        // SAFETY: the lock is held. The future queues once and is pinned; its drop takes the node out, or finds it granted,
        // which unlinked it.
        unsafe {
            let former = waiter.waker.replace(Some(waker));
            debug_assert!(former.is_none(), "a waiter that is not queued holds no waker");
            queue.push_back(NonNull::from(waiter.get_ref()));
        }
        Poll::Pending
    }

    /// What a queued waiter finds: granted, refused, or still waiting, with the waker of `cx` from now on.
    pub(super) fn poll_queued(
        &self,
        waiter: Pin<&Waiter>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), AcquireError>> {
        if let Poll::Ready(result) = self.outcome(&waiter) {
            return Poll::Ready(result);
        }
        let mut fresh = None;
        loop {
            let queue = self.queue.lock();
            if let Poll::Ready(result) = self.outcome(&waiter) {
                drop(queue);
                return Poll::Ready(result);
            }
            // SAFETY: the lock is held.
            if unsafe { waiter.waker.would_wake(cx.waker()) } {
                drop(queue);
                return Poll::Pending;
            }
            if fresh.is_some() {
                // SAFETY: the lock is held.
                let stale = unsafe { waiter.waker.replace(fresh) };
                drop(queue);
                drop(stale);
                return Poll::Pending;
            }
            drop(queue);
            fresh = Some(cx.waker().clone());
        }
    }

    fn outcome(&self, waiter: &Waiter) -> Poll<Result<(), AcquireError>> {
        if self.is_closed() {
            // Even if it was granted before: its drop gives the permits back.
            Poll::Ready(Err(AcquireError::new()))
        } else if waiter.is_granted() {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    /// A waiter goes away before it could tell whether it was granted.
    #[cold]
    pub(super) fn abandon(&self, waiter: Pin<&Waiter>) {
        if waiter.share() == 0 {
            let mut queue = self.queue.lock();
            if waiter.share() == 0 {
                let node = NonNull::from(waiter.get_ref());
                let was_head = queue.front() == Some(node);
                // SAFETY: the node is live, it is in this list or (closed) in none, and the lock is held.
                let waker = unsafe {
                    queue.remove(node);
                    waiter.waker.take()
                };
                let mut panics = FirstPanic::new();
                if was_head {
                    // Those behind may ask for less; or none is left, and WAITERS must go.
                    panics.run(|| self.serve(queue, 0));
                } else {
                    drop(queue);
                }
                panics.run(|| drop(waker));
                return panics.resume();
            }
        }
        self.release(waiter.share());
    }
}
