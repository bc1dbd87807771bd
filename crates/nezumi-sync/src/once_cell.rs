//! A value that is made once, by whoever needs it first.
//!
//! A semaphore of one permit: whoever has it may make the value; when the value is there the semaphore is closed for good, and
//! that is also how everybody knows. An attempt that fails, panics or is dropped gives the permit to the next who waits.
//!
//! Who may touch what: before the semaphore is closed, `value` belongs to the holder of the permit; after, everybody may read
//! it. `close` writes the closed bit with Release, `is_closed` reads it with Acquire, as does an acquire that is refused.
//!
//! Tests: `tests` below; loom: `models` below, `one_of_two_initialises`, `set_races_get_or_init`.

use crate::batch_semaphore::Semaphore;
use crate::{AcquireError, TryAcquireError};
use nezumi_prim::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem::{self, MaybeUninit};

/// A cell that is set once; the first who needs the value makes it, and the others wait for it.
///
/// Mostly used for statics that are made by async code, with [`get_or_init`](Self::get_or_init). For waiting until somebody
/// else sets a value there is [`SetOnce`](crate::SetOnce).
///
/// # Examples
///
/// ```
/// use nezumi::sync::OnceCell;
///
/// static ADDRESS: OnceCell<String> = OnceCell::const_new();
///
/// async fn address() -> &'static str {
///     ADDRESS.get_or_init(async || "127.0.0.1:80".to_owned()).await
/// }
///
/// # #[nezumi::main] async fn main() {
/// assert_eq!(address().await, "127.0.0.1:80");
/// # }
/// ```
pub struct OnceCell<T> {
    permit: Semaphore,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: sharing the cell shares the value (`Sync`), and lets a thread put one in that another takes out (`Send`).
unsafe impl<T: Sync + Send> Sync for OnceCell<T> {}
// SAFETY: to send the cell is to send the value.
unsafe impl<T: Send> Send for OnceCell<T> {}

/// Why [`OnceCell::set`] did not set the value, which is given back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::{OnceCell, SetError};
///
/// let cell = OnceCell::new();
/// cell.set(1).unwrap();
/// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// The cell has a value already.
    AlreadyInitializedError(T),

    /// Somebody is making a value just now.
    InitializingError(T),
}

impl<T> OnceCell<T> {
    /// Makes an empty cell.
    pub fn new() -> Self {
        Self { permit: Semaphore::new(1), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    const_fn! {
        /// Makes an empty cell, in a constant.
        pub fn const_new() -> Self {
            Self { permit: Semaphore::new(1), value: UnsafeCell::new(MaybeUninit::uninit()) }
        }
    }

    /// Makes a cell that holds `value` from the start, if there is one.
    pub fn new_with(value: Option<T>) -> Self {
        match value {
            Some(value) => Self::const_new_with(value),
            None => Self::new(),
        }
    }

    const_fn! {
        /// Makes a cell that holds `value` from the start, in a constant.
        pub fn const_new_with(value: T) -> Self {
            Self { permit: Semaphore::new_closed(), value: UnsafeCell::new(MaybeUninit::new(value)) }
        }
    }

    /// Whether there is a value.
    #[inline]
    pub fn initialized(&self) -> bool {
        self.permit.is_closed()
    }

    /// The value, if there is one.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: just asked.
        self.initialized().then(|| unsafe { self.get_unchecked() })
    }

    /// # Safety
    ///
    /// The semaphore has been seen closed.
    #[inline]
    unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: it was closed after the value was written, and nobody writes it again while the cell is shared.
        self.value.with(|value| unsafe { (*value).assume_init_ref() })
    }

    /// The value, if there is one, to be changed: `&mut` says that nobody else has the cell.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: there is a value, and it is borrowed as the cell is.
        self.initialized().then(|| self.value.with_mut(|value| unsafe { (*value).assume_init_mut() }))
    }

    /// Writes the value, and lets all who wait have it.
    fn fill(&self, permit: Permit<'_>, value: T) -> &T {
        // SAFETY: the permit is ours, and so is the value until the semaphore is closed.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        // There is nothing left to be acquired.
        mem::forget(permit);
        self.permit.close();
        // SAFETY: closed, by this thread.
        unsafe { self.get_unchecked() }
    }

    /// Sets the value, without waiting.
    ///
    /// # Errors
    ///
    /// If there is a value, or somebody is making one just now; `value` is given back.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{OnceCell, SetError};
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.permit.try_acquire(1) {
            Ok(()) => {
                self.fill(Permit(&self.permit), value);
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(SetError::InitializingError(value)),
            Err(TryAcquireError::Closed) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// The value; if there is none, it is made by `f`, unless somebody is making it already, who is then waited for.
    ///
    /// If `f`'s future panics or is dropped, the next who waits tries with an `f` of its own.
    ///
    /// It never ends if `f` waits for this very cell.
    ///
    /// # Cancel safety
    ///
    /// Cancelled while it waits, it loses its place in the queue; cancelled while `f`'s future runs, that future is dropped and
    /// the cell stays empty.
    pub async fn get_or_init<F, Fut>(&self, f: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        if let Some(value) = self.get() {
            return value;
        }
        match self.permit(self.permit.acquire(1).await) {
            Ok(permit) => {
                let value = f().await;
                self.fill(permit, value)
            }
            Err(value) => value,
        }
    }

    /// The value; if there is none, `f` tries to make it, unless somebody is making it already, who is then waited for.
    ///
    /// # Errors
    ///
    /// Those of `f`'s future. The cell then stays empty, and the next who waits tries with an `f` of its own.
    ///
    /// # Cancel safety
    ///
    /// As [`get_or_init`](Self::get_or_init).
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::OnceCell;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let port = OnceCell::new();
    /// assert!(port.get_or_try_init(async || "http".parse::<u16>()).await.is_err());
    /// assert_eq!(port.get_or_try_init(async || "80".parse::<u16>()).await, Ok(&80));
    /// assert_eq!(port.get_or_try_init(async || "443".parse::<u16>()).await, Ok(&80));
    /// # }
    /// ```
    pub async fn get_or_try_init<E, F, Fut>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.permit(self.permit.acquire(1).await) {
            Ok(permit) => {
                let value = f().await?;
                Ok(self.fill(permit, value))
            }
            Err(value) => Ok(value),
        }
    }

    /// What an acquire says: the right to make the value, or (`Err`) that it is there.
    #[inline]
    fn permit(&self, acquired: Result<(), AcquireError>) -> Result<Permit<'_>, &T> {
        match acquired {
            Ok(()) => Ok(Permit(&self.permit)),
            // SAFETY: it is refused only when the semaphore is closed.
            Err(_) => Err(unsafe { self.get_unchecked() }),
        }
    }

    /// Takes the value out, if there is one.
    pub fn into_inner(self) -> Option<T> {
        let initialized = self.initialized();
        let this = mem::ManuallyDrop::new(self);
        // SAFETY: each field is read out once, and `this` is not used again, nor dropped.
        let (_permit, value) = unsafe { (std::ptr::read(&this.permit), std::ptr::read(&this.value)) };
        // SAFETY: the cell was filled.
        initialized.then(|| unsafe { value.into_inner().assume_init() })
    }

    /// Takes the value out, if there is one, and leaves the cell empty, to be set again.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::OnceCell;
    ///
    /// let mut cell = OnceCell::new_with(Some(1));
    /// assert_eq!(cell.take(), Some(1));
    /// assert_eq!(cell.set(2), Ok(()));
    /// ```
    pub fn take(&mut self) -> Option<T> {
        mem::take(self).into_inner()
    }
}

/// The right to make the value. Dropped, it goes to the next who waits.
struct Permit<'a>(&'a Semaphore);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.release(1);
    }
}

impl<T> Drop for OnceCell<T> {
    fn drop(&mut self) {
        if self.initialized() {
            // SAFETY: it was filled, and nobody can read it any more.
            self.value.with_mut(|value| unsafe { (*value).assume_init_drop() });
        }
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell").field("value", &self.get()).finish()
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    fn clone(&self) -> OnceCell<T> {
        OnceCell::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &OnceCell<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        Self::const_new_with(value)
    }
}

impl<T> SetError<T> {
    /// Whether the cell had a value already.
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, SetError::AlreadyInitializedError(_))
    }

    /// Whether somebody was making a value.
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, SetError::InitializingError(_))
    }
}

impl<T> fmt::Display for SetError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetError::AlreadyInitializedError(_) => "AlreadyInitializedError",
            SetError::InitializingError(_) => "InitializingError",
        })
    }
}

impl<T: fmt::Debug> Error for SetError<T> {}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{OnceCell, SetError};
    use crate::hand_polled::{assert_panics, reentrant_waker, task};
    use crate::testing::Census;
    use std::future::{pending, ready};
    use std::sync::Arc;

    #[test]
    fn the_first_makes_it_and_the_others_wait() {
        let cell = OnceCell::new();
        let (sender, receiver) = crate::oneshot::channel();
        let mut first = task(cell.get_or_init(|| async { receiver.await.unwrap() }));
        let mut others: Vec<_> = (0..3).map(|_| task(cell.get_or_init(|| ready(0)))).collect();
        assert!(first.poll().is_pending());
        others.iter_mut().for_each(|other| assert!(other.poll().is_pending()));
        assert_eq!(cell.set(2), Err(SetError::InitializingError(2)));
        sender.send(1).unwrap();
        assert_eq!(first.assert_ready(), &1);
        assert!(others.iter_mut().all(|other| other.is_woken() && *other.assert_ready() == 1));
        assert_eq!(task(cell.get_or_init(pending)).assert_ready(), &1);
        assert_eq!(cell.set(3), Err(SetError::AlreadyInitializedError(3)));
    }

    #[test]
    fn an_attempt_that_ends_early_leaves_it_to_the_next() {
        let cell = OnceCell::new();
        let (mut cancelled, mut next) =
            (task(cell.get_or_init(pending)), task(cell.get_or_init(|| ready(1))));
        assert!(cancelled.poll().is_pending() && next.poll().is_pending());
        cancelled.drop_future();
        assert!(next.is_woken());
        next.drop_future();
        let failed = task(cell.get_or_try_init(|| ready(Err("no")))).assert_ready();
        assert_eq!(failed, Err("no"));
        assert_panics("cannot", || {
            task(cell.get_or_init(|| async { panic!("cannot") })).assert_ready();
        });
        assert_panics("cannot even begin", || {
            task(cell.get_or_init(|| -> std::future::Ready<i32> { panic!("cannot even begin") }))
                .assert_ready();
        });
        assert!(!cell.initialized() && cell.get().is_none());
        assert_eq!(task(cell.get_or_try_init(|| ready(Ok::<_, ()>(5)))).assert_ready(), Ok(&5));
    }

    #[test]
    fn each_value_is_dropped_once() {
        let census = Census::default();
        let cell = OnceCell::new();
        cell.set(census.value(1)).unwrap();
        drop(cell.set(census.value(2)).unwrap_err());
        assert_eq!(census.alive(), 1);
        assert_eq!(cell.into_inner().unwrap().id, 1);
        drop(OnceCell::new_with(Some(census.value(3))));
        let mut cell = OnceCell::from(census.value(4));
        assert_eq!(cell.take().unwrap().id, 4);
        assert!(cell.take().is_none() && cell.get_mut().is_none());
        cell.set(census.value(5)).unwrap();
        let copy = cell.clone();
        assert_eq!(census.alive(), 2);
        cell.get_mut().unwrap().id = 6;
        assert_eq!((cell.get().unwrap().id, copy.get().unwrap().id), (6, 5));
        drop((cell, copy));
        assert_eq!((census.alive(), census.dropped()), (0, 6));
    }

    #[test]
    fn wakers_run_outside_the_lock() {
        let cell = Arc::new(OnceCell::new());
        let (sender, receiver) = crate::oneshot::channel();
        let mut first = task(cell.get_or_init(|| async { receiver.await.unwrap() }));
        assert!(first.poll().is_pending());
        let other = cell.clone();
        let mut waiter = task(cell.get_or_init(pending));
        let waker = reentrant_waker(move || {
            let _ = task(other.get_or_init(pending)).poll();
        });
        assert!(waiter.poll_with(&waker).is_pending());
        sender.send(1).unwrap();
        assert_eq!((first.assert_ready(), waiter.assert_ready()), (&1, &1));
    }

    #[test]
    fn threads_agree_on_one_value() {
        let cell = Arc::new(OnceCell::new());
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let cell = cell.clone();
                std::thread::spawn(move || *nezumi_wake::block_on(cell.get_or_init(|| ready(i))))
            })
            .collect();
        let values: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(values.iter().all(|value| Some(value) == cell.get()));
    }

    #[test]
    fn texts_and_comparisons() {
        static NUMBER: OnceCell<u8> = OnceCell::const_new_with(1);
        let cell = OnceCell::const_new();
        assert_eq!(format!("{cell:?} {NUMBER:?}"), "OnceCell { value: None } OnceCell { value: Some(1) }");
        assert!(cell != NUMBER && cell == OnceCell::default());
        cell.set(1).unwrap();
        assert!(cell == NUMBER);
        let (already, making) = (SetError::AlreadyInitializedError(1), SetError::InitializingError(1));
        assert!(already.is_already_init_err() && !already.is_initializing_err());
        assert!(!making.is_already_init_err() && making.is_initializing_err());
        assert_eq!(format!("{already} {making}"), "AlreadyInitializedError InitializingError");
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::OnceCell;
    use loom::future::block_on;
    use nezumi_prim::sync::Arc;
    use nezumi_prim::thread::spawn;
    use std::future::{Future, poll_fn, ready};
    use std::pin::pin;
    use std::task::Poll;

    #[test]
    fn one_of_two_initialises() {
        loom::model(|| {
            let cell = Arc::new(OnceCell::new());
            let thread = {
                let cell = cell.clone();
                spawn(move || *block_on(cell.get_or_init(|| ready(1))))
            };
            let value = *block_on(cell.get_or_init(|| ready(2)));
            assert_eq!(thread.join().unwrap(), value);
            assert_eq!(cell.get(), Some(&value));
        });
    }

    #[test]
    fn set_races_get_or_init() {
        loom::model(|| {
            let cell = Arc::new(OnceCell::new());
            let thread = {
                let cell = cell.clone();
                spawn(move || cell.set(1).is_ok())
            };
            let value = *block_on(cell.get_or_init(|| ready(2)));
            assert_eq!(thread.join().unwrap(), value == 1);
        });
    }

    #[test]
    fn a_dropped_attempt_leaves_it_to_the_next() {
        loom::model(|| {
            let cell = Arc::new(OnceCell::new());
            let quitter = {
                let cell = cell.clone();
                spawn(move || {
                    block_on(async {
                        let mut attempt = pin!(cell.get_or_init(std::future::pending));
                        poll_fn(|cx| Poll::Ready(attempt.as_mut().poll(cx).is_ready())).await
                    })
                })
            };
            assert_eq!(block_on(cell.get_or_init(|| ready(2))), &2);
            quitter.join().unwrap();
        });
    }
}
