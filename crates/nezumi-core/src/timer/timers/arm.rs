//! What an entry asks of the timers: to arm, to look after the waker, to cancel.
//!
//! In each of these, `node` belongs to these timers: it is pending here, or noted for them in a [`Notebook`](crate::timer::notes::Notebook), or
//! nowhere.

use super::{Inner, Timers};
use crate::timer::node::{CLOSED, FIRED, IDLE, NOTED, Node, UNARMED, is_pending};
use crate::timer::notes::Note;
use nezumi_prim::sync::atomic::{Ordering, fence};
use std::ptr::NonNull;
use std::task::Waker;

/// What has become of a node that was to be armed.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(in crate::timer) enum Armed {
    /// It hangs in the wheel.
    Pending {
        /// It is the earliest now, so whoever sleeps on this shard's timers must hear of it.
        first: bool,
    },
    /// Its deadline has passed.
    Due,
    /// The timers were shut down.
    Closed,
}

impl Armed {
    /// A2 of the handshake. Called after the lock was released.
    #[inline]
    fn announced(self) -> Self {
        if self == (Armed::Pending { first: true }) {
            fence(Ordering::SeqCst);
        }
        self
    }
}

impl Timers {
    /// Makes `node` pending, to wake `waker`. If it becomes the first, the caller calls `Home::timer_armed` next.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the node, which is pinned and not pending, and stays until it is not pending any more.
    pub(in crate::timer) unsafe fn arm(&self, node: NonNull<Node>, deadline_ms: u64, waker: &Waker) -> Armed {
        let mut waker = Some(waker.clone());
        let mut inner = self.lock();
        // SAFETY: handed on; the lock is held.
        let armed = unsafe { self.arm_locked(&mut inner, node, deadline_ms, &mut waker) };
        drop(inner);
        // What was not taken is dropped after the lock.
        drop(waker);
        armed.announced()
    }

    /// Arms what a poll has put off, now that it has ended: `waker` is that poll's.
    ///
    /// Returns the earliest deadline, if that has become the first: the caller calls `Home::timer_armed` next. And whether the time of
    /// any has come meanwhile: the caller wakes the task, since the poll has said that it waits.
    ///
    /// # Safety
    ///
    /// The notes are of this thread's notebook, and were made for these timers. `waker` is that of a task, on which somebody holds a
    /// reference: its clone and drop only count, and may be called under the lock.
    pub(in crate::timer) unsafe fn arm_noted(&self, notes: &[Note], waker: &Waker) -> (Option<u64>, bool) {
        let mut first_ms = None;
        let mut ended = false;
        let mut inner = self.lock();
        for note in notes {
            let Some((node, deadline_ms)) = note.erase() else { continue };
            // SAFETY: the note stood, and the lock is held: the node is live, in no list, and its owner waits for the lock before
            // it does anything to it. It leaves the wheel before it goes, for it is pending.
            match unsafe { self.arm_locked(&mut inner, node, deadline_ms, &mut Some(waker.clone())) } {
                Armed::Pending { first: false } => {}
                Armed::Pending { first: true } => first_ms = Some(deadline_ms),
                Armed::Due | Armed::Closed => ended = true,
            }
        }
        drop(inner);
        if first_ms.is_some() {
            // A2 of the handshake.
            fence(Ordering::SeqCst);
        }
        (first_ms, ended)
    }

    /// Makes `node` pending, fired or closed, and takes the waker if it is pending.
    ///
    /// # Safety
    ///
    /// The lock is held. The node is pinned, in no list, and nobody else touches it without the lock until its state says what
    /// has become of it; it leaves the wheel before it goes.
    #[inline]
    unsafe fn arm_locked(
        &self,
        inner: &mut Inner,
        node: NonNull<Node>,
        deadline_ms: u64,
        waker: &mut Option<Waker>,
    ) -> Armed {
        if inner.wheel.is_empty() {
            inner.wheel.skip_to(self.shared.seen_ms.load(Ordering::Relaxed));
        }
        // Release, on each of the three: an owner on another thread that sees the state sees the rest of the node, too, and has
        // it for itself if it is not pending.
        // SAFETY: the caller's promise. If the state says that the wait has ended, that was the last touch.
        unsafe {
            let state = &raw const (*node.as_ptr()).state;
            if self.is_closed() {
                (*state).store(CLOSED, Ordering::Release);
                return Armed::Closed;
            }
            if !inner.wheel.insert(node, deadline_ms) {
                (*state).store(FIRED, Ordering::Release);
                return Armed::Due;
            }
            node.as_ref().set_waker(waker.take());
            (*state).store(deadline_ms, Ordering::Release);
        }
        Armed::Pending { first: self.lower(deadline_ms) }
    }

    /// Gives `node` the deadline, if it is still noted; returns whether it is. With `None` it is noted no more, and
    /// `UNARMED`.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the node.
    pub(in crate::timer) unsafe fn renote(&self, node: NonNull<Node>, deadline_ms: Option<u64>) -> bool {
        // SAFETY: the caller owns it.
        let node = unsafe { node.as_ref() };
        let _inner = self.lock();
        // Relaxed, here and below: whoever but the owner writes it holds this lock.
        let noted = node.state.load(Ordering::Relaxed) == NOTED;
        if noted {
            // SAFETY: the notebook stands until its notes have been taken up, which needs the lock.
            let note = unsafe { &*node.note.get() };
            match deadline_ms {
                Some(deadline_ms) => note.set_deadline(deadline_ms),
                None => {
                    note.erase();
                    node.state.store(UNARMED, Ordering::Relaxed);
                }
            }
        }
        noted
    }

    /// Makes `waker` the one to wake, if `node` is still pending; returns whether it is.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the node.
    pub(in crate::timer) unsafe fn renew(&self, node: NonNull<Node>, waker: &Waker) -> bool {
        // SAFETY: the caller owns it.
        let node = unsafe { node.as_ref() };
        // SAFETY: as above.
        if unsafe { node.is_stored(waker) } {
            // Should it fire at this moment, it wakes this very task.
            return true;
        }
        // Cloned before the lock is taken, and dropped after it is released.
        let mut waker = Some(waker.clone());
        let inner = self.lock();
        let pending = is_pending(node.state.load(Ordering::Relaxed));
        if pending {
            // SAFETY: the owner, pending, under the lock.
            waker = unsafe { node.swap_waker(waker) };
        }
        drop(inner);
        drop(waker);
        pending
    }

    /// Takes `node` out of the wheel, if it is still pending. It is not pending after.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the node.
    pub(in crate::timer) unsafe fn cancel(&self, node: NonNull<Node>) {
        let mut waker = None;
        let mut inner = self.lock();
        // SAFETY: the caller owns the node. If it is pending under the lock, it is in our wheel, and its waker is in its place.
        unsafe {
            if is_pending(node.as_ref().state.load(Ordering::Relaxed)) {
                inner.wheel.remove(node);
                inner.stale = true;
                waker = node.as_ref().swap_waker(None);
                node.as_ref().state.store(IDLE, Ordering::Relaxed);
            }
        }
        drop(inner);
        drop(waker);
    }

    /// Moves `node`, which was pending, to an earlier deadline. If it becomes the first, the caller calls `Home::timer_armed`
    /// next; if the deadline has passed, the task is woken, which may wait for the one of before.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the node.
    pub(in crate::timer) unsafe fn bring_forward(&self, node: NonNull<Node>, deadline_ms: u64) -> Armed {
        let mut inner = self.lock();
        // SAFETY: as in `cancel`. The node goes back into the wheel before the lock is released, or is not pending any more.
        unsafe {
            let state = &node.as_ref().state;
            match state.load(Ordering::Relaxed) {
                CLOSED => return Armed::Closed,
                pending if is_pending(pending) => {}
                _ => return Armed::Due,
            }
            inner.wheel.remove(node);
            if !self.has_passed(deadline_ms) && inner.wheel.insert(node, deadline_ms) {
                state.store(deadline_ms, Ordering::Relaxed);
                let first = self.lower(deadline_ms);
                drop(inner);
                return Armed::Pending { first }.announced();
            }
            inner.stale = true;
            let waker = node.as_ref().swap_waker(None);
            state.store(FIRED, Ordering::Relaxed);
            drop(inner);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        Armed::Due
    }

    /// Whether somebody has said that it is this late. Once closed, the error comes before the time.
    #[inline]
    pub(in crate::timer) fn has_passed(&self, deadline_ms: u64) -> bool {
        deadline_ms <= self.shared.seen_ms.load(Ordering::Relaxed) && !self.is_closed()
    }

    /// Whether they are shut down. Without the lock, `false` may be out of date.
    #[inline]
    pub(in crate::timer) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Relaxed)
    }

    /// Lowers the bound. Called under the lock.
    #[inline]
    fn lower(&self, deadline_ms: u64) -> bool {
        // Relaxed: written under the lock only.
        let first = deadline_ms < self.shared.earliest_ms.load(Ordering::Relaxed);
        if first {
            self.shared.earliest_ms.store(deadline_ms, Ordering::Relaxed);
        }
        first
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::runtime::Builder;
    use crate::scheduler::Home;
    use crate::spawn::spawn;
    use crate::timer::Entry;
    use std::future::poll_fn;
    use std::task::Poll;
    use std::thread;
    use std::time::{Duration, Instant};

    /// It was noted when it looked; when it has the lock, the poll that noted it has ended.
    #[test]
    fn an_entry_that_is_dropped_elsewhere_may_be_armed_while_it_waits_for_the_lock() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let task = poll_fn(|cx| {
            let here = || Home::current().unwrap();
            let mut entry = Box::pin(Entry::new(here(), Instant::now() + Duration::from_secs(60)));
            assert!(entry.as_mut().poll_elapsed(cx, true).is_pending());
            assert_eq!(entry.node().state(), NOTED);
            let node = NonNull::from(entry.node());
            let home = here();
            let timers = home.timers();
            let mut inner = timers.lock();
            let other = thread::spawn(move || drop(entry));
            // Until it waits for the lock. Should it come late, this shows nothing.
            thread::sleep(Duration::from_millis(20));
            // As `arm_noted` does it.
            // SAFETY: the lock is held, so the entry, which was noted when it was taken, and with it its note, are still there.
            let armed = unsafe {
                let (node, deadline_ms) = (*node.as_ref().note.get()).erase().unwrap();
                timers.arm_locked(&mut inner, node, deadline_ms, &mut Some(cx.waker().clone()))
            };
            assert!(matches!(armed, Armed::Pending { .. }));
            drop(inner);
            other.join().unwrap();
            assert_eq!(timers.live(), 0, "the entry is gone, and hangs in the wheel");
            Poll::Ready(())
        });
        runtime.block_on(async { spawn(task).await.unwrap() });
    }
}
