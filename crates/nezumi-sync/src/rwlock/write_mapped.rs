//! The guard of a writer that borrows the lock, narrowed to a part of the value.

use super::RwLock;
use crate::batch_semaphore::Semaphore;
use std::marker::PhantomData;
use std::mem;

/// Stands for a part of the value of an [`RwLock`] that is locked for writing; gives the lock up when dropped.
///
/// From [`RwLockWriteGuard::map`](super::RwLockWriteGuard::map) and its like. It cannot be downgraded.
///
/// # Examples
///
/// ```
/// use nezumi::sync::{RwLock, RwLockWriteGuard};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let lock = RwLock::new(("cheese", 1));
/// let mut count = RwLockWriteGuard::map(lock.write().await, |pair| &mut pair.1);
/// *count += 1;
/// drop(count);
/// assert_eq!(*lock.read().await, ("cheese", 2));
/// # }
/// ```
#[must_use = "a guard that is not kept gives the lock up at once"]
#[clippy::has_significant_drop]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    permits: &'a Semaphore,
    held: u32,
    value: *mut T,
    // It is used like this, and must have the same variance.
    _value: PhantomData<&'a mut T>,
}

// SAFETY: to send the guard is to send a `&mut T`. The permits can be released from any thread.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockMappedWriteGuard<'_, T> {}
// SAFETY: a shared guard gives out `&T`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockMappedWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    /// For one who holds all permits of `lock`, and hands them over; `value` is a part of what the lock guards.
    #[inline]
    pub(super) fn part<V: ?Sized>(lock: &'a RwLock<V>, value: *mut T) -> Self {
        Self { permits: &lock.permits, held: lock.max_readers, value, _value: PhantomData }
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        self.value
    }

    #[inline]
    fn narrow<U: ?Sized>(self, value: *mut U) -> RwLockMappedWriteGuard<'a, U> {
        let Self { permits, held, .. } = self;
        mem::forget(self);
        RwLockMappedWriteGuard { permits, held, value, _value: PhantomData }
    }

    /// Narrows the guard further. The lock stays held for writing.
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let value: *mut U = f(&mut *this);
        this.narrow(value)
    }

    /// Narrows the guard further, if there is such a part. The lock stays held for writing.
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
        Ok(this.narrow(value))
    }
}

impl<T: ?Sized> Drop for RwLockMappedWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        super::release_write(self.permits, self.held);
    }
}

see_through!({T: ?Sized} RwLockMappedWriteGuard<'_, T> => T, exclusive);
