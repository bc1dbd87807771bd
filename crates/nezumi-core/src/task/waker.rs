//! The waker of a task: its address and one static table. Cloning counts a reference and allocates nothing; in the poll of that very task it
//! is counted in the `tally`.

use super::state::{OnWake, OnWakeByRef};
use super::{Header, TaskRef, tally};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// One table for all tasks, so that `will_wake` knows a task by its address.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker that holds no reference of its own: good for as long as its maker holds one.
pub(super) struct Borrowed(ManuallyDrop<Waker>);

impl Deref for Borrowed {
    type Target = Waker;

    #[inline]
    fn deref(&self) -> &Waker {
        &self.0
    }
}

/// The waker to poll `task` with.
#[inline]
pub(super) fn borrowed(task: NonNull<Header>) -> Borrowed {
    // SAFETY: the functions of the table take a pointer to a task on which a reference is held. The poller holds one, and this
    // waker is never dropped, so that it does not give one up.
    Borrowed(ManuallyDrop::new(unsafe { Waker::new(task.as_ptr().cast(), &VTABLE) }))
}

/// Whether `waker` is of the task at this address.
#[inline]
pub(crate) fn is_waker_of(waker: &Waker, task: *const ()) -> bool {
    std::ptr::eq(waker.data(), task) && std::ptr::eq(waker.vtable(), &VTABLE)
}

/// Whether `waker` is of the task whose code runs on this thread. If so, that task is held at least until `run` calls
/// `notes::take_up` next.
#[inline]
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
pub(crate) fn runs_here(waker: &Waker) -> bool {
    if !std::ptr::eq(waker.vtable(), &VTABLE) {
        return false;
    }
    // SAFETY: a waker of this table holds, or borrows, a reference to its task.
    super::try_id() == Some(unsafe { task(waker.data()).as_ref() }.id)
}

/// # Safety
///
/// `data` is of a waker of this table.
#[inline]
unsafe fn task(data: *const ()) -> NonNull<Header> {
    // SAFETY: it came from `borrowed` or `clone`, whose pointer is to a whole task and not null.
    unsafe { NonNull::new_unchecked(data.cast_mut()).cast() }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the table's contract: the waker's reference keeps the task.
    let task = unsafe { task(data).as_ref() };
    task.span.waker_cloned();
    if !tally::add_ref(task) {
        task.state.add_ref();
    }
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the table's contract. The waker's reference is ours, and goes where the state says.
    unsafe {
        let task = task(data);
        task.as_ref().span.waker_woken();
        if tally::wake(task.as_ptr(), 1) {
            return;
        }
        match task.as_ref().state.wake() {
            OnWake::Submit => (task.as_ref().vtable.schedule)(task),
            OnWake::Nothing => {}
            OnWake::Dealloc => (task.as_ref().vtable.dealloc)(task),
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the table's contract; on `Submit` the state counted a reference for the runnable.
    unsafe {
        let task = task(data);
        task.as_ref().span.waker_woken_by_ref();
        if tally::wake(task.as_ptr(), 0) {
            return;
        }
        if task.as_ref().state.wake_by_ref() == OnWakeByRef::Submit {
            (task.as_ref().vtable.schedule)(task);
        }
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the table's contract; the waker's reference is ours to give up.
    let task = unsafe { task(data) };
    // SAFETY: as above.
    unsafe { task.as_ref() }.span.waker_dropped();
    if !tally::drop_ref(task.as_ptr()) {
        // SAFETY: as above.
        drop(unsafe { TaskRef::from_header(task) });
    }
}
