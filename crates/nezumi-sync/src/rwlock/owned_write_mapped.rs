//! The guard of a writer that keeps the lock alive, narrowed to a part of the value.

use super::RwLock;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

/// Stands for a part, of type `U`, of the value of an [`RwLock<T>`](RwLock) that is locked for writing; keeps the lock
/// alive, and gives it up when dropped.
///
/// From [`OwnedRwLockWriteGuard::map`](super::OwnedRwLockWriteGuard::map) and its like. It cannot be downgraded.
///
/// # Examples
///
/// ```
/// use nezumi::sync::{OwnedRwLockWriteGuard, RwLock};
/// use std::sync::Arc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let lock = Arc::new(RwLock::new(("cheese", 1)));
/// let mut count = OwnedRwLockWriteGuard::map(lock.clone().write_owned().await, |pair| &mut pair.1);
/// *count += 1;
/// drop(count);
/// assert_eq!(*lock.read().await, ("cheese", 2));
/// # }
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    lock: Arc<RwLock<T>>,
    value: *mut U,
}

// SAFETY: to send the guard is to send a `&mut U`, and the `T` with it, since the last guard may drop it.
unsafe impl<T, U> Send for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}
// SAFETY: a shared guard gives out `&U`, and its lock, which asks for `T: Send + Sync`.
unsafe impl<T, U> Sync for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// For one who holds all permits of `lock`, and hands them over; `value` is a part of what the lock guards.
    #[inline]
    pub(super) fn part(lock: Arc<RwLock<T>>, value: *mut U) -> Self {
        Self { lock, value }
    }

    #[inline]
    fn pointer(&self) -> *mut U {
        self.value
    }

    #[inline]
    fn narrow<V: ?Sized>(self, value: *mut V) -> OwnedRwLockMappedWriteGuard<T, V> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, nor dropped.
        let lock = unsafe { ptr::read(&this.lock) };
        OwnedRwLockMappedWriteGuard { lock, value }
    }

    /// Narrows the guard further. The lock stays held for writing.
    #[inline]
    pub fn map<F, V: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        let value: *mut V = f(&mut *this);
        this.narrow(value)
    }

    /// Narrows the guard further, if there is such a part. The lock stays held for writing.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<F, V: ?Sized>(mut this: Self, f: F) -> Result<OwnedRwLockMappedWriteGuard<T, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        let value: *mut V = match f(&mut *this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(this.narrow(value))
    }

    /// The lock that this guard gives up when dropped.
    #[inline]
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.lock
    }
}

impl<T: ?Sized, U: ?Sized> Drop for OwnedRwLockMappedWriteGuard<T, U> {
    #[inline]
    fn drop(&mut self) {
        self.lock.release_write();
    }
}

see_through!({T: ?Sized, U: ?Sized} OwnedRwLockMappedWriteGuard<T, U> => U, exclusive);
