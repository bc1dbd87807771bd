//! Guards that borrow the mutex.

use super::Mutex;
use crate::batch_semaphore::Semaphore;
use std::marker::PhantomData;
use std::mem;

/// Stands for the value of a locked [`Mutex`], which is unlocked when this is dropped.
///
/// From [`lock`](Mutex::lock), [`try_lock`](Mutex::try_lock) and [`blocking_lock`](Mutex::blocking_lock).
///
/// # Examples
///
/// ```
/// use nezumi::sync::Mutex;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mutex = Mutex::new(1);
/// let mut guard = mutex.lock().await;
/// *guard += 1;
/// drop(guard);
/// assert_eq!(mutex.into_inner(), 2);
/// # }
/// ```
#[must_use = "a guard that is not kept unlocks the mutex at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
}

// SAFETY: a shared guard gives out `&T` (hence `Sync`) for as long as it lives. `Send` is asked for as well, as it is of all
// that holds the mutex.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}

/// Stands for a part of the value of a locked [`Mutex`], which is unlocked when this is dropped.
///
/// From [`MutexGuard::map`] and [`MutexGuard::try_map`].
///
/// # Examples
///
/// ```
/// use nezumi::sync::{Mutex, MutexGuard};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mutex = Mutex::new(("cheese", 1));
/// let mut count = MutexGuard::map(mutex.lock().await, |pair| &mut pair.1);
/// *count += 1;
/// drop(count);
/// assert_eq!(mutex.into_inner(), ("cheese", 2));
/// # }
/// ```
#[must_use = "a guard that is not kept unlocks the mutex at once"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    permit: &'a Semaphore,
    value: *mut T,
    // It is used like this, and must have the same variance.
    _value: PhantomData<&'a mut T>,
}

// SAFETY: a shared guard gives out `&T` and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}
// SAFETY: to send the guard is to send a `&mut T`. The permit can be released from any thread.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The guard of a mutex whose permit is the caller's.
    #[inline]
    pub(super) fn new(mutex: &'a Mutex<T>) -> Self {
        let guard = Self { mutex };
        mutex.permit.trace.locked(true);
        guard
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        self.mutex.value.with_mut(|value| value)
    }

    /// The permit, which the caller must see to from now on.
    #[inline]
    fn into_permit(self) -> &'a Semaphore {
        let permit = &self.mutex.permit;
        mem::forget(self);
        permit
    }

    /// Narrows the guard to a part of the value. The mutex stays locked.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{Mutex, MutexGuard};
    ///
    /// # #[nezumi::main] async fn main() {
    /// let point = Mutex::new((1, 2));
    /// let mut x = MutexGuard::map(point.lock().await, |point| &mut point.0);
    /// *x = 10;
    /// drop(x);
    /// assert_eq!(*point.lock().await, (10, 2));
    /// # }
    /// ```
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let value: *mut U = f(&mut *this);
        MappedMutexGuard { permit: this.into_permit(), value, _value: PhantomData }
    }

    /// Narrows the guard to a part of the value, if there is such a part. The mutex stays locked.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{Mutex, MutexGuard};
    ///
    /// # #[nezumi::main] async fn main() {
    /// let list = Mutex::new(vec![1, 2]);
    /// let list = MutexGuard::try_map(list.lock().await, |list| list.get_mut(2)).unwrap_err();
    /// let second = MutexGuard::try_map(list, |list| list.get_mut(1)).unwrap();
    /// assert_eq!(*second, 2);
    /// # }
    /// ```
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let value: *mut U = match f(&mut *this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(MappedMutexGuard { permit: this.into_permit(), value, _value: PhantomData })
    }

    /// The mutex that this guard unlocks.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{Mutex, MutexGuard};
    ///
    /// # #[nezumi::main] async fn main() {
    /// async fn unlock_and_relock<'a>(guard: MutexGuard<'a, u32>) -> MutexGuard<'a, u32> {
    ///     let mutex = MutexGuard::mutex(&guard);
    ///     drop(guard);
    ///     mutex.lock().await
    /// }
    /// let mutex = Mutex::new(7);
    /// assert_eq!(*unlock_and_relock(mutex.lock().await).await, 7);
    /// # }
    /// ```
    #[inline]
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.mutex
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.unlock();
    }
}

see_through!({T: ?Sized} MutexGuard<'_, T> => T, exclusive);

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    #[inline]
    fn pointer(&self) -> *mut T {
        self.value
    }

    #[inline]
    fn into_permit(self) -> &'a Semaphore {
        let permit = self.permit;
        mem::forget(self);
        permit
    }

    /// Narrows the guard further. The mutex stays locked.
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let value: *mut U = f(&mut *this);
        MappedMutexGuard { permit: this.into_permit(), value, _value: PhantomData }
    }

    /// Narrows the guard further, if there is such a part. The mutex stays locked.
    ///
    /// # Errors
    ///
    /// If `f` returns `None` the guard is given back as it was.
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        let value: *mut U = match f(&mut *this) {
            Some(value) => value,
            None => return Err(this),
        };
        Ok(MappedMutexGuard { permit: this.into_permit(), value, _value: PhantomData })
    }
}

impl<T: ?Sized> Drop for MappedMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        super::unlock(self.permit);
    }
}

see_through!({T: ?Sized} MappedMutexGuard<'_, T> => T, exclusive);
