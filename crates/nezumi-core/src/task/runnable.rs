//! The right to poll a task once, and the right to know it.

use super::{Header, Schedule};
use nezumi_prim::sync::atomic::AtomicPtr;
use nezumi_queue::Item;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

/// The right to poll a task once. Exactly one exists while the task's state says `NOTIFIED` and nobody is polling.
///
/// Dropping it unused drops a reference and nothing else: the task can never be woken again, so that only a queue which is
/// closed, and whose tasks have been shut down, may do so.
#[derive(Debug)]
pub(crate) struct Runnable(NonNull<Header>);

// SAFETY: a runnable of a `!Send` future is kept on its thread by whoever made it (the contract of `new_task`).
unsafe impl Send for Runnable {}

impl Runnable {
    /// # Safety
    ///
    /// The caller gives away one reference, and the state is `NOTIFIED` with no other runnable about.
    #[inline]
    pub(super) unsafe fn from_header(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// Polls the task, or does what its state asks for instead.
    #[inline]
    pub(crate) fn run(self) {
        let header = ManuallyDrop::new(self).0;
        // SAFETY: the reference goes to `poll`, which is of this task's own type.
        unsafe { (header.as_ref().vtable.poll)(header) }
    }

    /// Drops the future on this thread and completes the task as cancelled. For tasks that no registry shuts down.
    pub(crate) fn cancel(self) {
        let header = ManuallyDrop::new(self).0;
        // SAFETY: as in `run`; `RUNNING` is ours if `shut_down` says so, and else the task is over.
        unsafe {
            if header.as_ref().state.shut_down() {
                (header.as_ref().vtable.cancel)(header);
            } else {
                drop(TaskRef::from_header(header));
            }
        }
    }

    /// Wakes a task, on which the caller need hold no reference. The runnable, where that made one, is to be given to [`submit`](Self::submit).
    ///
    /// # Safety
    ///
    /// The task is not freed meanwhile. If it is idle, somebody holds a reference, and will not give it up before it is polled.
    pub(crate) unsafe fn of_idle(task: &Header) -> Option<Self> {
        // The reference that `Submit` counted is the runnable's.
        (task.state.wake_by_ref() == super::state::OnWakeByRef::Submit).then(|| Self(NonNull::from(task)))
    }

    /// Gives it to the scheduler of its task.
    pub(crate) fn submit(self) {
        let header = ManuallyDrop::new(self).0;
        // SAFETY: our reference becomes that of the runnable which is submitted.
        unsafe { (header.as_ref().vtable.schedule)(header) };
    }

    /// What is known of the task.
    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: we hold a reference.
        unsafe { self.0.as_ref() }
    }

    /// A reference to the task that outlives the runnable.
    pub(crate) fn task_ref(&self) -> TaskRef {
        self.header().state.add_ref();
        TaskRef(self.0)
    }

    /// Where the task is. For the registry, which keeps the pointer with a reference of its own.
    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<Header> {
        self.0
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        // SAFETY: our reference, given up here.
        drop(unsafe { TaskRef::from_header(self.0) });
    }
}

// SAFETY: the pointer owns the runnable's reference; the link is a field of the header, which is not used for anything else while
// the runnable is in a queue.
unsafe impl Item for Runnable {
    #[inline]
    fn into_raw(self) -> NonNull<()> {
        ManuallyDrop::new(self).0.cast()
    }

    #[inline]
    unsafe fn from_raw(ptr: NonNull<()>) -> Self {
        Self(ptr.cast())
    }

    #[inline]
    unsafe fn link<'a>(ptr: NonNull<()>) -> &'a AtomicPtr<()> {
        // SAFETY: the caller holds the runnable that this pointer came from.
        unsafe { &(*ptr.cast::<Header>().as_ptr()).link }
    }
}

/// A counted reference to a task.
#[derive(Debug)]
pub(crate) struct TaskRef(NonNull<Header>);

// SAFETY: the header is made for shared use; what is not (the stage) is not reached through a `TaskRef` except under the state's
// rules.
unsafe impl Send for TaskRef {}
// SAFETY: as above.
unsafe impl Sync for TaskRef {}

impl TaskRef {
    /// # Safety
    ///
    /// The caller gives away one reference.
    #[inline]
    pub(crate) unsafe fn from_header(header: NonNull<Header>) -> Self {
        Self(header)
    }

    #[inline]
    pub(crate) fn into_header(self) -> NonNull<Header> {
        ManuallyDrop::new(self).0
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> NonNull<Header> {
        self.0
    }

    /// Cancels the task; its own scheduler drops the future, when it gets to it.
    pub(crate) fn abort(&self) {
        if self.state.abort() == super::state::OnWakeByRef::Submit {
            // SAFETY: `abort` counted a reference for the runnable.
            unsafe { (self.vtable.schedule)(self.0) };
        }
    }

    /// Cancels the task for shutdown, on the thread that may drop its future. If it is running elsewhere its poller does it.
    pub(crate) fn shut_down(self) {
        if self.state.shut_down() {
            let header = self.into_header();
            // SAFETY: `RUNNING` is ours; our reference goes to `cancel`.
            unsafe { (header.as_ref().vtable.cancel)(header) };
        }
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.state.add_ref();
        Self(self.0)
    }
}

impl Deref for TaskRef {
    type Target = Header;

    fn deref(&self) -> &Header {
        // SAFETY: we hold a reference.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for TaskRef {
    #[inline]
    fn drop(&mut self) {
        if self.state.drop_refs(1) {
            // SAFETY: it was the last reference.
            unsafe { (self.vtable.dealloc)(self.0) };
        }
    }
}

/// Static knowledge that a scheduler with a registry passes the count on.
pub(super) const fn refs_at_completion<S: Schedule>(released: bool) -> usize {
    1 + released as usize * S::REGISTRY_REFS
}
