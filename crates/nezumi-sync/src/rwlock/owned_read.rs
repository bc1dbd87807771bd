//! The guard of a reader that keeps the lock alive.

use super::RwLock;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

/// Stands for the value of an [`RwLock<T>`](RwLock) that is locked for reading, or for a part of it, of type `U`; keeps the
/// lock alive, and gives it up when dropped.
///
/// From [`read_owned`](RwLock::read_owned), [`try_read_owned`](RwLock::try_read_owned), and by downgrading a write guard.
///
/// # Examples
///
/// ```
/// use nezumi::sync::RwLock;
/// use std::sync::Arc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let lock = Arc::new(RwLock::new("cheese".to_owned()));
/// let guard = lock.clone().read_owned().await;
/// let length = nezumi::spawn(async move { guard.len() });
/// // Others may read meanwhile.
/// assert_eq!(*lock.read().await, "cheese");
/// assert_eq!(length.await.unwrap(), 6);
/// # }
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    lock: Arc<RwLock<T>>,
    value: *const U,
}

// SAFETY: to send the guard is to send a `&U`, and the `T` with it, since the last guard may drop it.
unsafe impl<T, U> Send for OwnedRwLockReadGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Sync,
{
}
// SAFETY: a shared guard gives out `&U`, and its lock, which asks for `T: Send + Sync`.
unsafe impl<T, U> Sync for OwnedRwLockReadGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// For one who holds a permit of `lock`, and hands it over.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        let value = lock.pointer();
        let guard = Self { lock, value };
        guard.lock.permits.trace.reader_came();
        guard
    }
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// For one who holds a permit of `lock`, and hands it over; `value` is a part of what the lock guards.
    #[inline]
    pub(super) fn part(lock: Arc<RwLock<T>>, value: *const U) -> Self {
        Self { lock, value }
    }

    #[inline]
    fn pointer(&self) -> *const U {
        self.value
    }

    #[inline]
    fn narrow<V: ?Sized>(self, value: *const V) -> OwnedRwLockReadGuard<T, V> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, nor dropped.
        let lock = unsafe { ptr::read(&this.lock) };
        OwnedRwLockReadGuard { lock, value }
    }

    /// Narrows the guard to a part of the value. The lock stays held for reading.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{OwnedRwLockReadGuard, RwLock};
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let point = Arc::new(RwLock::new((1, 2)));
    /// let x = OwnedRwLockReadGuard::map(point.read_owned().await, |point| &point.0);
    /// assert_eq!(*x, 1);
    /// # }
    /// ```
    #[inline]
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        let value: *const V = f(&*this);
        this.narrow(value)
    }

    /// Narrows the guard to a part of the value, if there is such a part. The lock stays held for reading.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        let value: *const V = match f(&*this) {
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

impl<T: ?Sized, U: ?Sized> Drop for OwnedRwLockReadGuard<T, U> {
    #[inline]
    fn drop(&mut self) {
        self.lock.release_read();
    }
}

see_through!({T: ?Sized, U: ?Sized} OwnedRwLockReadGuard<T, U> => U, shared);
