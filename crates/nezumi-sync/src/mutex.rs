//! A mutex whose guard may be held across an await.
//!
//! A semaphore of one permit and a value: whoever has the permit may touch the value. The waiting, its order and its proof
//! are those of `batch_semaphore`. Locking a free mutex is one CAS, unlocking one that nobody waits for one `fetch_add`.
//!
//! Who may touch what: `value` belongs to whoever holds the permit, which is exactly one guard. A mapped guard takes the
//! permit over from the guard that it was made of.
//!
//! Tests: `tests` below; loom: `models` below, `a_guard_excludes_all_others`.

mod guard;
mod owned;

pub use guard::{MappedMutexGuard, MutexGuard};
pub use owned::{OwnedMappedMutexGuard, OwnedMutexGuard};

use crate::batch_semaphore::{Semaphore, granted};
use nezumi_prim::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A value that one task at a time may use, also across awaits.
///
/// The lock is fair: it is given to tasks in the order in which they asked for it. It knows no poisoning: when a task
/// panics while it holds the guard, the mutex is unlocked and the value stays as the task left it.
///
/// A task that holds the guard of a [`std::sync::Mutex`] across an await is not `Send`, and may block a worker. Where no
/// await happens under the lock the standard mutex is the better choice all the same: it is faster.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Mutex;
/// use std::sync::Arc;
///
/// # #[nezumi::main] async fn main() {
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let mut tasks = Vec::new();
/// for id in 0..5 {
///     let log = log.clone();
///     tasks.push(nezumi::spawn(async move {
///         let mut log = log.lock().await;
///         nezumi::task::yield_now().await;
///         log.push(id);
///     }));
/// }
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(log.lock().await.len(), 5);
/// # }
/// ```
pub struct Mutex<T: ?Sized> {
    permit: Semaphore,
    value: UnsafeCell<T>,
}

// SAFETY: to send the mutex is to send the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: sharing the mutex lets each thread have the value for a while, one after the other: that is sending, so it asks
// for no more than `Send`.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// Says that a lock was not free: from [`Mutex::try_lock`], [`RwLock::try_read`](crate::RwLock::try_read),
/// [`RwLock::try_write`](crate::RwLock::try_write) and their owned forms.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Mutex;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mutex = Mutex::new(1);
/// let guard = mutex.lock().await;
/// assert_eq!(mutex.try_lock().unwrap_err().to_string(), "operation would block");
/// drop(guard);
/// assert!(mutex.try_lock().is_ok());
/// # }
/// ```
#[derive(Debug)]
pub struct TryLockError(pub(crate) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("operation would block")
    }
}

impl Error for TryLockError {}

impl<T: ?Sized> Mutex<T> {
    /// Makes an unlocked mutex.
    #[track_caller]
    pub fn new(t: T) -> Self
    where
        T: Sized,
    {
        let permit = Semaphore::traced(1, nezumi_trace::Permits::of_mutex());
        Self { permit, value: UnsafeCell::new(t) }
    }

    const_fn! {
        /// Makes an unlocked mutex, in a constant.
        ///
        /// # Examples
        ///
        /// ```
        /// use nezumi::sync::Mutex;
        ///
        /// static NAMES: Mutex<Vec<String>> = Mutex::const_new(Vec::new());
        ///
        /// # #[nezumi::main] async fn main() {
        /// NAMES.lock().await.push("Jirokichi".to_owned());
        /// # }
        /// ```
        pub fn const_new(t: T) -> Self
        where
            T: Sized,
        {
            Self { permit: Semaphore::new(1), value: UnsafeCell::new(t) }
        }
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), TryLockError> {
        self.permit.try_acquire(1).map_err(|_| TryLockError(()))
    }

    #[track_caller]
    fn blocking_acquire(&self) {
        granted(self.permit.blocking_acquire(1));
    }

    /// Waits for the lock.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it holds no lock, and loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Mutex;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let mutex = Mutex::new(1);
    /// *mutex.lock().await += 1;
    /// assert_eq!(mutex.into_inner(), 2);
    /// # }
    /// ```
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        granted(self.permit.trace.operation("Mutex::lock", || self.permit.acquire(1)).await);
        MutexGuard::new(self)
    }

    /// Blocks this thread until the lock is free. For code outside of async tasks.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task: its other tasks would wait, too. Use [`lock`](Self::lock) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Mutex;
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.lock().await;
    /// let other = mutex.clone();
    /// let blocking = nezumi::task::spawn_blocking(move || *other.blocking_lock());
    /// drop(guard);
    /// assert_eq!(blocking.await.unwrap(), 1);
    /// # }
    /// ```
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        self.blocking_acquire();
        MutexGuard::new(self)
    }

    /// [`blocking_lock`](Self::blocking_lock), for a guard that keeps the mutex alive.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task. Use [`lock_owned`](Self::lock_owned) there.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        self.blocking_acquire();
        OwnedMutexGuard::new(self)
    }

    /// [`lock`](Self::lock), for a guard that keeps the mutex alive and can be moved anywhere.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it holds no lock, and loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Mutex;
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = mutex.clone().lock_owned().await;
    /// nezumi::spawn(async move { *guard += 1 }).await.unwrap();
    /// assert_eq!(*mutex.lock().await, 2);
    /// # }
    /// ```
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        granted(self.permit.trace.operation("Mutex::lock_owned", || self.permit.acquire(1)).await);
        OwnedMutexGuard::new(self)
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    ///
    /// If it is not, or if others have been waiting for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Mutex;
    ///
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// ```
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.try_acquire()?;
        Ok(MutexGuard::new(self))
    }

    /// [`try_lock`](Self::try_lock), for a guard that keeps the mutex alive.
    ///
    /// # Errors
    ///
    /// If the lock is not free, or if others have been waiting for it.
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        self.try_acquire()?;
        Ok(OwnedMutexGuard::new(self))
    }

    /// Reaches the value without locking: `&mut` says that nobody else has the mutex.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Mutex;
    ///
    /// let mut mutex = Mutex::new(1);
    /// *mutex.get_mut() = 10;
    /// assert_eq!(mutex.into_inner(), 10);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: no guard can be alive, since it would borrow the mutex, or own a count of its `Arc`.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    /// Gives the lock to the next who waits.
    #[inline]
    fn unlock(&self) {
        unlock(&self.permit);
    }
}

#[inline]
fn unlock(permit: &Semaphore) {
    permit.release_telling(1, || permit.trace.locked(false));
}

impl<T> From<T> for Mutex<T> {
    fn from(s: T) -> Self {
        Self::new(s)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => text.field("data", &&*guard),
            Err(_) => text.field("data", &format_args!("<locked>")),
        };
        text.finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::Mutex;
    use loom::future::block_on;
    use nezumi_prim::thread::spawn;
    use std::sync::Arc;

    #[test]
    fn a_guard_excludes_all_others() {
        loom::model(|| {
            let mutex = Arc::new(Mutex::new(0));
            let threads: Vec<_> = (0..2)
                .map(|i| {
                    let mutex = mutex.clone();
                    spawn(move || {
                        if i == 0 {
                            *block_on(mutex.lock_owned()) += 1;
                        } else if let Ok(mut guard) = mutex.try_lock() {
                            *guard += 1;
                        }
                    })
                })
                .collect();
            *block_on(mutex.lock()) += 1;
            for thread in threads {
                thread.join().unwrap();
            }
            let total = *mutex.try_lock().expect("all guards are gone");
            assert!(total == 2 || total == 3);
        });
    }
}
