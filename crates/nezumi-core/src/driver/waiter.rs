//! One of many who wait for the same resource.
//!
//! A slot has one place for a reader and one for a writer, which is what sockets read and written by one task each need.
//! `readiness().await` may be called by any number of tasks on the same socket, each for what it likes: they stand in the
//! slot's queue, as nodes inside their own futures.
//!
//! Who may touch what: `links` and `guarded` of a waiter belong to the holder of the slot's queue lock, from the moment the
//! waiter first went there. The waker is cloned before the lock is taken, and the old one dropped after it is released.
//!
//! *Enlist against event*: under the lock a waiter hangs itself in, then marks the queue's bit in the slot's word and looks at
//! what was there (W1–W3 in `slot`). The turn that finds the bit takes the lock, takes out those whom the event concerns,
//! and takes the bit back if nobody is left.
//!
//! Tests: `every_waiter_of_64_is_woken_once`, `a_dropped_waiter_leaves_the_queue`; models: `no_event_is_lost_to_a_waiter`,
//! `waiters_for_both_directions`, `a_waiter_is_dropped_while_called`.

use super::Readiness;
use super::slot::{Slot, Wakes};
use super::word::{Place, ReadyEvent};
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Mutex;
use nezumi_queue::list::{Drained, Link, LinkedList, Links};
use nezumi_wake::contain;
use std::future::Future;
use std::mem::offset_of;
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// A node of a slot's queue.
pub(super) struct Waiter {
    links: Links,
    wants: Readiness,
    guarded: UnsafeCell<Guarded>,
}

struct Guarded {
    waker: Option<Waker>,
    /// Whether it hangs in the queue, or in the list of those who are being called.
    queued: bool,
}

// SAFETY: the offset is that of the field, which only the list touches.
unsafe impl Link for Waiter {
    const OFFSET: usize = offset_of!(Waiter, links);
}

// SAFETY: `guarded` is touched under the queue's lock only (module header), and a `Waker` may be used from any thread.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    fn new(wants: Readiness) -> Self {
        Waiter {
            links: Links::new(),
            wants,
            guarded: UnsafeCell::new(Guarded { waker: None, queued: false }),
        }
    }

    /// Wakes those in `queue` whom `says` concerns. `emptied` is called under the lock if nobody else is left.
    pub(super) fn call(
        queue: &Mutex<LinkedList<Waiter>>,
        says: Readiness,
        wakes: &mut Wakes,
        emptied: impl FnOnce(),
    ) {
        let mut called = pin!(Drained::new(queue));
        let mut held = queue.lock();
        let mut chosen = LinkedList::new();
        // SAFETY: nodes in the queue are live, since they take themselves out under this lock before they go.
        for waiter in held.extract_if(|waiter| unsafe { waiter.as_ref() }.wants.intersects(says)) {
            // SAFETY: just taken out, so in no list; the lock is held.
            unsafe { chosen.push_back(waiter) };
        }
        if held.is_empty() {
            emptied();
        }
        // SAFETY: the lock that `called` was made for is held, and guards `chosen`, too: its nodes are the queue's.
        unsafe { chosen.drain_into(called.as_mut()) };
        loop {
            if wakes.is_full() {
                drop(held);
                wakes.wake_all();
                held = queue.lock();
            }
            // SAFETY: the lock is held.
            let Some(waiter) = (unsafe { called.as_mut().pop_front() }) else { return };
            // SAFETY: the node hung in `called` until now, so it is live, and the lock is held.
            if let Some(waker) = unsafe { waiter.as_ref().unqueue() } {
                wakes.push(waker);
            }
        }
    }

    /// Takes everybody out of `queue`, without a wake.
    pub(super) fn dismiss(queue: &Mutex<LinkedList<Waiter>>) {
        loop {
            let mut held = queue.lock();
            let Some(waiter) = held.pop_front() else { return };
            // SAFETY: the node was in the queue until now, so it is live, and the lock is held.
            let waker = unsafe { waiter.as_ref().unqueue() };
            drop(held);
            // The slot must come back whatever the waker does.
            contain(|| drop(waker));
        }
    }

    /// # Safety
    ///
    /// The caller holds the queue's lock, and has just taken the waiter out.
    unsafe fn unqueue(&self) -> Option<Waker> {
        self.guarded.with_mut(|guarded| {
            // SAFETY: the lock is held.
            let guarded = unsafe { &mut *guarded };
            guarded.queued = false;
            guarded.waker.take()
        })
    }
}

/// Waits until a resource is ready for what is wanted, or its driver is gone.
#[must_use = "futures do nothing unless polled"]
pub(super) struct Wait<'a> {
    slot: &'a Slot,
    /// Pinned with the future.
    waiter: Waiter,
    /// Whether the waiter may hang in the queue.
    enlisted: bool,
}

impl<'a> Wait<'a> {
    pub(super) fn new(slot: &'a Slot, wants: Readiness) -> Self {
        Wait { slot, waiter: Waiter::new(wants), enlisted: false }
    }

    /// Goes to wait in the queue, or stays there, with `waker`.
    fn enlist(&mut self, waker: &Waker) -> Poll<ReadyEvent> {
        // Clone and drop are user code: before the lock, and after it.
        let mut waker = Some(waker.clone());
        self.enlisted = true;
        let mut held = self.slot.queue.lock();
        let was_queued = self.waiter.guarded.with_mut(|guarded| {
            // SAFETY: the lock is held.
            let guarded = unsafe { &mut *guarded };
            std::mem::swap(&mut guarded.waker, &mut waker);
            std::mem::replace(&mut guarded.queued, true)
        });
        if !was_queued {
            // SAFETY: it is in no list, and stays where it is, pinned with the future, until the drop takes it out.
            unsafe { held.push_back(NonNull::from(&self.waiter)) };
        }
        let word = self.slot.mark(Place::Queue);
        drop(held);
        drop(waker);
        word.ends_wait(self.waiter.wants).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Future for Wait<'_> {
    type Output = ReadyEvent;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ReadyEvent> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        match this.slot.word().ends_wait(this.waiter.wants) {
            Some(event) => Poll::Ready(event),
            None => this.enlist(cx.waker()),
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if !self.enlisted {
            return;
        }
        let mut held = self.slot.queue.lock();
        // SAFETY: the waiter is live, and in no list, or in the queue, or among those who are being called.
        unsafe { held.remove(NonNull::from(&self.waiter)) };
        // SAFETY: the lock is held, and the waiter is in no list.
        let waker = unsafe { self.waiter.unqueue() };
        drop(held);
        drop(waker);
    }
}
