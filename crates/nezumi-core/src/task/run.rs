//! From a runnable to the end of its poll.
//!
//! Called through the vtable by whoever holds a runnable (the schedulers), or `RUNNING` (shutdown). Calls user code: the
//! future, its drop, the drop of the output, the join waker. Each of these may panic, and each is caught here.

use super::cell::{Cell, Header, Stage};
use super::runnable::refs_at_completion;
use super::state::{OnEnd, OnStart, OnStop};
use super::{Id, JoinError, Runnable, Schedule, id, tally, waker};
use crate::timer::notes;
use nezumi_prim::cell::UnsafeCell;
use nezumi_wake::{contain, drop_payload};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Sets the current task id while user code of a task runs. Whoever makes it holds a reference to the task, and calls
/// [`notes::take_up`] after it was dropped, while holding it: only now can nothing more be put off for this task.
struct Inside(Option<Id>);

impl Inside {
    #[inline]
    fn new(id: Id) -> Self {
        Self(id::replace_current(Some(id)))
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        id::replace_current(self.0);
    }
}

/// Polls once. See [`Vtable`](super::vtable::Vtable).
pub(super) unsafe fn poll<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller gave us a reference, which this function holds until one of the calls below consumes it.
    let cell = unsafe { task.cast::<Cell<F, S>>().as_ref() };
    match cell.header.state.start() {
        OnStart::Poll => {
            let tally = tally::open(task.as_ptr());
            // SAFETY: `start` gave us RUNNING.
            if unsafe { poll_future(task, cell) }.is_ready() {
                notes::take_up();
                // SAFETY: RUNNING and the reference are ours, and so is what is owed; the stage holds the output.
                return unsafe { complete::<F, S>(task, tally.close().owed) };
            }
            // On either branch by itself, so that the answer need not be kept in a register until here.
            notes::take_up();
            match cell.header.state.stop(tally.close()) {
                OnStop::Idle => {}
                // SAFETY: it was the last reference.
                OnStop::Dealloc => unsafe { (cell.header.vtable.dealloc)(task) },
                // SAFETY: NOTIFIED is set, and the reference lives on as the new runnable's.
                OnStop::Resubmit => unsafe {
                    S::reschedule(&raw const cell.scheduler, Runnable::from_header(task));
                },
                // SAFETY: RUNNING is still ours, and so is the reference.
                OnStop::Cancel => unsafe { cancel::<F, S>(task) },
            }
        }
        // SAFETY: as for `OnStop::Cancel`.
        OnStart::Cancel => unsafe { cancel::<F, S>(task) },
        OnStart::Gone => {}
        // SAFETY: it was the last reference.
        OnStart::Dealloc => unsafe { (cell.header.vtable.dealloc)(task) },
    }
}

/// Polls the future, and puts its output, or its panic, in its place.
///
/// # Safety
///
/// The caller holds `RUNNING` of this task.
#[inline]
unsafe fn poll_future<F: Future, S: Schedule>(task: NonNull<Header>, cell: &Cell<F, S>) -> Poll<()> {
    let _inside = Inside::new(cell.header.id);
    /// Drops the future while a panic of its poll unwinds, so that its drop can tell.
    struct DropOnPanic<'a, F: Future>(&'a UnsafeCell<Stage<F>>);

    impl<F: Future> Drop for DropOnPanic<'_, F> {
        fn drop(&mut self) {
            // A second panic here would abort the process. It is caught, and the first one is the news.
            // SAFETY: RUNNING is ours, by the promise of the caller of `poll_future`.
            contain(|| unsafe { set_stage(self.0, Stage::Consumed) });
        }
    }

    let polled = catch_unwind(AssertUnwindSafe(|| {
        let on_panic = DropOnPanic(&cell.stage);
        let waker = waker::borrowed(task);
        let mut cx = Context::from_waker(&waker);
        let polled = cell.stage.with_mut(|stage| {
            // SAFETY: row `stage` of the table in `task`: RUNNING is ours. The future never moves: the task is on the heap, and
            // the stage is only ever overwritten.
            match unsafe { &mut *stage } {
                Stage::Future(future) => {
                    // SAFETY: as above.
                    unsafe { Pin::new_unchecked(future) }.poll(&mut cx)
                }
                Stage::Output(_) | Stage::Consumed => {
                    unreachable!("a task is polled until its future is done")
                }
            }
        });
        std::mem::forget(on_panic);
        // Put in its place here: carried out of the closure it would be copied three times.
        // SAFETY: RUNNING is ours.
        polled.map(|output| unsafe { finish(cell, Ok(output)) })
    }));
    polled.unwrap_or_else(|payload| {
        cell.scheduler.panicked();
        // SAFETY: RUNNING is ours.
        unsafe { finish(cell, Err(JoinError::panic(cell.header.id, payload))) };
        Poll::Ready(())
    })
}

/// Replaces the future by `output`, or by the panic of the future's drop. Does not panic.
///
/// # Safety
///
/// The caller holds `RUNNING` of this task.
#[inline]
unsafe fn finish<F: Future, S: Schedule>(cell: &Cell<F, S>, output: Result<F::Output, JoinError>) {
    // SAFETY: the caller's promise.
    let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { set_stage(&cell.stage, Stage::Consumed) }));
    let output = match dropped {
        Ok(()) => output,
        // A panic of the poll itself is the older news.
        Err(payload) if output.is_err() => {
            drop_payload(payload);
            output
        }
        Err(payload) => {
            contain(|| drop(output));
            Err(JoinError::panic(cell.header.id, payload))
        }
    };
    // SAFETY: the caller's promise; the stage is `Consumed`, so that there is nothing to drop.
    cell.stage.with_mut(|stage| unsafe { stage.write(Stage::Output(output)) });
}

/// # Safety
///
/// The caller owns the stage.
#[inline]
unsafe fn set_stage<F: Future>(cell: &UnsafeCell<Stage<F>>, new: Stage<F>) {
    cell.with_mut(|stage| {
        /// Writes the new stage also when dropping the old one panics, so that nothing is dropped twice.
        struct Write<F: Future>(*mut Stage<F>, Option<Stage<F>>);

        impl<F: Future> Drop for Write<F> {
            fn drop(&mut self) {
                if let Some(new) = self.1.take() {
                    // SAFETY: the old stage has been dropped in place, wholly or up to a panic.
                    unsafe { self.0.write(new) };
                }
            }
        }

        let _write = Write(stage, Some(new));
        // SAFETY: the caller owns the stage, and `_write` fills the place again.
        unsafe { stage.drop_in_place() };
    });
}

/// Tells the world that the stage holds the final output, and gives up `RUNNING`, one reference, and `owed` more.
///
/// # Safety
///
/// The caller holds `RUNNING` and gives the references; the stage is `Output`.
#[inline]
unsafe fn complete<F: Future, S: Schedule>(task: NonNull<Header>, owed: usize) {
    // Derived here and not passed in: the task may be freed before this function returns.
    // SAFETY: the caller gives a reference.
    let cell = unsafe { task.cast::<Cell<F, S>>().as_ref() };
    cell.scheduler.terminated(&cell.header);
    let released = cell.scheduler.release(&cell.header);
    let refs = refs_at_completion::<S>(released) + owed;
    let now = cell.header.state.load();
    let look = cell.header.join_waker.look();
    match cell.header.state.end(now, refs) {
        OnEnd::Done => return,
        OnEnd::Wake => {
            // SAFETY: that the state had not changed says that the look was at the waker which the handle had left, and now it is ours.
            let waker = unsafe { look.into_waker() };
            // The task may be gone. A waker is user code.
            contain(|| waker.wake());
            return;
        }
        // SAFETY: these were the last references.
        OnEnd::Dealloc => return unsafe { (cell.header.vtable.dealloc)(task) },
        OnEnd::Alone => {
            // SAFETY: the task is ours alone, and so are the output and the memory.
            unsafe {
                drop_output::<F, S>(task);
                return (cell.header.vtable.dealloc)(task);
            }
        }
        OnEnd::Complete => {}
    }
    let after = cell.header.state.complete();
    if !after.is_join_interested() {
        // SAFETY: nobody has the join interest, so the output is ours.
        unsafe { drop_output::<F, S>(task) };
    } else if after.is_join_waker_set() {
        // SAFETY: row `join waker`: set and complete, so it belongs to us.
        let waker = unsafe { cell.header.join_waker.take() };
        // A waker is user code.
        contain(|| {
            if let Some(waker) = waker {
                waker.wake();
            }
        });
    }
    if cell.header.state.drop_refs(refs) {
        // SAFETY: these were the last references.
        unsafe { (cell.header.vtable.dealloc)(task) };
    }
}

/// Drops the future and completes. See [`Vtable`](super::vtable::Vtable).
pub(super) unsafe fn cancel<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller gave us a reference.
    let cell = unsafe { task.cast::<Cell<F, S>>().as_ref() };
    let id = cell.header.id;
    {
        let _inside = Inside::new(id);
        // SAFETY: the caller holds RUNNING.
        let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { set_stage(&cell.stage, Stage::Consumed) }));
        let error = match dropped {
            Ok(()) => JoinError::cancelled(id),
            Err(payload) => JoinError::panic(id, payload),
        };
        // SAFETY: as above.
        unsafe { set_stage(&cell.stage, Stage::Output(Err(error))) };
    }
    notes::take_up();
    // SAFETY: RUNNING and the reference are ours, and the stage holds the output. Nothing is owed: `stop` has settled it.
    unsafe { complete::<F, S>(task, 0) }
}

/// Drops the output. See [`Vtable`](super::vtable::Vtable).
pub(super) unsafe fn drop_output<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller holds a reference.
    let cell = unsafe { task.cast::<Cell<F, S>>().as_ref() };
    // SAFETY: the caller owns the stage.
    if cell.stage.with(|stage| matches!(unsafe { &*stage }, Stage::Consumed)) {
        return;
    }
    let inside = Inside::new(cell.header.id);
    // SAFETY: the caller owns the stage: complete, and the join interest is, or was, the caller's.
    contain(|| unsafe { set_stage(&cell.stage, Stage::Consumed) });
    drop(inside);
    notes::take_up();
}

/// Moves the output out.
///
/// # Safety
///
/// The caller holds a reference and the join interest, the task is complete, and `to` has room.
pub(super) unsafe fn take_output<F: Future, S: Schedule>(
    task: NonNull<Header>,
    to: *mut Result<F::Output, JoinError>,
) {
    // SAFETY: the caller holds a reference.
    let cell = unsafe { task.cast::<Cell<F, S>>().as_ref() };
    cell.stage.with_mut(|stage| {
        // SAFETY: row `stage`: complete, and the join interest is the caller's.
        match unsafe { &mut *stage } {
            Stage::Output(output) => {
                let output: *const Result<F::Output, JoinError> = output;
                // SAFETY: `to` has room; what stood here is moved there, in one copy, and is not dropped here.
                unsafe {
                    output.copy_to_nonoverlapping(to, 1);
                    stage.write(Stage::Consumed);
                }
            }
            Stage::Future(_) | Stage::Consumed => panic!("JoinHandle polled after completion"),
        }
    });
}
