//! Guards that keep the mutex alive.

use super::Mutex;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

/// Stands for the value of a locked [`Mutex`], keeps the mutex alive, and unlocks it when dropped.
///
/// From [`lock_owned`](Mutex::lock_owned), [`try_lock_owned`](Mutex::try_lock_owned) and
/// [`blocking_lock_owned`](Mutex::blocking_lock_owned).
///
/// # Examples
///
/// ```
/// use nezumi::sync::Mutex;
/// use std::sync::Arc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mutex = Arc::new(Mutex::new(1));
/// let mut guard = mutex.clone().lock_owned().await;
/// // It can go where the mutex is not.
/// nezumi::spawn(async move { *guard += 1 }).await.unwrap();
/// assert_eq!(*mutex.lock().await, 2);
/// # }
/// ```
#[clippy::has_significant_drop]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
}

// SAFETY: a shared guard gives out `&T`. `Send` is asked for as well, since the last guard may drop the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}

/// Stands for a part, of type `U`, of the value of a locked [`Mutex<T>`](Mutex), keeps the mutex alive, and unlocks it when
/// dropped.
///
/// From [`OwnedMutexGuard::map`] and [`OwnedMutexGuard::try_map`].
///
/// # Examples
///
/// ```
/// use nezumi::sync::{Mutex, OwnedMutexGuard};
/// use std::sync::Arc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mutex = Arc::new(Mutex::new(("cheese", 1)));
/// let mut count = OwnedMutexGuard::map(mutex.clone().lock_owned().await, |pair| &mut pair.1);
/// nezumi::spawn(async move { *count += 1 }).await.unwrap();
/// assert_eq!(*mutex.lock().await, ("cheese", 2));
/// # }
/// ```
#[must_use = "a guard that is not kept unlocks the mutex at once"]
#[clippy::has_significant_drop]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    mutex: Arc<Mutex<T>>,
    value: *mut U,
}

// SAFETY: a shared guard gives out `&U`; the last guard may drop the `T`.
unsafe impl<T, U> Sync for OwnedMappedMutexGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}
// SAFETY: to send the guard is to send a `&mut U`, and the `T` with it.
unsafe impl<T, U> Send for OwnedMappedMutexGuard<T, U>
where
    T: ?Sized + Send,
    U: ?Sized + Send,
{
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// The guard of a mutex whose permit is the caller's.
    #[inline]
    pub(super) fn new(mutex: Arc<Mutex<T>>) -> Self {
        let guard = Self { mutex };
        guard.mutex.permit.trace.locked(true);
        guard
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        self.mutex.value.with_mut(|value| value)
    }

    /// The mutex, still locked: the caller must see to it from now on.
    #[inline]
    fn into_mutex(self) -> Arc<Mutex<T>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, nor dropped.
        unsafe { ptr::read(&this.mutex) }
    }

    /// Narrows the guard to a part of the value. The mutex stays locked.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{Mutex, OwnedMutexGuard};
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let point = Arc::new(Mutex::new((1, 2)));
    /// let mut x = OwnedMutexGuard::map(point.clone().lock_owned().await, |point| &mut point.0);
    /// *x = 10;
    /// drop(x);
    /// assert_eq!(*point.lock().await, (10, 2));
    /// # }
    /// ```
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let value: *mut U = f(&mut *this);
        OwnedMappedMutexGuard { mutex: this.into_mutex(), value }
    }

    /// Narrows the guard to a part of the value, if there is such a part. The mutex stays locked.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let value: *mut U = match f(&mut *this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(OwnedMappedMutexGuard { mutex: this.into_mutex(), value })
    }

    /// The mutex that this guard unlocks.
    #[inline]
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.mutex
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.unlock();
    }
}

see_through!({T: ?Sized} OwnedMutexGuard<T> => T, exclusive);

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    #[inline]
    fn pointer(&self) -> *mut U {
        self.value
    }

    #[inline]
    fn into_mutex(self) -> Arc<Mutex<T>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, nor dropped.
        unsafe { ptr::read(&this.mutex) }
    }

    /// Narrows the guard further. The mutex stays locked.
    #[inline]
    pub fn map<S, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> &mut S,
    {
        let value: *mut S = f(&mut *this);
        OwnedMappedMutexGuard { mutex: this.into_mutex(), value }
    }

    /// Narrows the guard further, if there is such a part. The mutex stays locked.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<S, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        let value: *mut S = match f(&mut *this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(OwnedMappedMutexGuard { mutex: this.into_mutex(), value })
    }
}

impl<T: ?Sized, U: ?Sized> Drop for OwnedMappedMutexGuard<T, U> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.unlock();
    }
}

see_through!({T: ?Sized, U: ?Sized} OwnedMappedMutexGuard<T, U> => U, exclusive);
