//! Values that belong to a task: what `task_local!` declares.
//!
//! A value lives in the future that [`LocalKey::scope`] made, and never leaves it. While that future is polled or
//! dropped, a thread-local holds a pointer to the value; a guard puts the former pointer back, also when the poll panics.
//! So entering a scope costs two stores however large the value is, and the thread-local has no destructor.
//!
//! Promise: `with` reads the value of the innermost scope around it, on whichever thread the task is polled, and nothing
//! once that scope has ended.
//!
//! Why the pointer is valid: it is set by `LocalKey::enter` only, which borrows the value for as long as the pointer
//! stands, and it is read on the same thread only, by a shared reference that does not outlive the call of `with`. A scope
//! entered inside that call would end inside it too; it is refused all the same, as programs expect a panic there.
//!
//! Tests: below; `a_poll_that_panics_restores_the_outer_value` is the guard's.

use pin_project_lite::pin_project;
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use std::thread;

/// A key to a value that belongs to a task, declared with `task_local!`.
///
/// # Examples
///
/// ```
/// nezumi::task_local! {
///     static REQUEST: u64;
/// }
///
/// async fn log(text: &str) -> String {
///     format!("[{}] {text}", REQUEST.get())
/// }
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// let line = nezumi::spawn(REQUEST.scope(7, log("hello"))).await.unwrap();
/// assert_eq!(line, "[7] hello");
/// # }
/// ```
pub struct LocalKey<T: 'static> {
    slot: thread::LocalKey<Slot<T>>,
}

/// What a thread knows of one key: where the value is, and how many calls of `with` look at it.
#[doc(hidden)]
pub struct Slot<T> {
    value: Cell<Option<NonNull<T>>>,
    readers: Cell<usize>,
}

impl<T> Slot<T> {
    /// Outside every scope.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { value: Cell::new(None), readers: Cell::new(0) }
    }
}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(slot: thread::LocalKey<Slot<T>>) -> Self {
        Self { slot }
    }

    /// Sets the value for as long as `f` runs.
    ///
    /// `f` and everything it awaits can read the value, on whatever thread the task is polled; tasks it spawns cannot. The
    /// value is dropped with the future returned, or comes back through
    /// [`TaskLocalFuture::take_value`].
    ///
    /// # Panics
    ///
    /// The future panics if it is polled inside a call of [`with`](Self::with) on the same key.
    ///
    /// # Examples
    ///
    /// ```
    /// nezumi::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// # #[nezumi::main(flavor = "current_thread")] async fn main() {
    /// NUMBER
    ///     .scope(1, async {
    ///         assert_eq!(NUMBER.get(), 1);
    ///     })
    ///     .await;
    /// # }
    /// ```
    pub fn scope<F>(&'static self, value: T, f: F) -> TaskLocalFuture<T, F>
    where
        F: Future,
    {
        TaskLocalFuture { key: self, value: Some(value), future: Some(f), _pinned: PhantomPinned }
    }

    /// Sets the value for as long as the function `f` runs, on this thread.
    ///
    /// # Panics
    ///
    /// Inside a call of [`with`](Self::with) on the same key.
    ///
    /// # Examples
    ///
    /// ```
    /// nezumi::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// assert_eq!(NUMBER.sync_scope(1, || NUMBER.get() + 1), 2);
    /// ```
    #[track_caller]
    pub fn sync_scope<F, R>(&'static self, value: T, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        let mut value = Some(value);
        match self.enter(&mut value, f) {
            Ok(output) => output,
            Err(Busy) => busy(),
        }
    }

    /// Calls `f` with the value.
    ///
    /// # Panics
    ///
    /// Outside every scope of this key.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(output) => output,
            Err(AccessError { .. }) => {
                panic!("cannot access a task-local storage value without setting it first")
            }
        }
    }

    /// Calls `f` with the value.
    ///
    /// # Errors
    ///
    /// Outside every scope of this key; `f` is not called then.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        self.slot.with(|slot| {
            let value = slot.value.get().ok_or(AccessError { _private: () })?;
            slot.readers.set(slot.readers.get() + 1);
            let _reader = OnDrop(|| slot.readers.set(slot.readers.get() - 1));
            // SAFETY: `enter` borrows the value for as long as its pointer stands here, and lets nobody write to it. The
            // pointer cannot be replaced, or outlived, inside `f`: `enter` refuses while `readers` is not 0, and an
            // `enter` around this call ends after it.
            Ok(f(unsafe { value.as_ref() }))
        })
    }

    /// Runs `f` while this thread's slot points to `value`. Refused while a call of `with` is looking.
    fn enter<R>(&'static self, value: &mut Option<T>, f: impl FnOnce() -> R) -> Result<R, Busy> {
        self.slot.with(|slot| {
            if slot.readers.get() != 0 {
                return Err(Busy);
            }
            let outer = slot.value.replace(value.as_mut().map(NonNull::from));
            let _restore = OnDrop(|| slot.value.set(outer));
            Ok(f())
        })
    }
}

impl<T: Clone + 'static> LocalKey<T> {
    /// A copy of the value.
    ///
    /// # Panics
    ///
    /// Outside every scope of this key.
    #[track_caller]
    pub fn get(&'static self) -> T {
        self.with(T::clone)
    }

    /// A copy of the value.
    ///
    /// # Errors
    ///
    /// Outside every scope of this key.
    pub fn try_get(&'static self) -> Result<T, AccessError> {
        self.try_with(T::clone)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("LocalKey { .. }")
    }
}

pin_project! {
    /// A future that runs with a task-local value set: what [`LocalKey::scope`] returns.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// nezumi::task_local! {
    ///     static NAME: &'static str;
    /// }
    ///
    /// let mut named = Box::pin(NAME.scope("mouse", async { NAME.get().len() }));
    /// assert_eq!(named.as_mut().await, 5);
    /// // The value outlives what ran with it.
    /// assert_eq!(named.as_mut().take_value(), Some("mouse"));
    /// # }
    /// ```
    pub struct TaskLocalFuture<T, F>
    where
        T: 'static,
    {
        key: &'static LocalKey<T>,
        value: Option<T>,
        // `None` once it has completed.
        #[pin]
        future: Option<F>,
        // The thread's slot points into `value` during a poll.
        #[pin]
        _pinned: PhantomPinned,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if mem::needs_drop::<F>() && this.future.is_some() {
                let mut future = this.future;
                // Where no scope can be entered, the field is dropped after this, without the value.
                let _ = this.key.enter(this.value, || future.set(None));
            }
        }
    }
}

impl<T, F> TaskLocalFuture<T, F>
where
    T: 'static,
{
    /// Takes the value out, for instance after the future has completed. `None` if that was done before.
    ///
    /// A future polled on without its value finds the key unset.
    ///
    /// # Examples
    ///
    /// ```
    /// nezumi::task_local! {
    ///     static LOG: std::cell::RefCell<Vec<&'static str>>;
    /// }
    ///
    /// # #[nezumi::main(flavor = "current_thread")] async fn main() {
    /// let mut work = Box::pin(LOG.scope(Default::default(), async {
    ///     LOG.with(|log| log.borrow_mut().push("done"));
    /// }));
    /// work.as_mut().await;
    /// assert_eq!(work.as_mut().take_value().unwrap().into_inner(), ["done"]);
    /// # }
    /// ```
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().value.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut future = this.future;
        let polled = this.key.enter(this.value, || {
            let output = future.as_mut().as_pin_mut()?.poll(cx);
            if output.is_ready() {
                // Dropped while the value is still set.
                future.set(None);
            }
            Some(output)
        });
        match polled {
            Ok(Some(output)) => output,
            Ok(None) => panic!("`TaskLocalFuture` polled after completion"),
            Err(Busy) => busy(),
        }
    }
}

impl<T: 'static, F> fmt::Debug for TaskLocalFuture<T, F>
where
    T: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value: &dyn fmt::Debug = match &self.value {
            Some(value) => value,
            None => &format_args!("<missing>"),
        };
        f.debug_struct("TaskLocalFuture").field("value", value).finish()
    }
}

/// The key is not set: what [`LocalKey::try_with`] returns outside every scope.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct AccessError {
    _private: (),
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("task-local value not set")
    }
}

impl Error for AccessError {}

/// A scope was entered inside `with`.
struct Busy;

#[cold]
#[track_caller]
fn busy() -> ! {
    panic!("cannot enter a task-local scope while the task-local storage is borrowed")
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
