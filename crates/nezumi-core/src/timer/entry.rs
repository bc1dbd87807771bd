//! One timer, as a future sees it.
//!
//! Called by `time::Sleep`, inside which it lives. Converts the deadline to ticks, finds the shard whose wheel the node hangs
//! in, and takes the node out when the future goes.
//!
//! A new entry touches nothing but the reference count of its shard; the wheel hears of it at the end of its first poll, and a
//! reset of an entry that is not pending waits for the next poll, too. At that poll it moves to the shard of the thread that
//! polls, if it is of the same runtime: there the lock is free, and the deadline is looked at first.
//!
//! Tests: `time` in the integration tests, and those of `timers`; of its drop
//! `an_entry_that_is_dropped_elsewhere_may_be_armed_while_it_waits_for_the_lock`.

use super::node::{CLOSED, FIRED, IDLE, NOTED, Node, UNARMED, is_pending};
use super::notes;
use super::timers::Armed;
use crate::scheduler::Home;
use nezumi_prim::sync::atomic::Ordering;
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};
use std::time::Instant;

pin_project! {
    /// A deadline, and the task that waits for it.
    ///
    /// Not `Unpin`: once polled, the wheel points into it.
    #[project(!Unpin)]
    pub struct Entry {
        deadline: Instant,
        // The runtime whose clock counts; the shard in whose wheel `node` hangs while it is pending.
        home: Home,
        #[pin]
        node: Node,
    }

    impl PinnedDrop for Entry {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let state = this.node.state();
            if (state == NOTED && !forget(this.home, &this.node)) || is_pending(state) {
                // SAFETY: we own the node, and `home` is the one it was armed with.
                unsafe { this.home.timers().cancel(NonNull::from(&*this.node)) };
            }
        }
    }
}

/// The runtime was shut down before the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutDown;

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("deadline", &self.deadline).field("node", &self.node).finish()
    }
}

impl Entry {
    /// An entry that is not armed yet. The clock of `home`'s runtime tells it the time.
    #[must_use]
    pub fn new(home: Home, deadline: Instant) -> Self {
        Self { deadline, home, node: Node::new() }
    }

    /// The instant at which the wait ends.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the wait has ended. An entry that was neither polled nor reset has not begun to wait.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        match self.node.state() {
            FIRED | CLOSED => true,
            // The wheel does not know of it yet, but the clock does.
            UNARMED | NOTED => {
                let clock = self.home.clock();
                clock.deadline_ms(self.deadline) <= clock.now_ms()
            }
            _ => false,
        }
    }

    /// Whether somebody waits for the deadline, so far as is known.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        let state = self.node.state.load(Ordering::Relaxed);
        state == NOTED || is_pending(state)
    }

    /// Whether it is an error to wait for longer than the runtime stands, or just the end of the wait.
    #[must_use]
    pub fn fails_at_shutdown(&self) -> bool {
        !self.home.shared().config.alt_timer
    }

    #[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Waits for the deadline. May be polled again after it has answered, and answers the same.
    ///
    /// `may_wait`: this poll may well be the only one, so that arming the timer had better wait for the end of the task's poll.
    ///
    /// # Errors
    ///
    /// When the runtime was shut down first.
    pub fn poll_elapsed(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut may_wait: bool,
    ) -> Poll<Result<(), ShutDown>> {
        let this = self.project();
        let node = NonNull::from(&*this.node);
        loop {
            match this.node.state() {
                FIRED => return Poll::Ready(Ok(())),
                CLOSED => return Poll::Ready(Err(ShutDown)),
                IDLE | UNARMED => ready!(arm(this.home, node, *this.deadline, cx, may_wait)),
                NOTED => {
                    // Polled again before the poll that has noted it has ended. That may be a loop which waits for it, so the time counts
                    // from now on, and it is armed at once.
                    forget(this.home, &this.node);
                    this.home.timers().see(this.home.clock().now_ms());
                    may_wait = false;
                }
                // SAFETY: we own the node, which was armed with `home`.
                _ if unsafe { this.home.timers().renew(node, cx.waker()) } => return Poll::Pending,
                // It has ended since we looked.
                _ => {}
            }
        }
    }

    /// Sets a new deadline.
    ///
    /// A pending entry stays so, and keeps the task that it wakes; any other is armed by its next poll. Pushing a pending
    /// deadline further out, the usual case, takes no lock.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = deadline;
        let state = this.node.state();
        if state == NOTED || is_pending(state) {
            let deadline_ms = this.home.clock().deadline_ms(deadline);
            if (state == NOTED && change(this.home, &this.node, deadline_ms))
                || this.node.push_later(deadline_ms)
            {
                return;
            }
            // SAFETY: we own the node, which was armed with `home`.
            match unsafe { this.home.timers().bring_forward(NonNull::from(&*this.node), deadline_ms) } {
                Armed::Pending { first } => {
                    if first {
                        this.home.timer_armed(deadline_ms);
                    }
                    return;
                }
                Armed::Due | Armed::Closed => {}
            }
        }
        // Relaxed: the node hangs nowhere, so it is nobody else's.
        this.node.state.store(UNARMED, Ordering::Relaxed);
    }
}

/// Arms a node that is not pending with the timers of this thread's shard, if it may wait at the end of the poll.
fn arm(
    home: &mut Home,
    node: NonNull<Node>,
    deadline: Instant,
    cx: &Context<'_>,
    may_wait: bool,
) -> Poll<()> {
    let deadline_ms = home.clock().deadline_ms(deadline);
    if !home.is_current() {
        move_here(home);
    }
    if home.clock().is_paused() {
        // Time passes by hand, and is told from the clock: a deadline that it has passed needs no turn of the scheduler.
        home.timers().see(home.clock().now_ms());
    }
    let timers = home.timers();
    if timers.has_passed(deadline_ms) {
        // SAFETY: our caller owns the node, and it is in nobody else's hands.
        unsafe { node.as_ref() }.state.store(FIRED, Ordering::Relaxed);
        return Poll::Ready(());
    }
    // SAFETY: our caller owns the node, which is pinned, neither pending nor noted, and neither of them any more when it goes.
    unsafe {
        if may_wait && !timers.is_closed() && notes::put_off(home, node, deadline_ms, cx.waker()) {
            return Poll::Pending;
        }
        match timers.arm(node, deadline_ms, cx.waker()) {
            Armed::Pending { first } => {
                if first {
                    home.timer_armed(deadline_ms);
                }
                Poll::Pending
            }
            Armed::Due | Armed::Closed => Poll::Ready(()),
        }
    }
}

/// Erases the note of a node that was noted. `false` if the poll has ended since, and the node has been armed.
fn forget(home: &Home, node: &Node) -> bool {
    let erased = notes::with_own(node, |notebook| {
        notebook.erase(node);
        // Relaxed: the node is ours.
        node.state.store(UNARMED, Ordering::Relaxed);
    });
    // SAFETY: our caller owns the node, which was noted with `home`.
    erased.is_some() || unsafe { home.timers().renote(NonNull::from(node), None) }
}

/// Gives a node that was noted another deadline. `false` as for [`forget`].
fn change(home: &Home, node: &Node, deadline_ms: u64) -> bool {
    let changed = notes::with_own(node, |notebook| notebook.set_deadline(node, deadline_ms));
    // SAFETY: as in `forget`.
    changed.is_some() || unsafe { home.timers().renote(NonNull::from(node), Some(deadline_ms)) }
}

#[cold]
fn move_here(home: &mut Home) {
    if let Some(here) = Home::current() {
        if here.same_runtime(home) {
            *home = here;
        }
    }
}
