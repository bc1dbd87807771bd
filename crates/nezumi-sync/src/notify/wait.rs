//! One wait for a notification, from its making to its end: what the named futures have in common.

use super::{GENERATION, Notify, PERMIT, WAITING};
use crate::wakers::WakerSlot;
use nezumi_prim::sync::atomic::{AtomicU8, Ordering};
use nezumi_queue::list::{Link, Links};
use pin_project_lite::pin_project;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

/// Why a waiter was woken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notification {
    /// By `notify_one`, which chose the oldest.
    Oldest = 1,
    /// By `notify_last`, which chose the newest.
    Newest = 2,
    /// By `notify_waiters`.
    All = 3,
}

/// A place in the queue.
pub(super) struct Waiter {
    links: Links,
    /// 0, or a [`Notification`].
    notification: AtomicU8,
    waker: WakerSlot,
}

// SAFETY: `links` is a field of the type `Links`, which only the list touches.
unsafe impl Link for Waiter {
    const OFFSET: usize = mem::offset_of!(Waiter, links);
}

impl Waiter {
    #[inline]
    fn new() -> Self {
        Self { links: Links::new(), notification: AtomicU8::new(0), waker: WakerSlot::new() }
    }

    /// Tells the waiter, and returns the waker to be woken after the lock. The waiter must not be touched after this.
    ///
    /// # Safety
    ///
    /// The caller holds the lock of the queue, and has taken this waiter out of it.
    pub(super) unsafe fn notify(&self, notification: Notification) -> Option<Waker> {
        // SAFETY: handed on.
        let waker = unsafe { self.waker.take() };
        // Release: pairs with the Acquire in `notification`; hands on what the notifier wrote.
        self.notification.store(notification as u8, Ordering::Release);
        waker
    }

    #[inline]
    fn notification(&self) -> Option<Notification> {
        // Acquire: pairs with the Release in `notify`.
        match self.notification.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Notification::Oldest),
            2 => Some(Notification::Newest),
            _ => Some(Notification::All),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not yet in the queue.
    New,
    /// In the queue, or taken out by a notifier.
    Waiting,
    /// Notified, and its caller knows.
    Done,
}

pin_project! {
    pub(super) struct Wait {
        phase: Phase,
        // Of the word when this was made, in units of `GENERATION`.
        generation: usize,
        #[pin]
        waiter: Waiter,
    }
}

impl Wait {
    #[inline]
    pub(super) fn new(notify: &Notify) -> Self {
        // Acquire: whoever finds a generation here also sees what its `notify_waiters` wants seen.
        let word = notify.word.load(Ordering::Acquire);
        Self { phase: Phase::New, generation: generation(word), waiter: Waiter::new() }
    }

    /// Waits with `waker`, or (`None`) takes a place in the queue and leaves the waker there as it is.
    #[inline]
    pub(super) fn poll(self: Pin<&mut Self>, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        let this = self.project();
        let (since, waiter) = (*this.generation, this.waiter.as_ref());
        let ready = match *this.phase {
            Phase::Done => true,
            Phase::New => notify.take_notification(since) || notify.join(since, waiter, waker),
            Phase::Waiting => waiter.notification().is_some() || notify.stay(since, waiter, waker),
        };
        if ready {
            *this.phase = Phase::Done;
            Poll::Ready(())
        } else {
            *this.phase = Phase::Waiting;
            Poll::Pending
        }
    }

    /// The future is dropped.
    #[inline]
    pub(super) fn leave(self: Pin<&mut Self>, notify: &Notify) {
        let this = self.project();
        if *this.phase == Phase::Waiting {
            notify.leave(this.waiter.as_ref());
        }
    }

    pub(super) fn phase(&self) -> &impl std::fmt::Debug {
        &self.phase
    }
}

#[inline]
fn generation(word: usize) -> usize {
    word & !(GENERATION - 1)
}

impl Notify {
    /// Whether there was something for a wait that began in `since`: another generation, or a permit, which is taken.
    #[inline]
    fn take_notification(&self, since: usize) -> bool {
        // Acquire, here and below: pairs with the Release in `notify` and `notify_waiters`.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if generation(word) != since {
                return true;
            }
            if word & PERMIT == 0 {
                return false;
            }
            match self.word.compare_exchange_weak(word, word & !PERMIT, Ordering::Acquire, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(seen) => word = seen,
            }
        }
    }

    /// Joins the queue, unless there is something by now (`true`).
    fn join(&self, since: usize, waiter: Pin<&Waiter>, waker: Option<&Waker>) -> bool {
        // Before the lock: to clone is to run the user's code. Declared first, so that it is dropped after the lock, too.
        let waker = waker.cloned();
        let mut waiters = self.waiters.lock();
        // Acquire, here and below: as in `take_notification`.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if generation(word) != since {
                return true;
            }
            if word & WAITING != 0 {
                break;
            }
            let permit = word & PERMIT != 0;
            let next = if permit { word & !PERMIT } else { word | WAITING };
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) if permit => return true,
                Ok(_) => break,
                Err(seen) => word = seen,
            }
        }
        // SAFETY: the lock is held. A wait joins once and is pinned; `leave` takes the node out, or finds it notified, which
        // unlinked it.
        unsafe {
            let former = waiter.waker.replace(waker);
            debug_assert!(former.is_none(), "a waiter that is not queued holds no waker");
            waiters.push_back(NonNull::from(waiter.get_ref()));
        }
        false
    }

    /// Goes on waiting, from now on with `waker`, unless it was notified (`true`).
    fn stay(&self, since: usize, waiter: Pin<&Waiter>, waker: Option<&Waker>) -> bool {
        let mut fresh = None;
        loop {
            let mut waiters = self.waiters.lock();
            if waiter.notification().is_some() {
                return true;
            }
            // Relaxed: while we are queued only holders of the lock write the word.
            if generation(self.word.load(Ordering::Relaxed)) != since {
                // A `notify_waiters` is under way and has not come to us yet. No need to wait for it.
                // SAFETY: the node is in the list that was drained from this one, and the lock is held.
                let waker = unsafe {
                    waiters.remove(NonNull::from(waiter.get_ref()));
                    waiter.waker.take()
                };
                drop(waiters);
                drop(waker);
                return true;
            }
            // SAFETY: the lock is held.
            let Some(waker) = waker.filter(|waker| !unsafe { waiter.waker.would_wake(waker) }) else {
                return false;
            };
            if fresh.is_some() {
                // SAFETY: the lock is held.
                let stale = unsafe { waiter.waker.replace(fresh) };
                drop(waiters);
                drop(stale);
                return false;
            }
            drop(waiters);
            fresh = Some(waker.clone());
        }
    }

    /// A waiter goes away. What it was notified of by `notify_one` goes on to another.
    fn leave(&self, waiter: Pin<&Waiter>) {
        if waiter.notification().is_none() {
            let mut waiters = self.waiters.lock();
            if waiter.notification().is_none() {
                // SAFETY: the node is in this list or in one drained from it, and the lock is held.
                let waker = unsafe {
                    waiters.remove(NonNull::from(waiter.get_ref()));
                    waiter.waker.take()
                };
                if waiters.is_empty() {
                    self.nobody_waits();
                }
                drop(waiters);
                drop(waker);
                return;
            }
        }
        if let Some(notification @ (Notification::Oldest | Notification::Newest)) = waiter.notification() {
            self.notify(notification);
        }
    }
}
