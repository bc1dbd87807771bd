//! The right to a task's output.

use super::state::{OnJoinDrop, State};
use super::{AbortHandle, Header, Id, JoinError, TaskRef};
use nezumi_wake::coop;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker, ready};

/// A task's output, to be awaited.
///
/// Dropping the handle detaches the task, which goes on. A panic of the task comes out as the `Err` of the await, and so does
/// its cancellation.
///
/// # Cancel safety
///
/// `&mut handle` may be awaited in `select!` and awaited again: nothing is lost.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// let handle = nezumi::spawn(async { 6 * 7 });
/// assert_eq!(handle.await.unwrap(), 42);
/// # }
/// ```
pub struct JoinHandle<T> {
    task: ManuallyDrop<TaskRef>,
    _output: PhantomData<T>,
}

// SAFETY: the handle gives access to the output only by value, and only to one owner at a time; all else is behind the state word.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: through `&JoinHandle` only the id, the state and `abort` can be reached.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    ///
    /// The caller gives away one reference and the join interest of a task whose output is a `T`.
    #[inline]
    pub(super) unsafe fn from_header(header: NonNull<Header>) -> Self {
        // SAFETY: the caller's promise.
        Self { task: ManuallyDrop::new(unsafe { TaskRef::from_header(header) }), _output: PhantomData }
    }

    /// Cancels the task. Its future is dropped by the runtime at the next occasion, after which awaiting this handle gives a
    /// cancelled error; if the task completes first, it gives the output.
    ///
    /// Blocking tasks can be cancelled only before they start.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main]
    /// # async fn main() {
    /// let handle = nezumi::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task is over: its future has been dropped and awaiting this handle will not wait.
    ///
    /// This may be `false` for a while after [`abort`](Self::abort).
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.state.load().is_complete()
    }

    /// A handle that can cancel the task and cannot await it.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle::new(TaskRef::clone(&self.task))
    }

    /// The task's id.
    #[must_use]
    pub fn id(&self) -> Id {
        self.task.id
    }

    /// Registers `waker` unless the task is complete. `Ready` means that the output may be taken.
    #[inline]
    pub(crate) fn poll_complete(&self, waker: &Waker) -> Poll<()> {
        let now = self.task.state.load();
        if now.is_complete() { Poll::Ready(()) } else { self.register(waker, now.is_join_waker_set()) }
    }

    /// Of a task that was not complete just now. Apart, so that whoever finds it complete keeps nothing for this.
    #[inline(never)]
    fn register(&self, waker: &Waker, is_one_there: bool) -> Poll<()> {
        let header: &Header = &self.task;
        let state: &State = &header.state;
        if is_one_there {
            // Only we put wakers there. If this one is there still it will be woken, and if it has just been taken out, to be woken, then it
            // is being woken.
            if header.join_waker.is(waker) {
                return Poll::Pending;
            }
            if state.take_join_waker().is_err() {
                return Poll::Ready(());
            }
            // SAFETY: row `join waker`: the field is ours, JOIN_WAKER is clear.
            let old = unsafe { header.join_waker.take() };
            drop(old);
        }
        header.join_waker.put(waker.clone());
        match state.give_join_waker() {
            Ok(()) => Poll::Pending,
            Err(_) => {
                // Nobody will wake it, and it shall not wait for the end of the task's memory.
                // SAFETY: as above.
                let waker = unsafe { header.join_waker.take() };
                drop(waker);
                Poll::Ready(())
            }
        }
    }

    /// Takes the output of a task that is complete.
    pub(crate) fn take_output(&self) -> Result<T, JoinError> {
        let mut output = MaybeUninit::<Result<T, JoinError>>::uninit();
        let task = self.task.as_ptr();
        // SAFETY: the task is complete, its output is a `T` (contract of `from_header`) and the join interest is ours; the function
        // fills the place, or panics.
        unsafe {
            (task.as_ref().vtable.take_output)(task, output.as_mut_ptr().cast());
            output.assume_init()
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let coop = ready!(coop::poll_proceed(cx));
        ready!(self.poll_complete(cx.waker()));
        coop.made_progress();
        Poll::Ready(self.take_output())
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: the field is not used after this.
        let task = unsafe { ManuallyDrop::take(&mut self.task) };
        if task.state.drop_join_fast(1) {
            // The reference is gone with it.
            let _ = task.into_header();
            return;
        }
        let now = task.state.load();
        if now.is_complete() || task.state.drop_join() == OnJoinDrop::Complete {
            let header = task.into_header();
            // SAFETY: the task is complete and the join interest is ours: so is the output, which may have been taken. Then the interest goes,
            // and the reference with it; where it is the last, nobody is left to be told. A waker that is still in its field goes with the task.
            unsafe {
                (header.as_ref().vtable.drop_output)(header);
                if (now.is_complete() && now.is_held_by(1)) || header.as_ref().state.drop_join_of_complete() {
                    (header.as_ref().vtable.dealloc)(header);
                }
            }
            return;
        }
        // SAFETY: row `join waker`: the field is the handle's, which ends here.
        let waker = unsafe { task.join_waker.take() };
        drop(waker);
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish()
    }
}
