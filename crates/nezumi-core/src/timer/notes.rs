//! Timers that wait for the end of the poll.
//!
//! A timer that wakes the very task which is being polled cannot matter before that poll has ended: the task does not run a second
//! time meanwhile. And many do not live that long: of the branches of a `select!` one is ready, and the others are
//! dropped. So the first poll of an entry only makes a note of it in the *notebook* of this thread, which costs neither the lock
//! nor a reference to the task; what is left of the notes when the poll ends is armed then, all under one lock.
//!
//! Called by [`Entry`](super::Entry) (makes and erases notes), `task::run` (takes them up whenever code of a task has run) and
//! `scheduler` (the same, before a thread gives up the shard that it drives).
//!
//! A note stands only as long as all of this holds, which `put_off` checks, and whoever ends it takes the notes up first:
//!
//! - code of the task runs on this thread, so that the task is held (ended by `task::run`, where it takes back the task's id);
//! - the thread is the owner of the shard whose timers they are (ended where the context's `owned` changes), and does not sleep as
//!   such (ended by `current_thread`, which a task may run inside its poll).
//!
//! All notes of a notebook are of one task and one shard. An entry that is polled with another waker, or elsewhere, or a second time
//! in the same poll (which may well be a loop that waits for it) is armed at once.
//!
//! A noted node belongs to the owner of its entry, as any other. That owner may be on another thread before the poll ends: what was
//! polled here was sent away. So each note has two sides:
//!
//! | | on the notebook's thread | anywhere else |
//! |---|---|---|
//! | the owner looks at, changes or erases the note | as it likes | with the lock of the timers, if `state` is still `NOTED` |
//! | the notes are taken up | with the lock of the timers | – |
//!
//! The left column is one thread, so it does not race with itself; whatever the right column does excludes the taking up, by the
//! lock. A note that was erased elsewhere is seen by the notebook's thread as free or as not yet free (Release, Acquire), and either
//! is right. The place behind `len` is free, since a note is behind it only after its erasure on this thread, or its taking up.
//!
//! Tests: `timers::tests::a_note_*`, and the integration tests in `tests/it/time/noted.rs`; loom:
//! `models::noted_here_dropped_there`, `noted_here_polled_there`, `noted_here_reset_there`, `a_place_erased_there_is_used_here`,
//! `noted_while_falling_asleep`, `a_note_that_is_taken_up_too_late_has_fired`.

use super::Timers;
use super::node::{NOTED, Node};
use crate::scheduler::{Home, Shard};
use nezumi_prim::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWakerVTable, Waker};

/// How many notes a notebook has room for.
pub(super) const ROOM: usize = 4;

/// What the poll that runs on one thread has put off.
pub(super) struct Notebook {
    /// The notes from here on are free.
    len: Cell<usize>,
    /// The waker of the task that the notes are of, in its two parts. It counts no reference.
    task: Cell<*const ()>,
    vtable: Cell<Option<&'static RawWakerVTable>>,
    /// Whose timers the notes are for, and the shard that they are announced by.
    timers: Cell<*const Timers>,
    #[cfg_attr(
        any(nezumi_loom, nezumi_shuttle),
        expect(dead_code, reason = "models announce by themselves")
    )]
    shard: Cell<*const Shard>,
    notes: [Note; ROOM],
}

/// A node that is to be armed, and when it is due.
pub(super) struct Note {
    /// Null if the note is free.
    node: AtomicPtr<Node>,
    deadline_ms: AtomicU64,
}

macro_rules! empty {
    () => {
        Notebook {
            len: Cell::new(0),
            task: Cell::new(ptr::null()),
            vtable: Cell::new(None),
            timers: Cell::new(ptr::null()),
            shard: Cell::new(ptr::null()),
            notes: [Note::free(), Note::free(), Note::free(), Note::free()],
        }
    };
}

macro_rules! free {
    () => {
        Note { node: AtomicPtr::new(ptr::null_mut()), deadline_ms: AtomicU64::new(0) }
    };
}

// The atomics of the model checkers are not made at compile time.
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
impl Note {
    const fn free() -> Self {
        free!()
    }
}

#[cfg(any(nezumi_loom, nezumi_shuttle))]
impl Note {
    fn free() -> Self {
        free!()
    }
}

#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
thread_local! {
    static NOTEBOOK: Notebook = const { empty!() };
}

impl Notebook {
    /// A notebook without notes.
    #[cfg(test)]
    pub(super) fn new() -> Self {
        empty!()
    }

    /// Makes a note, if there is room, and if those that stand are of the same task.
    ///
    /// # Safety
    ///
    /// The caller is on the notebook's thread and owns the node, which is pinned and neither pending nor noted, and stays until
    /// it is neither. The task of `waker` is held, and `timers` stand, until the notes have been taken up; as long as there are notes,
    /// `timers` are the same.
    #[inline]
    pub(super) unsafe fn note(
        &self,
        node: NonNull<Node>,
        deadline_ms: u64,
        waker: &Waker,
        timers: *const Timers,
    ) -> bool {
        let Some(note) = self.free_note(waker.data()) else { return false };
        self.task.set(waker.data());
        self.vtable.set(Some(waker.vtable()));
        self.timers.set(timers);
        note.deadline_ms.store(deadline_ms, Ordering::Relaxed);
        note.node.store(node.as_ptr(), Ordering::Relaxed);
        // SAFETY: the caller owns the node.
        unsafe {
            node.as_ref().note.set(note);
            // Relaxed: whoever gets the node on another thread gets it by way of something that orders this.
            node.as_ref().state.store(NOTED, Ordering::Relaxed);
        }
        true
    }

    #[inline]
    fn free_note(&self, task: *const ()) -> Option<&Note> {
        let len = self.len.get();
        if len != 0 && self.task.get() != task {
            return None;
        }
        if len < ROOM {
            self.len.set(len + 1);
            return Some(&self.notes[len]);
        }
        // Acquire: pairs with the Release of `erase` on another thread, which is done with the note.
        self.notes.iter().find(|note| note.node.load(Ordering::Acquire).is_null())
    }

    /// Whether the note of this node, which is noted, is one of ours, so that its owner, who asks, need not take the lock.
    #[inline]
    #[cfg_attr(any(nezumi_loom, nezumi_shuttle), expect(dead_code, reason = "see `with_own`"))]
    pub(super) fn has(&self, node: &Node) -> bool {
        self.notes.as_ptr_range().contains(&node.note.get())
    }

    /// Erases the note of `node`, which is one of ours.
    #[inline]
    pub(super) fn erase(&self, node: &Node) {
        // SAFETY: it points into `self.notes`.
        unsafe { (*node.note.get()).erase() };
        // As a rule it was the last one made.
        let len = self.len.get();
        if ptr::eq(node.note.get(), &raw const self.notes[len - 1]) {
            self.len.set(len - 1);
        }
    }

    /// Gives `node`, whose note is one of ours, another deadline.
    pub(super) fn set_deadline(&self, node: &Node, deadline_ms: u64) {
        // SAFETY: it points into `self.notes`.
        unsafe { (*node.note.get()).set_deadline(deadline_ms) };
    }

    /// Arms what is left. Returns the earliest deadline, if it is now the first of the timers.
    ///
    /// # Safety
    ///
    /// The caller is on the notebook's thread, and the promise of [`note`](Self::note) holds.
    pub(super) unsafe fn take_up(&self) -> Option<u64> {
        let len = self.len.get();
        let vtable = self.vtable.get().filter(|_| len != 0)?;
        // SAFETY: the two parts of a waker, whose task is held; it is never dropped, and so gives up no reference.
        let waker = ManuallyDrop::new(unsafe { Waker::new(self.task.get(), vtable) });
        // Before the wake below, which may be user code (of whoever polls a `LocalSet`) and make notes.
        self.len.set(0);
        // SAFETY: there were notes, so the timers were set, and stand; the notes are for them.
        let (first_ms, ended) = unsafe { (*self.timers.get()).arm_noted(&self.notes[..len], &waker) };
        if ended {
            nezumi_wake::contain(|| waker.wake_by_ref());
        }
        first_ms
    }
}

impl Note {
    /// Frees the note, and returns what it said.
    #[inline]
    pub(super) fn erase(&self) -> Option<(NonNull<Node>, u64)> {
        let node = NonNull::new(self.node.load(Ordering::Relaxed))?;
        let deadline_ms = self.deadline_ms.load(Ordering::Relaxed);
        // Release: pairs with the Acquire in `free_note`. From here on the notebook's thread may use it for another node.
        self.node.store(ptr::null_mut(), Ordering::Release);
        Some((node, deadline_ms))
    }

    pub(super) fn set_deadline(&self, deadline_ms: u64) {
        self.deadline_ms.store(deadline_ms, Ordering::Relaxed);
    }
}

/// Arms what has been put off on this thread. Called when code of a task has run, and before the thread gives up the shard that it owns:
/// two instructions if there is nothing.
#[inline(always)]
pub(crate) fn take_up() {
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    if NOTEBOOK.with(|notebook| notebook.len.get() != 0) {
        take_up_here();
    }
}

#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
#[cold]
#[inline(never)]
fn take_up_here() {
    NOTEBOOK.with(|notebook| {
        // Once, unless a wake makes new notes.
        while notebook.len.get() != 0 {
            // SAFETY: this is its thread. The task is held and the timers stand: the two rules of the header.
            if let Some(first_ms) = unsafe { notebook.take_up() } {
                // SAFETY: this thread owns the shard, by the second rule, and what it drives it keeps.
                Home::timer_armed_in(unsafe { &*notebook.shard.get() }, first_ms);
            }
        }
    });
}

/// Makes a note of `node`, if the poll that runs here is of the task that `waker` wakes, and if the thread owns the shard of `home`.
///
/// # Safety
///
/// The caller owns the node, which is pinned and neither pending nor noted, and stays until it is neither.
#[inline]
#[cfg_attr(any(nezumi_loom, nezumi_shuttle), expect(unused_variables, reason = "see below"))]
pub(super) unsafe fn put_off(home: &Home, node: NonNull<Node>, deadline_ms: u64, waker: &Waker) -> bool {
    // The threads of the model checkers share one real thread and so its thread-locals: there, every timer is armed at once.
    #[cfg(any(nezumi_loom, nezumi_shuttle))]
    return false;
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    {
        let shard: *const Shard = home.shard();
        if !crate::scheduler::context::with(|context| context.owns(shard)) || !crate::task::runs_here(waker) {
            return false;
        }
        NOTEBOOK.with(|notebook| {
            notebook.shard.set(shard);
            // SAFETY: this is the notebook's thread; the two rules are those of the header. The shard, and so the timers, are
            // the same for all notes, since they are taken up before the thread owns another one.
            unsafe { notebook.note(node, deadline_ms, waker, home.timers()) }
        })
    }
}

/// Calls `f` if `node`, which is noted, is noted in the notebook of this thread. The caller owns the node.
#[inline]
#[cfg_attr(any(nezumi_loom, nezumi_shuttle), expect(unused_variables, reason = "there are no notes"))]
pub(super) fn with_own<R>(node: &Node, f: impl FnOnce(&Notebook) -> R) -> Option<R> {
    #[cfg(any(nezumi_loom, nezumi_shuttle))]
    return None;
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    NOTEBOOK.with(|notebook| notebook.has(node).then(|| f(notebook)))
}
