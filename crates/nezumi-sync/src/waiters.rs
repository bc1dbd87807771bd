//! Tasks that wait for the same thing, and are woken all at once.
//!
//! Called by `watch`, `broadcast` and `mpsc`. Knows nothing of what they wait for: it is looked at under the same lock that
//! guards the list, by a closure.
//!
//! Promise: a waiter whose look found nothing is woken by every [`wake_all`] that takes the lock after that look; a waker
//! that panics keeps nobody else asleep; no waker is cloned, woken or dropped while the lock is held.
//!
//! A node (`Waiter`) belongs to the holder of the lock while it is queued. Who takes it out to wake it takes its waker first
//! and only then, as the last touch, clears `queued`: from there on the node is its future's alone, which may free it
//! without taking the lock.
//!
//! Tests: below; the models of `watch` and `broadcast`.

use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering};
use nezumi_prim::sync::{Mutex, MutexGuard};
use nezumi_queue::list::{Drained, Link, LinkedList, Links};
use nezumi_wake::{FirstPanic, WakeList, drop_each};
use std::mem::offset_of;
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::task::{Poll, Waker};

/// What a lock guards that also guards a list of waiters.
pub(crate) trait Guarded {
    fn waiters(&mut self) -> &mut LinkedList<Waiter>;
}

impl Guarded for LinkedList<Waiter> {
    fn waiters(&mut self) -> &mut LinkedList<Waiter> {
        self
    }
}

/// One task that waits, to be kept in its future.
pub(crate) struct Waiter {
    links: Links,
    /// Guarded by the lock while `queued`.
    waker: UnsafeCell<Option<Waker>>,
    /// Set and cleared under the lock; once clear, the node is its owner's.
    queued: AtomicBool,
}

// SAFETY: `OFFSET` is that of the field, which only the list touches.
unsafe impl Link for Waiter {
    const OFFSET: usize = offset_of!(Self, links);
}

// SAFETY: the waker is touched only under the lock while queued, and by the owner alone otherwise; a waker may go to any
// thread.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    fn new() -> Self {
        Self { links: Links::new(), waker: UnsafeCell::new(None), queued: AtomicBool::new(false) }
    }

    /// # Safety
    ///
    /// The node is out of the list, and the lock that guards it is held.
    unsafe fn release(node: NonNull<Self>) -> Option<Waker> {
        // SAFETY: the owner cannot free it while it is marked as queued without taking the lock.
        let waiter = unsafe { node.as_ref() };
        // SAFETY: the lock is held.
        let waker = waiter.waker.with_mut(|waker| unsafe { (*waker).take() });
        // Release: the owner that sees it clear may free the node.
        waiter.queued.store(false, Ordering::Release);
        waker
    }
}

/// A place in the list behind a lock, to be pinned in the future that waits. Dropped, it is taken out.
pub(crate) struct Waiting<'a, L: Guarded> {
    lock: &'a Mutex<L>,
    waiter: Waiter,
}

impl<'a, L: Guarded> Waiting<'a, L> {
    pub(crate) fn new(lock: &'a Mutex<L>) -> Self {
        Self { lock, waiter: Waiter::new() }
    }

    fn node(&self) -> NonNull<Waiter> {
        NonNull::from(&self.waiter)
    }

    /// Looks, under the lock, and has `waker` woken by the next [`wake_all`] if there was nothing to see.
    ///
    /// `look` may be called twice, if it finds nothing the first time.
    pub(crate) fn poll<R>(
        self: Pin<&mut Self>,
        waker: &Waker,
        mut look: impl FnMut(&mut L) -> Option<R>,
    ) -> Poll<R> {
        let this = self.into_ref().get_ref();
        // A first-time waiter will most likely need it.
        let mut new = (!this.waiter.queued.load(Ordering::Acquire)).then(|| waker.clone());
        loop {
            let mut guard = this.lock.lock();
            if let Some(seen) = look(&mut guard) {
                let old = this.unlink(&mut guard);
                drop(guard);
                drop_each([old, new]);
                return Poll::Ready(seen);
            }
            if this.would_wake(waker) {
                return Poll::Pending;
            }
            if let Some(new) = new.take() {
                let old = this.enqueue(&mut guard, new);
                drop(guard);
                drop(old);
                return Poll::Pending;
            }
            drop(guard);
            new = Some(waker.clone());
        }
    }

    /// Whether it is queued with a waker for the same task. The lock is held.
    fn would_wake(&self, waker: &Waker) -> bool {
        self.waiter.queued.load(Ordering::Relaxed)
            // SAFETY: the lock is held.
            && self.waiter.waker.with(|old| unsafe { (*old).as_ref().is_some_and(|old| old.will_wake(waker)) })
    }

    /// Puts `new` in place, and the node into the list if it is not there. Returns the waker of before.
    fn enqueue(&self, guard: &mut L, new: Waker) -> Option<Waker> {
        // SAFETY: the lock is held.
        let old = self.waiter.waker.with_mut(|waker| unsafe { (*waker).replace(new) });
        if !self.waiter.queued.load(Ordering::Relaxed) {
            self.waiter.queued.store(true, Ordering::Relaxed);
            // SAFETY: it is in no list, pinned (`poll` takes a pinned reference), and taken out before it is dropped.
            unsafe { guard.waiters().push_back(self.node()) };
        }
        old
    }

    fn unlink(&self, guard: &mut L) -> Option<Waker> {
        // SAFETY: the node is in no list, in this one, or in one drained from it, and the lock is held.
        if unsafe { guard.waiters().remove(self.node()) } {
            // SAFETY: out of the list, and the lock is held.
            unsafe { Waiter::release(self.node()) }
        } else {
            None
        }
    }
}

impl<L: Guarded> Drop for Waiting<'_, L> {
    fn drop(&mut self) {
        // Acquire: pairs with the Release in `Waiter::release`: whoever woke us is done with the node.
        if self.waiter.queued.load(Ordering::Acquire) {
            let mut guard = self.lock.lock();
            let waker = self.unlink(&mut guard);
            drop(guard);
            drop(waker);
        }
    }
}

/// Wakes all who wait now, and releases the lock, before the first of them.
///
/// Who comes to wait meanwhile is not woken. If wakers panic, the first panic goes on after all are woken.
pub(crate) fn wake_all<'a, L: Guarded>(lock: &'a Mutex<L>, mut guard: MutexGuard<'a, L>) {
    if guard.waiters().is_empty() {
        return;
    }
    let mut drained = pin!(Drained::new(lock));
    // SAFETY: the lock is held, and guards the list.
    unsafe { guard.waiters().drain_into(drained.as_mut()) };
    let mut panics = FirstPanic::new();
    loop {
        let mut wakers = WakeList::new();
        let more = fill(drained.as_mut(), &mut wakers);
        drop(guard);
        panics.run(|| wakers.wake_all());
        if !more {
            break;
        }
        guard = lock.lock();
    }
    panics.resume();
}

/// Moves wakers over until there are no more, or `wakers` is full; says whether there may be more. The lock is held.
fn fill<L: Guarded>(mut drained: Pin<&mut Drained<'_, Waiter, L>>, wakers: &mut WakeList) -> bool {
    while wakers.can_push() {
        // SAFETY: the lock is held.
        let Some(node) = (unsafe { drained.as_mut().pop_front() }) else { return false };
        // SAFETY: out of the list, and the lock is held.
        if let Some(waker) = unsafe { Waiter::release(node) } {
            wakers.push(waker);
        }
    }
    true
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::testing::{OnWake, Task, panics, throws_a_bomb, waker_with_a_bomb};
    use std::sync::Arc;

    type Lock = Mutex<LinkedList<Waiter>>;

    fn wait(task: &Task, waiting: &mut Pin<Box<Waiting<'_, LinkedList<Waiter>>>>) {
        task.enter(|cx| assert!(waiting.as_mut().poll(cx.waker(), |_| None::<()>).is_pending()));
    }

    #[test]
    fn all_who_wait_are_woken_once() {
        let lock = Lock::default();
        let tasks: Vec<_> = (0..70).map(|_| Task::new()).collect();
        let mut waitings: Vec<_> = tasks.iter().map(|_| Box::pin(Waiting::new(&lock))).collect();
        for (task, waiting) in tasks.iter().zip(&mut waitings) {
            wait(task, waiting);
            wait(task, waiting);
            assert_eq!(task.wakers_alive(), 1);
        }
        wake_all(&lock, lock.lock());
        wake_all(&lock, lock.lock());
        for task in &tasks {
            assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
        }
    }

    #[test]
    fn a_dropped_waiter_leaves_nothing_behind() {
        let lock = Lock::default();
        let task = Task::new();
        let mut waiting = Box::pin(Waiting::new(&lock));
        wait(&task, &mut waiting);
        drop(waiting);
        assert_eq!(task.wakers_alive(), 0);
        assert!(lock.lock().is_empty());
    }

    #[test]
    fn a_waiter_that_sees_what_it_waits_for_leaves_the_list() {
        let lock = Lock::default();
        let task = Task::new();
        let mut waiting = Box::pin(Waiting::new(&lock));
        wait(&task, &mut waiting);
        task.enter(|cx| assert_eq!(waiting.as_mut().poll(cx.waker(), |_| Some(1)), Poll::Ready(1)));
        assert_eq!(task.wakers_alive(), 0);
        assert!(lock.lock().is_empty());
    }

    #[test]
    fn a_panicking_waker_keeps_nobody_asleep() {
        let lock = Lock::default();
        let armed = Arc::new(AtomicBool::new(true));
        let bad = {
            let armed = Arc::clone(&armed);
            OnWake::waker(move || assert!(!armed.swap(false, Ordering::Relaxed), "a waker that panics"))
        };
        let tasks: Vec<_> = (0..70).map(|_| Task::new()).collect();
        let mut first = Box::pin(Waiting::new(&lock));
        assert!(first.as_mut().poll(&bad, |_| None::<()>).is_pending());
        drop(bad);
        let mut waitings: Vec<_> = tasks.iter().map(|_| Box::pin(Waiting::new(&lock))).collect();
        for (task, waiting) in tasks.iter().zip(&mut waitings) {
            wait(task, waiting);
        }
        assert!(panics(|| wake_all(&lock, lock.lock())));
        assert!(tasks.iter().all(|task| task.wakes() == 1));
    }

    /// A panic in the drop of what another panic carried, while that one unwinds, would end the process.
    #[test]
    fn what_the_panics_of_wakers_carry_keeps_nobody_asleep() {
        let lock = Lock::default();
        let mut bad: Vec<_> = (0..70).map(|_| Box::pin(Waiting::new(&lock))).collect();
        for waiting in &mut bad {
            assert!(waiting.as_mut().poll(&waker_with_a_bomb(), |_| None::<()>).is_pending());
        }
        let task = Task::new();
        let mut last = Box::pin(Waiting::new(&lock));
        wait(&task, &mut last);
        assert!(throws_a_bomb(|| wake_all(&lock, lock.lock())));
        assert_eq!(task.wakes(), 1);
    }

    #[test]
    fn a_waker_may_take_the_lock() {
        let lock = Arc::new(Lock::default());
        let other = Arc::clone(&lock);
        let waker = OnWake::waker(move || drop(other.try_lock().expect("the lock is free")));
        let mut waiting = Box::pin(Waiting::new(&lock));
        assert!(waiting.as_mut().poll(&waker, |_| None::<()>).is_pending());
        // Replacing it drops the old one.
        assert!(waiting.as_mut().poll(Waker::noop(), |_| None::<()>).is_pending());
        assert!(waiting.as_mut().poll(&waker, |_| None::<()>).is_pending());
        drop(waker);
        wake_all(&lock, lock.lock());
    }
}
