//! A value that is set once, and that can be waited for.
//!
//! A flag, the value, and a `Notify` for those who wait. Who sets the value holds the lock of the notify's queue while it
//! looks at the flag and writes, so that a second one that is refused finds the value there.
//!
//! ```text
//! waiter                             setter
//! S1 make the `notified` future      T1 write the value, set the flag (release)
//! S2 read the flag (acquire)         T2 notify_waiters
//! S3 not set: await the future
//! ```
//!
//! If S2 misses T1, then T2 comes after S1, and a `notified` future is reached from the moment it was made.
//!
//! Who may touch what: until the flag is set, `value` belongs to the holder of the lock; after, everybody may read it.
//!
//! Tests: `tests` below; loom: `models` below.

use crate::Notify;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering};
use std::error::Error;
use std::fmt;
use std::mem::{self, MaybeUninit};

/// A cell that is set once; whoever needs the value can wait until somebody sets it.
///
/// Where those who need the value can make it themselves, [`OnceCell`](crate::OnceCell) is the better choice.
///
/// # Examples
///
/// ```
/// use nezumi::sync::SetOnce;
///
/// static PORT: SetOnce<u16> = SetOnce::const_new();
///
/// # #[nezumi::main] async fn main() {
/// let client = nezumi::spawn(async { *PORT.wait().await });
/// PORT.set(80).unwrap();
/// assert_eq!(client.await.unwrap(), 80);
/// # }
/// ```
pub struct SetOnce<T> {
    is_set: AtomicBool,
    value: UnsafeCell<MaybeUninit<T>>,
    waiters: Notify,
}

// SAFETY: sharing the cell shares the value (`Sync`), and lets a thread put one in that another takes out (`Send`).
unsafe impl<T: Sync + Send> Sync for SetOnce<T> {}
// SAFETY: to send the cell is to send the value.
unsafe impl<T: Send> Send for SetOnce<T> {}

/// Says that the cell had a value already when [`SetOnce::set`] was called; gives the new one back.
///
/// # Examples
///
/// ```
/// use nezumi::sync::{SetOnce, SetOnceError};
///
/// let cell = SetOnce::new();
/// cell.set(1).unwrap();
/// assert_eq!(cell.set(2), Err(SetOnceError(2)));
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(
    /// The value that was to be set.
    pub T,
);

impl<T> SetOnce<T> {
    /// Makes an empty cell.
    pub fn new() -> Self {
        Self {
            is_set: AtomicBool::new(false),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            waiters: Notify::new(),
        }
    }

    const_fn! {
        /// Makes an empty cell, in a constant.
        pub fn const_new() -> Self {
            Self {
                is_set: AtomicBool::new(false),
                value: UnsafeCell::new(MaybeUninit::uninit()),
                waiters: Notify::const_new(),
            }
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
            Self {
                is_set: AtomicBool::new(true),
                value: UnsafeCell::new(MaybeUninit::new(value)),
                waiters: Notify::const_new(),
            }
        }
    }

    /// Whether there is a value.
    #[inline]
    pub fn initialized(&self) -> bool {
        // Acquire: pairs with the Release in `set`; the value is visible.
        self.is_set.load(Ordering::Acquire)
    }

    /// The value, if there is one.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: just asked.
        self.initialized().then(|| unsafe { self.get_unchecked() })
    }

    /// # Safety
    ///
    /// The flag has been seen set.
    #[inline]
    unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: the flag was set after the value was written, and nobody writes it again while the cell is shared.
        self.value.with(|value| unsafe { (*value).assume_init_ref() })
    }

    /// Sets the value, and lets all who wait have it.
    ///
    /// # Errors
    ///
    /// If there is a value already; `value` is given back.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{SetOnce, SetOnceError};
    ///
    /// let cell = SetOnce::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetOnceError(2)));
    /// assert_eq!(cell.get(), Some(&1));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        if self.initialized() {
            return Err(SetOnceError(value));
        }
        {
            let _setter = self.waiters.lock();
            if self.initialized() {
                return Err(SetOnceError(value));
            }
            // SAFETY: the lock is held and the flag not set, so the value is ours.
            self.value.with_mut(|place| unsafe { (*place).write(value) });
            // Release: pairs with the Acquire in `initialized`; publishes the value.
            self.is_set.store(true, Ordering::Release);
        }
        self.waiters.notify_waiters();
        Ok(())
    }

    /// Takes the value out, if there is one.
    pub fn into_inner(self) -> Option<T> {
        let initialized = self.initialized();
        let this = mem::ManuallyDrop::new(self);
        // SAFETY: each field that owns anything is read out once, and `this` is not used again, nor dropped.
        let (_waiters, value) = unsafe { (std::ptr::read(&this.waiters), std::ptr::read(&this.value)) };
        // SAFETY: the cell was filled.
        initialized.then(|| unsafe { value.into_inner().assume_init() })
    }

    /// Waits until there is a value.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it has changed nothing.
    pub async fn wait(&self) -> &T {
        while !self.initialized() {
            let set = self.waiters.notified();
            // Once more: it may have been set before the future was made.
            if !self.initialized() {
                set.await;
            }
        }
        // SAFETY: just asked.
        unsafe { self.get_unchecked() }
    }
}

impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        if self.initialized() {
            // SAFETY: it was filled, and nobody can read it any more.
            self.value.with_mut(|value| unsafe { (*value).assume_init_drop() });
        }
    }
}

impl<T> Default for SetOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SetOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetOnce").field("value", &self.get()).finish()
    }
}

impl<T: Clone> Clone for SetOnce<T> {
    fn clone(&self) -> SetOnce<T> {
        SetOnce::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for SetOnce<T> {
    fn eq(&self, other: &SetOnce<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for SetOnce<T> {}

impl<T> From<T> for SetOnce<T> {
    fn from(value: T) -> Self {
        Self::const_new_with(value)
    }
}

impl<T> fmt::Display for SetOnceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetOnceError")
    }
}

impl<T: fmt::Debug> Error for SetOnceError<T> {}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{SetOnce, SetOnceError};
    use crate::hand_polled::{reentrant_waker, task};
    use crate::testing::Census;
    use std::sync::Arc;

    #[test]
    fn all_who_wait_are_let_go() {
        let cell = SetOnce::new();
        let mut waiters: Vec<_> = (0..40).map(|_| task(cell.wait())).collect();
        waiters.iter_mut().for_each(|waiter| assert!(waiter.poll().is_pending()));
        drop(waiters.pop());
        assert_eq!(cell.set(1), Ok(()));
        assert!(waiters.iter_mut().all(|waiter| waiter.is_woken() && *waiter.assert_ready() == 1));
        assert_eq!(task(cell.wait()).assert_ready(), &1);
        assert_eq!(cell.set(2), Err(SetOnceError(2)));
    }

    #[test]
    fn each_value_is_dropped_once() {
        let census = Census::default();
        let cell = SetOnce::new();
        cell.set(census.value(1)).unwrap();
        drop(cell.set(census.value(2)).unwrap_err());
        assert_eq!(census.alive(), 1);
        let copy = cell.clone();
        assert_eq!(cell.into_inner().unwrap().id, 1);
        assert_eq!(copy.get().unwrap().id, 1);
        drop(copy);
        drop(SetOnce::new_with(Some(census.value(3))));
        drop(SetOnce::from(census.value(4)));
        assert!(SetOnce::<u8>::new_with(None).into_inner().is_none());
        assert_eq!((census.alive(), census.dropped()), (0, 5));
    }

    #[test]
    fn wakers_run_outside_the_lock() {
        let cell = Arc::new(SetOnce::new());
        let other = cell.clone();
        let mut waiter = task(cell.wait());
        let waker = reentrant_waker(move || {
            let _ = task(other.wait()).poll();
        });
        assert!(waiter.poll_with(&waker).is_pending());
        cell.set(1).unwrap();
        assert_eq!(waiter.assert_ready(), &1);
    }

    #[test]
    fn one_of_many_threads_sets_it() {
        let cell = Arc::new(SetOnce::new());
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let cell = cell.clone();
                std::thread::spawn(move || {
                    let won = cell.set(i).is_ok();
                    assert!(cell.get().is_some(), "whoever is refused finds a value");
                    won
                })
            })
            .collect();
        assert!((0..4).contains(nezumi_wake::block_on(cell.wait())));
        let winners = threads.into_iter().map(|thread| thread.join().unwrap()).filter(|&won| won).count();
        assert_eq!(winners, 1);
    }

    #[test]
    fn texts_and_comparisons() {
        static NUMBER: SetOnce<u8> = SetOnce::const_new_with(1);
        let cell = SetOnce::const_new();
        assert_eq!(format!("{cell:?} {NUMBER:?}"), "SetOnce { value: None } SetOnce { value: Some(1) }");
        assert!(cell != NUMBER && cell == SetOnce::default() && !cell.initialized());
        cell.set(1).unwrap();
        assert!(cell == NUMBER && cell.initialized());
        assert_eq!(SetOnceError(1).to_string(), "SetOnceError");
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::SetOnce;
    use loom::future::block_on;
    use nezumi_prim::sync::Arc;
    use nezumi_prim::thread::spawn;

    #[test]
    fn a_set_ends_the_wait() {
        loom::model(|| {
            let cell = Arc::new(SetOnce::new());
            let thread = {
                let cell = cell.clone();
                spawn(move || cell.set(7).unwrap())
            };
            assert_eq!(block_on(cell.wait()), &7);
            thread.join().unwrap();
        });
    }

    #[test]
    fn one_of_two_sets_it_and_the_other_finds_it() {
        loom::model(|| {
            let cell = Arc::new(SetOnce::new());
            let thread = {
                let cell = cell.clone();
                spawn(move || {
                    let won = cell.set(1).is_ok();
                    assert!(cell.get().is_some());
                    won
                })
            };
            let won = cell.set(2).is_ok();
            assert_eq!(cell.get().copied(), Some(if won { 2 } else { 1 }));
            assert!(won != thread.join().unwrap());
        });
    }
}
