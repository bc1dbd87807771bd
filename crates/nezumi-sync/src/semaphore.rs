//! The public face of the permits: [`Semaphore`], and the permits that give themselves back.
//!
//! All waiting is done in `batch_semaphore`; this room says what a permit is, who owns it, and how it is given back.
//!
//! Tests: `tests` below; the property `behaves_like_a_fair_counter` compares any sequence of calls with a plain queue.

mod permit;

pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

use crate::batch_semaphore as batch;
use crate::{AcquireError, TryAcquireError};
use std::fmt;
use std::sync::Arc;

/// Bounds how much goes on at once, by a number of permits.
///
/// Whoever wants to go on acquires a permit, and waits while there is none. Dropping the permit gives it back to the next
/// who waits. Several permits can be acquired as one.
///
/// The queue is fair: permits are given out in the order in which they were asked for. This holds for
/// [`acquire_many`](Self::acquire_many), too: while it waits for many permits at the head of the queue, nobody behind it
/// gets the few that are there already, and [`try_acquire`](Self::try_acquire) fails.
///
/// # Examples
///
/// At most three downloads at a time:
///
/// ```
/// use nezumi::sync::Semaphore;
/// use std::sync::Arc;
///
/// # async fn download(_: u32) {}
/// # #[nezumi::main] async fn main() {
/// let slots = Arc::new(Semaphore::new(3));
/// let mut tasks = Vec::new();
/// for page in 0..10 {
///     let slot = slots.clone().acquire_owned().await.unwrap();
///     tasks.push(nezumi::spawn(async move {
///         download(page).await;
///         drop(slot);
///     }));
/// }
/// for task in tasks {
///     task.await.unwrap();
/// }
/// # }
/// ```
///
/// A gate that is opened from elsewhere: a task waits for its turn, and keeps the permit for good.
///
/// ```
/// use nezumi::sync::Semaphore;
///
/// # #[nezumi::main] async fn main() {
/// static GATE: Semaphore = Semaphore::const_new(0);
///
/// let visitor = nezumi::spawn(async {
///     GATE.acquire().await.unwrap().forget();
///     "inside"
/// });
/// GATE.add_permits(1);
/// assert_eq!(visitor.await.unwrap(), "inside");
/// # }
/// ```
pub struct Semaphore {
    permits: batch::Semaphore,
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("permits", &self.available_permits())
            .field("closed", &self.is_closed())
            .finish()
    }
}

impl Semaphore {
    /// The largest number of permits that a semaphore can have: `usize::MAX >> 3`.
    pub const MAX_PERMITS: usize = batch::Semaphore::MAX_PERMITS;

    /// Makes a semaphore with `permits` permits.
    ///
    /// # Panics
    ///
    /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        let trace = nezumi_trace::Permits::of_semaphore(permits);
        Self { permits: batch::Semaphore::traced(permits, trace) }
    }

    const_fn! {
        /// Makes a semaphore with `permits` permits, in a constant.
        ///
        /// # Panics
        ///
        /// If `permits` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        ///
        /// # Examples
        ///
        /// ```
        /// use nezumi::sync::Semaphore;
        ///
        /// static CONNECTIONS: Semaphore = Semaphore::const_new(1024);
        /// assert_eq!(CONNECTIONS.available_permits(), 1024);
        /// ```
        #[track_caller]
        pub fn const_new(permits: usize) -> Self {
            Self { permits: batch::Semaphore::new(permits) }
        }
    }

    /// How many permits could be acquired right now: 0 while somebody waits for more than there are.
    pub fn available_permits(&self) -> usize {
        self.permits.available_permits()
    }

    /// Adds `n` permits, and serves those who wait.
    ///
    /// # Panics
    ///
    /// If there are then more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        self.permits.release(n);
    }

    /// Takes up to `n` permits away for good, as many as are available, and returns how many that were.
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.forget_permits(n)
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it takes no permit, and loses its place in the queue.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Semaphore;
    ///
    /// # #[nezumi::main] async fn main() {
    /// let semaphore = Semaphore::new(2);
    /// let permit = semaphore.acquire().await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # }
    /// ```
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        let acquire = || self.permits.acquire(1);
        self.permits.trace.acquisition("Semaphore::acquire", acquire).await?;
        Ok(SemaphorePermit::new(self, 1))
    }

    /// Waits for `n` permits, and takes them all at once.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it takes no permits, and loses its place in the queue.
    pub async fn acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        let acquire = || self.permits.acquire(n as usize);
        self.permits.trace.acquisition("Semaphore::acquire_many", acquire).await?;
        Ok(SemaphorePermit::new(self, n))
    }

    /// Takes a permit if there is one and nobody waits for it.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::NoPermits`] if there is none to be had, [`TryAcquireError::Closed`] if the semaphore is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// # drop(permit);
    /// ```
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_acquire(1)?;
        Ok(SemaphorePermit::new(self, 1))
    }

    /// Takes `n` permits if there are as many and nobody waits for them.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::NoPermits`] if there are too few, [`TryAcquireError::Closed`] if the semaphore is closed.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(SemaphorePermit::new(self, n))
    }

    /// Blocks this thread until a permit is there. For code outside of async tasks.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task: its other tasks would wait, too. Use [`acquire`](Self::acquire) there.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.blocking_acquire_many(1)
    }

    /// Blocks this thread until `n` permits are there, and takes them all at once.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task, and if `n` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.permits.blocking_acquire(n as usize)?;
        Ok(SemaphorePermit::new(self, n))
    }

    /// [`acquire`](Self::acquire), for a permit that keeps the semaphore alive and can be moved to another task.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it takes no permit, and loses its place in the queue.
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        let acquire = || self.permits.acquire(1);
        self.permits.trace.acquisition("Semaphore::acquire_owned", acquire).await?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// [`acquire_many`](Self::acquire_many), for permits that keep the semaphore alive.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// # Cancel safety
    ///
    /// Cancelled, it takes no permits, and loses its place in the queue.
    pub async fn acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, AcquireError> {
        let acquire = || self.permits.acquire(n as usize);
        self.permits.trace.acquisition("Semaphore::acquire_many_owned", acquire).await?;
        Ok(OwnedSemaphorePermit::new(self, n))
    }

    /// [`try_acquire`](Self::try_acquire), for a permit that keeps the semaphore alive.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::NoPermits`] if there is none to be had, [`TryAcquireError::Closed`] if the semaphore is closed.
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(1)?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// [`try_acquire_many`](Self::try_acquire_many), for permits that keep the semaphore alive.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::NoPermits`] if there are too few, [`TryAcquireError::Closed`] if the semaphore is closed.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn try_acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(OwnedSemaphorePermit::new(self, n))
    }

    /// [`blocking_acquire`](Self::blocking_acquire), for a permit that keeps the semaphore alive.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.blocking_acquire_many_owned(1)
    }

    /// [`blocking_acquire_many`](Self::blocking_acquire_many), for permits that keep the semaphore alive.
    ///
    /// # Errors
    ///
    /// If the semaphore is [closed](Self::close), before or during the wait.
    ///
    /// # Panics
    ///
    /// Inside a runtime's task, and if `n` is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.blocking_acquire(n as usize)?;
        Ok(OwnedSemaphorePermit::new(self, n))
    }

    /// Refuses permits from now on: to those who wait, and to those who come. It cannot be undone.
    ///
    /// Permits that are out stay valid, and are given back as before.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::{Semaphore, TryAcquireError};
    ///
    /// # #[nezumi::main] async fn main() {
    /// let semaphore = Semaphore::new(1);
    /// semaphore.close();
    /// assert!(semaphore.acquire().await.is_err());
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    /// # }
    /// ```
    pub fn close(&self) {
        self.permits.close();
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;
