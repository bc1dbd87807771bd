//! A lock for many readers or one writer, whose guards may be held across an await.
//!
//! A semaphore with a permit for each reader that may be, and a value. A reader takes one permit, a writer takes them all.
//! The waiting, its order and its proof are those of `batch_semaphore`; nobody overtakes a waiting writer, since nobody
//! overtakes the head of the queue. Locking a free lock either way is one CAS.
//!
//! Who may touch what: `value` is read by those who hold a permit, and written by who holds all. A writer that downgrades
//! keeps one permit and releases the others: in between, no other writer can get in.
//!
//! Why a mapped write guard cannot be downgraded: what it was mapped to may have come out of an exclusive reference, by
//! `Cell::get_mut` for one; as a reader's it would be shared with those who reach it through the cell.
//!
//! Tests: `tests` below; loom: `models` below, `a_writer_excludes_readers`, `downgrade_lets_no_writer_in`.

mod owned_read;
mod owned_write;
mod owned_write_mapped;
mod read;
mod write;
mod write_mapped;

pub use owned_read::OwnedRwLockReadGuard;
pub use owned_write::OwnedRwLockWriteGuard;
pub use owned_write_mapped::OwnedRwLockMappedWriteGuard;
pub use read::RwLockReadGuard;
pub use write::RwLockWriteGuard;
pub use write_mapped::RwLockMappedWriteGuard;

use crate::TryLockError;
use crate::batch_semaphore::{Semaphore, granted};
use nezumi_prim::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

/// How many readers a lock can have at once. The same limit as Tokio's.
const MAX_READERS: u32 = u32::MAX >> 3;

/// A value that many tasks may read at once, or one may write, also across awaits.
///
/// The lock is fair: it is given to tasks in the order in which they asked for it. So a reader waits while an earlier writer
/// waits, and writers do not starve. It also means that a task which holds a read guard must not wait for a second one: a
/// writer may have come in between, and then each waits for the other.
///
/// It knows no poisoning: when a task panics while it holds a guard, the lock is released and the value stays as it is.
///
/// # Examples
///
/// ```
/// use nezumi::sync::RwLock;
///
/// # #[nezumi::main] async fn main() {
/// let lock = RwLock::new(5);
/// {
///     let (one, other) = (lock.read().await, lock.read().await);
///     assert_eq!(*one + *other, 10);
/// }
/// *lock.write().await += 1;
/// assert_eq!(lock.into_inner(), 6);
/// # }
/// ```
pub struct RwLock<T: ?Sized> {
    permits: Semaphore,
    max_readers: u32,
    value: UnsafeCell<T>,
}

// SAFETY: to send the lock is to send the value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: sharing the lock shares the value among readers (`Sync`), and hands it to one writer after the other (`Send`).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> RwLock<T> {
    /// Makes an unlocked lock.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T>
    where
        T: Sized,
    {
        Self::with_max_readers(value, MAX_READERS)
    }

    /// Makes an unlocked lock that at most `max_reads` readers hold at once.
    ///
    /// # Panics
    ///
    /// If `max_reads` is 0 or more than `u32::MAX >> 3`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::RwLock;
    ///
    /// let lock = RwLock::with_max_readers((), 1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_err());
    /// # drop(reader);
    /// ```
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> RwLock<T>
    where
        T: Sized,
    {
        assert_ne!(max_reads, 0, "a RwLock may not be created with 0 readers");
        assert!(max_reads <= MAX_READERS, "a RwLock may not be created with more than {MAX_READERS} readers");
        let mut lock = Self::const_with_max_readers(value, max_reads);
        lock.permits.trace = nezumi_trace::Permits::of_rwlock(max_reads);
        lock
    }

    const_fn! {
        /// Makes an unlocked lock, in a constant.
        ///
        /// # Examples
        ///
        /// ```
        /// use nezumi::sync::RwLock;
        ///
        /// static LEVEL: RwLock<u32> = RwLock::const_new(0);
        ///
        /// # #[nezumi::main] async fn main() {
        /// *LEVEL.write().await = 3;
        /// # }
        /// ```
        pub fn const_new(value: T) -> RwLock<T>
        where
            T: Sized,
        {
            Self::const_with_max_readers(value, MAX_READERS)
        }
    }

    const_fn! {
        /// Makes an unlocked lock that at most `max_reads` readers hold at once, in a constant.
        ///
        /// # Panics
        ///
        /// If `max_reads` is 0 or more than `u32::MAX >> 3`.
        #[track_caller]
        pub fn const_with_max_readers(value: T, max_reads: u32) -> RwLock<T>
        where
            T: Sized,
        {
            assert!(max_reads != 0, "a RwLock may not be created with 0 readers");
            assert!(max_reads <= MAX_READERS, "a RwLock may not be created with more than u32::MAX >> 3 readers");
            RwLock {
                permits: Semaphore::new(max_reads as usize),
                max_readers: max_reads,
                value: UnsafeCell::new(value),
            }
        }
    }

    #[inline]
    fn try_acquire(&self, permits: u32) -> Result<(), TryLockError> {
        self.permits.try_acquire(permits as usize).map_err(|_| TryLockError(()))
    }

    #[track_caller]
    fn blocking_acquire(&self, permits: u32) {
        granted(self.permits.blocking_acquire(permits as usize));
    }

    /// Waits until the value may be read.
    ///
    /// It waits for the writer that holds the lock, and for those writers that asked earlier.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it holds no lock, and loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::RwLock;
    /// use std::sync::Arc;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let lock = Arc::new(RwLock::new(1));
    /// let here = lock.read().await;
    /// let other = lock.clone();
    /// let there = nezumi::spawn(async move { *other.read().await });
    /// assert_eq!(there.await.unwrap(), *here);
    /// # }
    /// ```
    pub async fn read(&self) -> RwLockReadGuard<'_, T> {
        let acquire = || self.permits.acquire(1);
        granted(self.permits.trace.operation("RwLock::read", acquire).await);
        RwLockReadGuard::new(self)
    }

    /// Blocks this thread until the value may be read. For code outside of async tasks.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task: its other tasks would wait, too. Use [`read`](Self::read) there.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        self.blocking_acquire(1);
        RwLockReadGuard::new(self)
    }

    /// [`read`](Self::read), for a guard that keeps the lock alive and can be moved anywhere.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it holds no lock, and loses its place in the queue.
    pub async fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        let acquire = || self.permits.acquire(1);
        granted(self.permits.trace.operation("RwLock::read_owned", acquire).await);
        OwnedRwLockReadGuard::new(self)
    }

    /// Takes the lock for reading if that needs no wait.
    ///
    /// # Errors
    ///
    /// If the lock is held for writing, if others have been waiting for it, or if there are as many readers as may be.
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(RwLockReadGuard::new(self))
    }

    /// [`try_read`](Self::try_read), for a guard that keeps the lock alive.
    ///
    /// # Errors
    ///
    /// As [`try_read`](Self::try_read).
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(OwnedRwLockReadGuard::new(self))
    }

    /// Waits until the value may be written, which is when nobody else holds the lock.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it holds no lock, and loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::RwLock;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let lock = RwLock::new(vec![1]);
    /// lock.write().await.push(2);
    /// assert_eq!(*lock.read().await, [1, 2]);
    /// # }
    /// ```
    pub async fn write(&self) -> RwLockWriteGuard<'_, T> {
        let acquire = || self.permits.acquire(self.max_readers as usize);
        granted(self.permits.trace.operation("RwLock::write", acquire).await);
        RwLockWriteGuard::new(self)
    }

    /// Blocks this thread until the value may be written. For code outside of async tasks.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task: its other tasks would wait, too. Use [`write`](Self::write) there.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        self.blocking_acquire(self.max_readers);
        RwLockWriteGuard::new(self)
    }

    /// [`write`](Self::write), for a guard that keeps the lock alive and can be moved anywhere.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it holds no lock, and loses its place in the queue.
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        let acquire = || self.permits.acquire(self.max_readers as usize);
        granted(self.permits.trace.operation("RwLock::write_owned", acquire).await);
        OwnedRwLockWriteGuard::new(self)
    }

    /// Takes the lock for writing if that needs no wait.
    ///
    /// # Errors
    ///
    /// If anybody holds the lock, or has been waiting for it.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_acquire(self.max_readers)?;
        Ok(RwLockWriteGuard::new(self))
    }

    /// [`try_write`](Self::try_write), for a guard that keeps the lock alive.
    ///
    /// # Errors
    ///
    /// As [`try_write`](Self::try_write).
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.try_acquire(self.max_readers)?;
        Ok(OwnedRwLockWriteGuard::new(self))
    }

    /// Reaches the value without locking: `&mut` says that nobody else has the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::RwLock;
    ///
    /// let mut lock = RwLock::new(1);
    /// *lock.get_mut() = 10;
    /// assert_eq!(lock.into_inner(), 10);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: no guard can be alive, since it would borrow the lock, or own a count of its `Arc`.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    /// The value, for one who holds all permits.
    #[inline]
    fn pointer_mut(&self) -> *mut T {
        self.value.with_mut(|value| value)
    }

    /// The value, for one who holds a permit.
    #[inline]
    fn pointer(&self) -> *const T {
        self.value.with(|value| value)
    }

    #[inline]
    fn release_read(&self) {
        release_read(&self.permits);
    }

    #[inline]
    fn release_write(&self) {
        release_write(&self.permits, self.max_readers);
    }

    /// Turns the permits of a writer into that of a reader.
    fn downgrade(&self) {
        let rest = self.max_readers as usize - 1;
        self.permits.release_telling(rest, || {
            self.permits.trace.write_locked(false);
            self.permits.trace.reader_came();
        });
    }
}

#[inline]
fn release_read(permits: &Semaphore) {
    permits.release_telling(1, || permits.trace.reader_left());
}

#[inline]
fn release_write(permits: &Semaphore, held: u32) {
    permits.release_telling(held as usize, || permits.trace.write_locked(false));
}

impl<T> From<T> for RwLock<T> {
    fn from(s: T) -> Self {
        Self::new(s)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.try_read() {
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
    use super::{RwLock, RwLockWriteGuard};
    use loom::future::block_on;
    use nezumi_prim::thread::spawn;
    use std::sync::Arc;

    #[test]
    fn a_writer_excludes_readers() {
        loom::model(|| {
            let lock = Arc::new(RwLock::with_max_readers(0, 2));
            let reader = {
                let lock = lock.clone();
                spawn(move || block_on(async { assert!(*lock.read().await <= 2) }))
            };
            let writer = {
                let lock = lock.clone();
                spawn(move || *block_on(lock.write_owned()) += 1)
            };
            *block_on(lock.write()) += 1;
            reader.join().unwrap();
            writer.join().unwrap();
            assert_eq!(*lock.try_read().unwrap(), 2);
        });
    }

    #[test]
    fn downgrade_lets_no_writer_in() {
        loom::model(|| {
            let lock = Arc::new(RwLock::with_max_readers(0, 2));
            let writer = {
                let lock = lock.clone();
                spawn(move || *block_on(lock.write()) += 10)
            };
            let mut guard = block_on(lock.write());
            *guard += 1;
            let written = *guard;
            let guard = RwLockWriteGuard::downgrade(guard);
            assert_eq!(*guard, written);
            drop(guard);
            writer.join().unwrap();
            assert_eq!(*lock.try_write().unwrap(), 11);
        });
    }

    #[test]
    fn readers_share() {
        loom::model(|| {
            let lock = Arc::new(RwLock::with_max_readers(7, 2));
            let reader = {
                let lock = lock.clone();
                spawn(move || *block_on(lock.read_owned()))
            };
            let guard = block_on(lock.read());
            // It would never end if the reader had to wait for our guard.
            assert_eq!(reader.join().unwrap(), 7);
            drop(guard);
            assert!(lock.try_write().is_ok());
        });
    }
}
