//! The one allocation of a task.

use super::join_waker::JoinWaker;
use super::registry::NOWHERE;
use super::state::{Snapshot, State};
use super::vtable::Vtable;
use super::{Id, JoinError, Origin, Priority, Schedule};
use nezumi_prim::block;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use nezumi_trace::TaskSpan;
use std::future::Future;
use std::panic::Location;
use std::ptr::NonNull;

/// What every task has at its start, whatever its future is. All pointers to tasks are pointers to this.
pub(crate) struct Header {
    pub(super) state: State,
    /// The queue's: chains runnables.
    pub(super) link: AtomicPtr<()>,
    pub(super) vtable: &'static Vtable,
    pub(super) id: Id,
    pub(super) spawned_at: &'static Location<'static>,
    /// Where the registry keeps this task. Written by the registry, before the task is shared.
    pub(super) place: AtomicU32,
    pub(super) priority: Priority,
    /// For subscribers of `tracing`; empty without that feature.
    pub(super) span: TaskSpan,
    /// Thin, since few tasks have one.
    pub(super) name: Option<Box<Box<str>>>,
    pub(super) join_waker: JoinWaker,
}

/// A task: `repr(C)`, so that a pointer to it is one to its header.
#[repr(C)]
pub(super) struct Cell<F: Future, S> {
    pub(super) header: Header,
    pub(super) scheduler: S,
    pub(super) stage: UnsafeCell<Stage<F>>,
}

/// What is in the middle of a task.
pub(super) enum Stage<F: Future> {
    Future(F),
    Output(Result<F::Output, JoinError>),
    Consumed,
}

impl<F: Future, S: Schedule> Cell<F, S> {
    #[inline]
    pub(super) fn allocate(future: F, scheduler: S, origin: Origin<'_>, span: TaskSpan) -> NonNull<Header> {
        let name = origin.name.map(|name| Box::new(name.into()));
        let cell = block::room::<Self>();
        let place = cell.as_ptr();
        // SAFETY: the room is ours and of the right size. All fields of the cell are written, and nothing in between can panic.
        unsafe {
            (&raw mut (*place).header).write(Header {
                state: State::new(S::REGISTRY_REFS),
                link: AtomicPtr::default(),
                vtable: Vtable::of::<F, S>(),
                id: origin.id,
                spawned_at: origin.spawned_at,
                place: AtomicU32::new(NOWHERE),
                priority: origin.priority.unwrap_or_default(),
                span,
                name,
                join_waker: JoinWaker::none(),
            });
            (&raw mut (*place).scheduler).write(scheduler);
            (&raw mut (*place).stage).write(UnsafeCell::new(Stage::Future(future)));
        }
        cell.cast()
    }
}

/// The scheduler of a task: it lies at the same place whatever the future is.
///
/// # Safety
///
/// The task's scheduler is an `S`, and the task is held for as long as the reference lives.
pub(crate) unsafe fn scheduler_of<'a, S: Schedule>(task: NonNull<Header>) -> &'a S {
    // `repr(C)`: what comes before the stage does not depend on it.
    let offset = const { std::mem::offset_of!(Cell<std::future::Ready<()>, S>, scheduler) };
    // SAFETY: the pointer is to the whole task, and the rest is the caller's promise.
    unsafe { task.byte_add(offset).cast::<S>().as_ref() }
}

impl Header {
    pub(crate) fn id(&self) -> Id {
        self.id
    }

    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    pub(crate) fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_ref().map(|name| &***name)
    }

    /// What the state was when this was called.
    pub(crate) fn state(&self) -> Snapshot {
        self.state.load()
    }

    /// Frees a task that [`Grace::keep`](crate::dump::Grace::keep) took.
    ///
    /// # Safety
    ///
    /// Once, and as the only one who has the task.
    pub(crate) unsafe fn free(task: NonNull<Header>) {
        // SAFETY: the caller's promise.
        unsafe { (task.as_ref().vtable.free)(task) };
    }

    /// For chaining up tasks of which there is no runnable, nor will be one.
    pub(crate) fn link(&self) -> &AtomicPtr<()> {
        &self.link
    }

    pub(crate) fn place(&self) -> u32 {
        // Relaxed: written before the task was shared.
        self.place.load(Ordering::Relaxed)
    }

    pub(crate) fn set_place(&self, place: u32) {
        self.place.store(place, Ordering::Relaxed);
    }
}
