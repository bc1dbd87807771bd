//! The guard of a writer that borrows the lock.

use super::{RwLock, RwLockMappedWriteGuard, RwLockReadGuard};
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Stands for the value of an [`RwLock`] that is locked for writing; gives the lock up when dropped.
///
/// From [`write`](RwLock::write), [`try_write`](RwLock::try_write) and [`blocking_write`](RwLock::blocking_write).
///
/// # Examples
///
/// ```
/// use nezumi::sync::{RwLock, RwLockWriteGuard};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let lock = RwLock::new(7);
/// let mut guard = lock.write().await;
/// *guard += 1;
/// // No other writer gets in between.
/// let guard = RwLockWriteGuard::downgrade(guard);
/// assert_eq!(*guard, 8);
/// # }
/// ```
#[must_use = "a guard that is not kept gives the lock up at once"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

// The lock itself is as it should be whatever panics: what counts is the value.
impl<T: ?Sized + RefUnwindSafe> UnwindSafe for RwLockWriteGuard<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The guard of a lock whose permits are all the caller's.
    #[inline]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        let guard = Self { lock };
        lock.permits.trace.write_locked(true);
        guard
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        self.lock.pointer_mut()
    }

    /// The lock, still held: the caller must see to it from now on.
    #[inline]
    fn into_lock(self) -> &'a RwLock<T> {
        let lock = self.lock;
        mem::forget(self);
        lock
    }

    /// Narrows the guard to a part of the value. The lock stays held for writing.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{RwLock, RwLockWriteGuard};
    ///
    /// # #[nezumi::main] async fn main() {
    /// let point = RwLock::new((1, 2));
    /// let mut x = RwLockWriteGuard::map(point.write().await, |point| &mut point.0);
    /// *x = 10;
    /// drop(x);
    /// assert_eq!(*point.read().await, (10, 2));
    /// # }
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let value: *mut U = f(&mut *this);
        RwLockMappedWriteGuard::part(this.into_lock(), value)
    }

    /// Narrows the guard to a part of the value, and downgrades it: the part is held for reading, and other readers may come.
    /// No writer comes in between.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{RwLock, RwLockWriteGuard};
    ///
    /// # #[nezumi::main] async fn main() {
    /// let point = RwLock::new((1, 2));
    /// let x = RwLockWriteGuard::downgrade_map(point.write().await, |point| &point.0);
    /// assert_eq!((*x, *point.read().await), (1, (1, 2)));
    /// # }
    /// ```
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let value: *const U = f(&*this);
        let lock = this.into_lock();
        // First the guard that owns the permit which stays: waking the readers may panic.
        let guard = RwLockReadGuard::part(lock, value);
        lock.downgrade();
        guard
    }

    /// Narrows the guard to a part of the value, if there is such a part. The lock stays held for writing.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<F, U: ?Sized>(mut this: Self, f: F) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let value: *mut U = match f(&mut *this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(RwLockMappedWriteGuard::part(this.into_lock(), value))
    }

    /// Narrows the guard to a part of the value and downgrades it, if there is such a part.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was, held for writing.
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let value: *const U = match f(&*this) {
            Some(value) => value,
            None => return Err(this),
        };
        let lock = this.into_lock();
        let guard = RwLockReadGuard::part(lock, value);
        lock.downgrade();
        Ok(guard)
    }

    /// Makes a mapped guard of this one, for the whole value: for code that has to name one type for both.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    ///
    /// # #[nezumi::main] async fn main() {
    /// let lock = RwLock::new(1);
    /// let mut guard: RwLockMappedWriteGuard<'_, u32> = RwLockWriteGuard::into_mapped(lock.write().await);
    /// *guard = 2;
    /// # }
    /// ```
    #[inline]
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockWriteGuard::map(this, |value| value)
    }

    /// Turns the writer into a reader. Other readers may come from now on; no writer comes in between.
    ///
    /// Readers that asked after a writer which still waits go on waiting behind it.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::RwLock;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write().await;
    /// *writer = 2;
    /// let reader = writer.downgrade();
    /// assert_eq!(*reader, *lock.read().await);
    /// # }
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        RwLockWriteGuard::downgrade_map(self, |value| value)
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.release_write();
    }
}

see_through!({T: ?Sized} RwLockWriteGuard<'_, T> => T, exclusive);
