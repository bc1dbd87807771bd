//! One word that says where a task is in its life, and how many hold it.
//!
//! Called by `run` (the poller), `waker`, `join` and `abort`. Knows nothing of futures, queues or schedulers: every
//! transition is a pure function from a [`Snapshot`] to the next one and to what the caller must do, driven by one CAS loop.
//!
//! | bit | set by | cleared by | means |
//! |---|---|---|---|
//! | `RUNNING` | the holder of the runnable, shutdown | the same, when it is done | the setter alone may touch the stage |
//! | `NOTIFIED` | a wake | the poller, when it starts | a runnable exists, or the poller will make one when it stops |
//! | `COMPLETE` | the holder of `RUNNING` | never | the output (or its absence) is final |
//! | `CANCELLED` | abort, shutdown | never | the next holder of `RUNNING` drops the future instead of polling it |
//! | `JOIN_INTEREST` | creation | the join handle, when dropped | somebody may still want the output |
//! | `JOIN_WAKER` | the join handle | the join handle, before completion; or completion, which takes the waker with it | the waker field belongs to the task; else to the handle |
//! | `JOIN_WAKER_CHANGED` | the join handle, when it takes a waker back | never | a look at the waker field may be at another waker than the state was of |
//!
//! The rest of the word counts references: one per runnable, registry entry, join or abort handle, and waker; and, while the future is being
//! polled, [`tally::HELD`] that stand for what the poll does to the count.
//!
//! Promise: of all that was written before a wake, the poll that follows sees everything, also if the wake was redundant:
//! each wake is a read-modify-write with Release, each start of a poll one with Acquire.
//!
//! Tests: the unit tests below walk each transition; the loom models stand in `models`.

use super::tally;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use std::fmt;

const RUNNING: usize = 1;
const NOTIFIED: usize = 1 << 1;
const COMPLETE: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
const JOIN_INTEREST: usize = 1 << 4;
const JOIN_WAKER: usize = 1 << 5;
const JOIN_WAKER_CHANGED: usize = 1 << 6;
const REF_ONE: usize = 1 << 7;

/// The state of one task.
pub(crate) struct State {
    word: AtomicUsize,
    /// Loom does not see that memory is freed. This it sees read by all who touch the state, and written at the end.
    #[cfg(nezumi_loom)]
    freed: nezumi_prim::cell::UnsafeCell<()>,
}

/// What the state was at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(usize);

/// After a wake that keeps its reference.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnWakeByRef {
    /// A reference for a runnable was added: submit it.
    Submit,
    Nothing,
}

/// After a wake that gives its reference away.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnWake {
    /// The reference has become the runnable's: submit it.
    Submit,
    Nothing,
    /// It was the last reference.
    Dealloc,
}

/// When a runnable is about to be polled.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnStart {
    Poll,
    /// `RUNNING` is ours, and the future must be dropped.
    Cancel,
    /// Shutdown has it, or had it. The runnable's reference is gone.
    Gone,
    /// As `Gone`, and it was the last reference.
    Dealloc,
}

/// When a poll has returned `Pending`.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnStop {
    /// Waiting for a wake. The runnable's reference is gone.
    Idle,
    /// As `Idle`, and it was the last reference: nobody can ever wake the task.
    Dealloc,
    /// It was woken during the poll: the runnable's reference lives on, submit it.
    Resubmit,
    /// It was aborted during the poll: `RUNNING` is still ours, drop the future.
    Cancel,
}

/// When a join handle is dropped.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnJoinDrop {
    /// The task is complete, and the interest still stands: the output is the handle's to drop, then the interest with the reference.
    Complete,
    /// The interest is gone, and the waker field is the handle's, to be emptied; then the reference is to be dropped.
    DropWaker,
}

/// When the output is in its place.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnEnd {
    /// The task is complete, and the references are gone.
    Done,
    /// As `Done`, and the waker that was in its field is the caller's.
    Wake,
    /// As `Done`, and they were the last.
    Dealloc,
    /// Nobody has a reference but the caller: the output and the task are his to drop, and nothing has changed.
    Alone,
    /// The output is to be dropped while others hold references, or the state changes just now, or the join waker has changed before: nothing
    /// has been done; `complete` comes next.
    Complete,
}

impl Snapshot {
    fn has(self, bits: usize) -> bool {
        self.0 & bits != 0
    }

    fn with(self, bits: usize) -> Self {
        Self(self.0 | bits)
    }

    fn without(self, bits: usize) -> Self {
        Self(self.0 & !bits)
    }

    fn add_ref(self) -> Self {
        assert!(self.0 <= isize::MAX as usize, "too many references to one task");
        Self(self.0 + REF_ONE)
    }

    fn drop_ref(self) -> Self {
        debug_assert!(self.refs() > 0);
        Self(self.0 - REF_ONE)
    }

    fn refs(self) -> usize {
        self.0 / REF_ONE
    }

    pub(crate) fn is_unreferenced(self) -> bool {
        self.refs() == 0
    }

    /// Whether these `refs` references, the caller's own, are all there are. If the state was read with Acquire, the task is then the
    /// caller's alone: nobody can come by a reference any more, and all that former holders did has happened.
    pub(crate) fn is_held_by(self, refs: usize) -> bool {
        self.refs() == refs
    }

    pub(crate) fn is_complete(self) -> bool {
        self.has(COMPLETE)
    }

    pub(crate) fn is_running(self) -> bool {
        self.has(RUNNING)
    }

    #[cfg_attr(any(nezumi_loom, nezumi_shuttle), allow(dead_code))]
    pub(crate) fn is_notified(self) -> bool {
        self.has(NOTIFIED)
    }

    pub(crate) fn is_join_interested(self) -> bool {
        self.has(JOIN_INTEREST)
    }

    pub(crate) fn is_join_waker_set(self) -> bool {
        self.has(JOIN_WAKER)
    }

    fn wake_by_ref(self) -> (Self, OnWakeByRef) {
        if self.has(COMPLETE | NOTIFIED) {
            return (self, OnWakeByRef::Nothing);
        }
        if self.has(RUNNING) {
            // The poller sees NOTIFIED when it stops, and submits for us.
            return (self.with(NOTIFIED), OnWakeByRef::Nothing);
        }
        (self.with(NOTIFIED).add_ref(), OnWakeByRef::Submit)
    }

    fn wake(self) -> (Self, OnWake) {
        if !self.has(COMPLETE | NOTIFIED | RUNNING) {
            return (self.with(NOTIFIED), OnWake::Submit);
        }
        let next = if self.has(COMPLETE | NOTIFIED) { self } else { self.with(NOTIFIED) }.drop_ref();
        (next, if next.refs() == 0 { OnWake::Dealloc } else { OnWake::Nothing })
    }

    fn start(self) -> (Self, OnStart) {
        debug_assert!(self.has(NOTIFIED));
        if self.has(RUNNING | COMPLETE) {
            let next = self.drop_ref();
            return (next, if next.refs() == 0 { OnStart::Dealloc } else { OnStart::Gone });
        }
        let next = self.without(NOTIFIED).with(RUNNING);
        if self.has(CANCELLED) {
            return (next, OnStart::Cancel);
        }
        (Self(next.0 + tally::HELD * REF_ONE), OnStart::Poll)
    }

    fn stop(self, sum: tally::Sum) -> (Self, OnStop) {
        debug_assert!(self.has(RUNNING) && self.refs() > sum.owed);
        let settled = Self(self.0 - sum.owed * REF_ONE);
        if self.has(CANCELLED) {
            return (settled, OnStop::Cancel);
        }
        let next = settled.without(RUNNING);
        if sum.woken || self.has(NOTIFIED) {
            return (next.with(NOTIFIED), OnStop::Resubmit);
        }
        let next = next.drop_ref();
        (next, if next.refs() == 0 { OnStop::Dealloc } else { OnStop::Idle })
    }

    fn abort(self) -> (Self, OnWakeByRef) {
        if self.has(COMPLETE | CANCELLED) {
            return (self, OnWakeByRef::Nothing);
        }
        // The owner's thread drops the future, so an abort is a wake that cannot be ignored.
        let cancelled = self.with(CANCELLED);
        if self.has(NOTIFIED) { (cancelled, OnWakeByRef::Nothing) } else { cancelled.wake_by_ref() }
    }

    fn shut_down(self) -> (Self, bool) {
        if self.has(COMPLETE | RUNNING) {
            return (self.with(CANCELLED), false);
        }
        (self.with(CANCELLED | RUNNING), true)
    }

    fn drop_join(self) -> (Self, OnJoinDrop) {
        debug_assert!(self.has(JOIN_INTEREST));
        if self.has(COMPLETE) {
            return (self, OnJoinDrop::Complete);
        }
        (self.without(JOIN_INTEREST | JOIN_WAKER), OnJoinDrop::DropWaker)
    }
}

impl State {
    /// A task that is about to be submitted: held by its runnable, its join handle and `others`.
    pub(crate) fn new(others: usize) -> Self {
        Self {
            word: AtomicUsize::new(NOTIFIED | JOIN_INTEREST | ((2 + others) * REF_ONE)),
            #[cfg(nezumi_loom)]
            freed: nezumi_prim::cell::UnsafeCell::new(()),
        }
    }

    #[inline(always)]
    fn word(&self) -> &AtomicUsize {
        #[cfg(nezumi_loom)]
        self.freed.with(|_| ());
        &self.word
    }

    /// What the state is now. Acquire: who sees COMPLETE sees the output.
    pub(crate) fn load(&self) -> Snapshot {
        Snapshot(self.word().load(Ordering::Acquire))
    }

    /// Moves the state along `transition`, always by a read-modify-write, also where nothing changes.
    ///
    /// AcqRel: Release publishes what the caller did before (a waker: its data; a poller: the stage); Acquire sees what
    /// the others published.
    #[inline(always)]
    fn apply<A>(&self, transition: impl Fn(Snapshot) -> (Snapshot, A)) -> A {
        let mut now = Snapshot(self.word().load(Ordering::Relaxed));
        loop {
            let (next, action) = transition(now);
            match self.word().compare_exchange_weak(now.0, next.0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return action,
                Err(actual) => now = Snapshot(actual),
            }
        }
    }

    #[inline]
    pub(crate) fn wake_by_ref(&self) -> OnWakeByRef {
        self.apply(Snapshot::wake_by_ref)
    }

    #[inline]
    pub(crate) fn wake(&self) -> OnWake {
        self.apply(Snapshot::wake)
    }

    #[inline]
    pub(crate) fn start(&self) -> OnStart {
        self.apply(Snapshot::start)
    }

    #[inline]
    pub(super) fn stop(&self, sum: tally::Sum) -> OnStop {
        self.apply(|now| now.stop(sum))
    }

    /// Cancels; if the task must be scheduled so that its owner finds out, a reference was added for the runnable.
    pub(crate) fn abort(&self) -> OnWakeByRef {
        self.apply(Snapshot::abort)
    }

    /// Cancels for shutdown. Whether `RUNNING` became the caller's, who then drops the future.
    pub(crate) fn shut_down(&self) -> bool {
        self.apply(Snapshot::shut_down)
    }

    /// From `RUNNING` to `COMPLETE`. Returns the state after.
    #[inline]
    pub(crate) fn complete(&self) -> Snapshot {
        // AcqRel: publishes the output to the join handle; sees the waker that the handle published.
        let before = Snapshot(self.word().fetch_xor(RUNNING | COMPLETE, Ordering::AcqRel));
        debug_assert!(before.is_running() && !before.is_complete());
        Snapshot(before.0 ^ (RUNNING | COMPLETE))
    }

    /// The usual end of a handle that is dropped right after the spawn. Whether it worked.
    #[inline]
    pub(crate) fn drop_join_fast(&self, others: usize) -> bool {
        let fresh = NOTIFIED | JOIN_INTEREST | ((2 + others) * REF_ONE);
        let next = (fresh - REF_ONE) & !JOIN_INTEREST;
        // Release: the handle is done with the task.
        self.word().compare_exchange(fresh, next, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Gives up the interest in the output of a complete task together with the handle's reference: one read-modify-write. Whether it was the
    /// last reference.
    #[inline]
    #[must_use]
    pub(crate) fn drop_join_of_complete(&self) -> bool {
        // AcqRel: as in `drop_refs`. The bit is set, and only the handle clears it, so that the subtraction borrows nothing.
        let before = Snapshot(self.word().fetch_sub(REF_ONE + JOIN_INTEREST, Ordering::AcqRel));
        debug_assert!(before.has(JOIN_INTEREST) && before.has(COMPLETE));
        before.refs() == 1
    }

    /// Ends a task whose stage holds the output, in at most one read-modify-write: from `RUNNING` to `COMPLETE`, and `refs` references fewer,
    /// the caller's. `now` was read just before, and then the waker's field was looked at.
    ///
    /// If the state is the same afterwards, that look was at the waker which the state was of: a handle that takes its waker back
    /// leaves `JOIN_WAKER_CHANGED` behind, for good.
    #[inline]
    pub(crate) fn end(&self, now: Snapshot, refs: usize) -> OnEnd {
        if !now.has(JOIN_INTEREST) {
            return if now.is_held_by(refs) { OnEnd::Alone } else { OnEnd::Complete };
        }
        if now.has(JOIN_WAKER_CHANGED) {
            return OnEnd::Complete;
        }
        let next = Snapshot(((now.0 ^ (RUNNING | COMPLETE)) & !JOIN_WAKER) - refs * REF_ONE);
        // AcqRel: as in `complete` and `drop_refs`.
        match self.word().compare_exchange(now.0, next.0, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) if now.has(JOIN_WAKER) => OnEnd::Wake,
            Ok(_) if next.is_unreferenced() => OnEnd::Dealloc,
            Ok(_) => OnEnd::Done,
            Err(_) => OnEnd::Complete,
        }
    }

    /// Gives up the interest in the output. The handle's reference is still to be dropped.
    pub(crate) fn drop_join(&self) -> OnJoinDrop {
        self.apply(Snapshot::drop_join)
    }

    /// Gives the waker field to the task. Fails when the task is complete: the field stays the handle's.
    pub(crate) fn give_join_waker(&self) -> Result<(), Snapshot> {
        self.apply_unless_complete(|now| now.with(JOIN_WAKER))
    }

    /// Takes the waker field back. Fails when the task is complete: the field is the task's.
    pub(crate) fn take_join_waker(&self) -> Result<(), Snapshot> {
        self.apply_unless_complete(|now| now.without(JOIN_WAKER).with(JOIN_WAKER_CHANGED))
    }

    fn apply_unless_complete(&self, next: impl Fn(Snapshot) -> Snapshot) -> Result<(), Snapshot> {
        let mut now = self.load();
        while !now.is_complete() {
            let next = next(now);
            // Release: publishes the waker. Nothing is acquired with it: as long as the task is not complete nobody else writes the field.
            // Acquire on failure: as in `load`.
            match self.word().compare_exchange_weak(now.0, next.0, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(actual) => now = Snapshot(actual),
            }
        }
        Err(now)
    }

    #[inline]
    pub(crate) fn add_ref(&self) {
        // Relaxed: a new reference is made from one that exists.
        let before = self.word().fetch_add(REF_ONE, Ordering::Relaxed);
        if before > isize::MAX as usize {
            std::process::abort();
        }
    }

    /// Gives up `count` references. Whether they were the last, so that the caller must free the task.
    #[inline]
    #[must_use]
    pub(crate) fn drop_refs(&self, count: usize) -> bool {
        // AcqRel: all that any holder did to the task happens before it is freed.
        let before = Snapshot(self.word().fetch_sub(count * REF_ONE, Ordering::AcqRel));
        debug_assert!(before.refs() >= count);
        before.refs() == count
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (RUNNING, "running"),
            (NOTIFIED, "notified"),
            (COMPLETE, "complete"),
            (CANCELLED, "cancelled"),
            (JOIN_INTEREST, "join-interest"),
            (JOIN_WAKER, "join-waker"),
            (JOIN_WAKER_CHANGED, "join-waker-changed"),
        ];
        let mut list = f.debug_list();
        list.entries(names.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| name));
        list.entry(&format_args!("refs={}", self.refs())).finish()
    }
}

#[cfg(nezumi_loom)]
impl Drop for State {
    fn drop(&mut self) {
        self.freed.with_mut(|_| ());
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use tally::{HELD, Sum};

    /// A poll that left its task's state alone.
    const SILENT: Sum = Sum { owed: HELD, woken: false };

    #[test]
    fn a_life_without_incident() {
        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        assert_eq!(state.stop(SILENT), OnStop::Idle);
        assert_eq!(state.load().refs(), 2);
        assert_eq!(state.wake_by_ref(), OnWakeByRef::Submit);
        assert_eq!(state.wake_by_ref(), OnWakeByRef::Nothing);
        assert_eq!(state.load().refs(), 3);
        assert_eq!(state.start(), OnStart::Poll);
        let done = state.complete();
        assert!(done.is_complete() && !done.is_running() && done.is_join_interested());
        assert!(!state.drop_refs(2 + HELD));
        assert_eq!(state.drop_join(), OnJoinDrop::Complete);
        assert!(state.drop_join_of_complete());
    }

    #[test]
    fn wake_during_poll_resubmits() {
        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        assert_eq!(state.wake_by_ref(), OnWakeByRef::Nothing);
        assert_eq!(state.stop(SILENT), OnStop::Resubmit);
        assert_eq!(state.start(), OnStart::Poll);
    }

    #[test]
    fn what_a_poll_tallied_is_settled_when_it_ends() {
        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        assert_eq!(state.stop(Sum { owed: HELD - 2, woken: false }), OnStop::Idle, "it made two");
        assert_eq!(state.load().refs(), 4);
        assert_eq!(state.wake(), OnWake::Submit);
        assert_eq!(state.start(), OnStart::Poll);
        assert!(!state.drop_refs(1), "elsewhere");
        assert_eq!(state.stop(Sum { owed: HELD, woken: true }), OnStop::Resubmit);
        assert_eq!(state.load().refs(), 3);
        assert_eq!(state.start(), OnStart::Poll);
        assert_eq!(state.end(state.load(), 2 + HELD), OnEnd::Done);
        assert_eq!(state.load().refs(), 1);
    }

    #[test]
    fn the_join_waker_goes_with_the_end_unless_it_was_changed() {
        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        state.give_join_waker().unwrap();
        assert_eq!(state.end(state.load(), 2 + HELD), OnEnd::Wake);
        assert!(state.load().is_complete() && !state.load().is_join_waker_set());

        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        state.give_join_waker().unwrap();
        let before = state.load();
        state.take_join_waker().unwrap();
        state.give_join_waker().unwrap();
        assert_eq!(state.end(before, 2 + HELD), OnEnd::Complete, "it may be another");
        assert_eq!(
            state.end(state.load(), 2 + HELD),
            OnEnd::Complete,
            "and the next look may be of another again"
        );
    }

    #[test]
    fn abort_schedules_an_idle_task_and_only_marks_others() {
        let state = State::new(1);
        assert_eq!(state.abort(), OnWakeByRef::Nothing, "already queued");
        assert_eq!(state.start(), OnStart::Cancel);
        state.complete();
        assert_eq!(state.abort(), OnWakeByRef::Nothing);

        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        assert_eq!(state.abort(), OnWakeByRef::Nothing, "running");
        assert_eq!(state.stop(SILENT), OnStop::Cancel);

        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        assert_eq!(state.stop(SILENT), OnStop::Idle);
        assert_eq!(state.abort(), OnWakeByRef::Submit);
        assert_eq!(state.start(), OnStart::Cancel);
    }

    #[test]
    fn shutdown_takes_what_is_not_running() {
        let state = State::new(1);
        assert!(state.shut_down());
        assert_eq!(state.start(), OnStart::Gone, "the runnable finds the task taken");
        state.complete();

        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        assert!(!state.shut_down());
        assert_eq!(state.stop(SILENT), OnStop::Cancel);
    }

    #[test]
    fn the_last_waker_frees_a_forgotten_task() {
        let state = State::new(0);
        assert!(state.drop_join_fast(0));
        assert_eq!(state.start(), OnStart::Poll);
        assert_eq!(state.stop(SILENT), OnStop::Dealloc);
    }

    #[test]
    fn the_join_waker_changes_hands_only_before_completion() {
        let state = State::new(1);
        assert_eq!(state.start(), OnStart::Poll);
        state.give_join_waker().unwrap();
        state.take_join_waker().unwrap();
        state.give_join_waker().unwrap();
        assert!(state.complete().is_join_waker_set());
        assert!(state.take_join_waker().is_err());
        assert_eq!(state.drop_join(), OnJoinDrop::Complete);
    }
}
