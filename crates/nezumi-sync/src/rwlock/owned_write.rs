//! The guard of a writer that keeps the lock alive.

use super::{OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, RwLock};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

/// Stands for the value of an [`RwLock`] that is locked for writing; keeps the lock alive, and gives it up when dropped.
///
/// From [`write_owned`](RwLock::write_owned) and [`try_write_owned`](RwLock::try_write_owned).
///
/// # Examples
///
/// ```
/// use nezumi::sync::RwLock;
/// use std::sync::Arc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let lock = Arc::new(RwLock::new(1));
/// let mut guard = lock.clone().write_owned().await;
/// nezumi::spawn(async move { *guard += 1 }).await.unwrap();
/// assert_eq!(*lock.read().await, 2);
/// # }
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// The guard of a lock whose permits are all the caller's.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        let guard = Self { lock };
        guard.lock.permits.trace.write_locked(true);
        guard
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        self.lock.pointer_mut()
    }

    /// The lock, still held: the caller must see to it from now on.
    #[inline]
    fn into_lock(self) -> Arc<RwLock<T>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, nor dropped.
        unsafe { ptr::read(&this.lock) }
    }

    /// Narrows the guard to a part of the value. The lock stays held for writing.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{OwnedRwLockWriteGuard, RwLock};
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let point = Arc::new(RwLock::new((1, 2)));
    /// let mut x = OwnedRwLockWriteGuard::map(point.clone().write_owned().await, |point| &mut point.0);
    /// *x = 10;
    /// drop(x);
    /// assert_eq!(*point.read().await, (10, 2));
    /// # }
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let value: *mut U = f(&mut *this);
        OwnedRwLockMappedWriteGuard::part(this.into_lock(), value)
    }

    /// Narrows the guard to a part of the value, and downgrades it: the part is held for reading, and other readers may come.
    /// No writer comes in between.
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let value: *const U = f(&*this);
        // First the guard that owns the permit which stays: waking the readers may panic.
        let guard = OwnedRwLockReadGuard::part(this.into_lock(), value);
        OwnedRwLockReadGuard::rwlock(&guard).downgrade();
        guard
    }

    /// Narrows the guard to a part of the value, if there is such a part. The lock stays held for writing.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<F, U: ?Sized>(mut this: Self, f: F) -> Result<OwnedRwLockMappedWriteGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let value: *mut U = match f(&mut *this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(OwnedRwLockMappedWriteGuard::part(this.into_lock(), value))
    }

    /// Narrows the guard to a part of the value and downgrades it, if there is such a part.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was, held for writing.
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        let value: *const U = match f(&*this) {
            Some(value) => value,
            None => return Err(this),
        };
        let guard = OwnedRwLockReadGuard::part(this.into_lock(), value);
        OwnedRwLockReadGuard::rwlock(&guard).downgrade();
        Ok(guard)
    }

    /// Makes a mapped guard of this one, for the whole value: for code that has to name one type for both.
    #[inline]
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        OwnedRwLockWriteGuard::map(this, |value| value)
    }

    /// Turns the writer into a reader. Other readers may come from now on; no writer comes in between.
    ///
    /// Readers that asked after a writer which still waits go on waiting behind it.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::RwLock;
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut writer = lock.clone().write_owned().await;
    /// *writer = 2;
    /// let reader = writer.downgrade();
    /// assert_eq!(*reader, *lock.read().await);
    /// # }
    /// ```
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        OwnedRwLockWriteGuard::downgrade_map(self, |value| value)
    }

    /// The lock that this guard gives up when dropped.
    #[inline]
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.lock
    }
}

impl<T: ?Sized> Drop for OwnedRwLockWriteGuard<T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.release_write();
    }
}

see_through!({T: ?Sized} OwnedRwLockWriteGuard<T> => T, exclusive);
