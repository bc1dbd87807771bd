//! The guard of a reader that borrows the lock.

use super::RwLock;
use crate::batch_semaphore::Semaphore;
use std::marker::PhantomData;
use std::mem;

/// Stands for the value of an [`RwLock`] that is locked for reading, or for a part of it; gives the lock up when dropped.
///
/// From [`read`](RwLock::read), [`try_read`](RwLock::try_read), [`blocking_read`](RwLock::blocking_read), and by
/// downgrading a write guard.
///
/// # Examples
///
/// ```
/// use nezumi::sync::RwLock;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let lock = RwLock::new(7);
/// let (one, other) = (lock.read().await, lock.read().await);
/// assert_eq!(*one + *other, 14);
/// assert!(lock.try_write().is_err());
/// # }
/// ```
#[must_use = "a guard that is not kept gives the lock up at once"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    permits: &'a Semaphore,
    value: *const T,
    _value: PhantomData<&'a T>,
}

// SAFETY: to send the guard is to send a `&T`. The permit can be released from any thread.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: a shared guard gives out `&T`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// For one who holds a permit of `lock`, and hands it over.
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        let guard = Self { permits: &lock.permits, value: lock.pointer(), _value: PhantomData };
        lock.permits.trace.reader_came();
        guard
    }

    /// For one who holds a permit of `lock`, and hands it over; `value` is a part of what the lock guards.
    #[inline]
    pub(super) fn part<V: ?Sized>(lock: &'a RwLock<V>, value: *const T) -> Self {
        Self { permits: &lock.permits, value, _value: PhantomData }
    }

    #[inline]
    fn pointer(&self) -> *const T {
        self.value
    }

    #[inline]
    fn narrow<U: ?Sized>(self, value: *const U) -> RwLockReadGuard<'a, U> {
        let permits = self.permits;
        mem::forget(self);
        RwLockReadGuard { permits, value, _value: PhantomData }
    }

    /// Narrows the guard to a part of the value. The lock stays held for reading.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{RwLock, RwLockReadGuard};
    ///
    /// # #[nezumi::main] async fn main() {
    /// let point = RwLock::new((1, 2));
    /// let x = RwLockReadGuard::map(point.read().await, |point| &point.0);
    /// assert_eq!(*x, 1);
    /// # }
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let value: *const U = f(&*this);
        this.narrow(value)
    }

    /// Narrows the guard to a part of the value, if there is such a part. The lock stays held for reading.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let value: *const U = match f(&*this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(this.narrow(value))
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        super::release_read(self.permits);
    }
}

see_through!({T: ?Sized} RwLockReadGuard<'_, T> => T, shared);
