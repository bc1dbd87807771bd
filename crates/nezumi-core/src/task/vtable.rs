//! What can be done with a task whose future's type is not known.

use super::cell::{Cell, Header};
use super::run;
use super::{JoinError, Runnable, Schedule};
use nezumi_prim::block;
use nezumi_wake::contain;
use std::future::Future;
use std::ptr::NonNull;

/// One static table per pair of future and scheduler.
///
/// Every function takes a pointer to a task of that pair on which the caller holds a reference.
pub(super) struct Vtable {
    /// Polls once. Consumes the runnable's reference.
    pub(super) poll: unsafe fn(NonNull<Header>),
    /// Submits. Consumes the reference that the runnable gets.
    pub(super) schedule: unsafe fn(NonNull<Header>),
    /// Frees, or leaves that to who looks at the task. The caller held the last reference.
    pub(super) dealloc: unsafe fn(NonNull<Header>),
    /// Frees. Once, after `dealloc`.
    pub(super) free: unsafe fn(NonNull<Header>),
    /// Moves the output to a `MaybeUninit<Result<F::Output, JoinError>>`. The task is complete, the caller has the join interest.
    pub(super) take_output: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the output. The task is complete, the caller has, or has just given up, the join interest.
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    /// Drops the future and completes the task as cancelled. The caller holds `RUNNING`. Consumes one reference.
    pub(super) cancel: unsafe fn(NonNull<Header>),
}

impl Vtable {
    pub(super) fn of<F: Future, S: Schedule>() -> &'static Vtable {
        const {
            &Vtable {
                poll: run::poll::<F, S>,
                schedule: schedule::<F, S>,
                dealloc: dealloc::<F, S>,
                free: free::<F, S>,
                take_output: take_output::<F, S>,
                drop_output: run::drop_output::<F, S>,
                cancel: run::cancel::<F, S>,
            }
        }
    }
}

unsafe fn schedule<F: Future, S: Schedule>(task: NonNull<Header>) {
    let cell = task.cast::<Cell<F, S>>().as_ptr();
    // SAFETY: the caller holds a reference, which the runnable takes over; it keeps the scheduler in place until `schedule`
    // gives the runnable away.
    unsafe { S::schedule(&raw const (*cell).scheduler, Runnable::from_header(task)) };
}

unsafe fn dealloc<F: Future, S: Schedule>(task: NonNull<Header>) {
    // A waker that nobody took: its drop is the program's code, and whoever frees tasks, in the shutdown for one, has more to do.
    // SAFETY: the caller held the last reference.
    let header = unsafe { task.as_ref() };
    if header.state.load().is_join_waker_set() {
        // SAFETY: as above: nobody else owns the field.
        let waker = unsafe { header.join_waker.take() };
        contain(|| drop(waker));
    }
    // SAFETY: the caller held the last reference.
    if let Some(grace) = unsafe { (*task.cast::<Cell<F, S>>().as_ptr()).scheduler.grace() } {
        // SAFETY: as above. It has left its registry, or was never in one; and what is left of it, without future and output, is the same on any thread.
        if unsafe { grace.keep(task) } {
            return;
        }
    }
    // SAFETY: as above.
    unsafe { free::<F, S>(task) };
}

unsafe fn free<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: `Cell::allocate` made it, and it is the caller's alone.
    unsafe { block::free(task.cast::<Cell<F, S>>()) };
}

unsafe fn take_output<F: Future, S: Schedule>(task: NonNull<Header>, to: *mut ()) {
    // SAFETY: the caller holds a reference, and owns the stage (complete, join interest); `to` has room for the result.
    unsafe { run::take_output::<F, S>(task, to.cast::<Result<F::Output, JoinError>>()) }
}
