//! Permits that are out. Dropped, they go back to the head of the queue.

use super::Semaphore;
use std::sync::Arc;

/// Permits of a [`Semaphore`] that is borrowed; given back when dropped.
///
/// From [`acquire`](Semaphore::acquire), [`acquire_many`](Semaphore::acquire_many) and their like.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Semaphore;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let semaphore = Semaphore::new(2);
/// let permit = semaphore.acquire().await.unwrap();
/// assert_eq!(semaphore.available_permits(), 1);
/// drop(permit);
/// assert_eq!(semaphore.available_permits(), 2);
/// # }
/// ```
#[must_use = "a permit that is not kept is given back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    // Wider than what one acquire can ask for: `merge` adds up.
    permits: usize,
}

/// Permits of a [`Semaphore`] that they keep alive; given back when dropped.
///
/// From [`acquire_owned`](Semaphore::acquire_owned), [`acquire_many_owned`](Semaphore::acquire_many_owned) and their
/// like.
///
/// # Examples
///
/// ```
/// use nezumi::sync::Semaphore;
/// use std::sync::Arc;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let semaphore = Arc::new(Semaphore::new(2));
/// let mut tasks = Vec::new();
/// for id in 0..5 {
///     // No more than two at a time.
///     let permit = semaphore.clone().acquire_owned().await.unwrap();
///     tasks.push(nezumi::spawn(async move {
///         println!("{id} works");
///         drop(permit);
///     }));
/// }
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(semaphore.available_permits(), 2);
/// # }
/// ```
#[must_use = "a permit that is not kept is given back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl<'a> SemaphorePermit<'a> {
    pub(super) fn new(semaphore: &'a Semaphore, permits: u32) -> Self {
        Self { semaphore, permits: permits as usize }
    }

    /// Never gives these permits back: the semaphore has that many fewer from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// semaphore.try_acquire_many(2).unwrap().forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Adds the permits of `other` to these, to be given back together.
    ///
    /// # Panics
    ///
    /// If the two come from different semaphores.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// let mut permit = semaphore.try_acquire().unwrap();
    /// permit.merge(semaphore.try_acquire_many(2).unwrap());
    /// assert_eq!(permit.num_permits(), 3);
    /// ```
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            std::ptr::eq(self.semaphore, other.semaphore),
            "merging permits from different semaphore instances"
        );
        self.permits += std::mem::take(&mut other.permits);
    }

    /// Splits `n` permits off, to be given back on their own. `None` if there are fewer than `n`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// let mut permits = semaphore.try_acquire_many(3).unwrap();
    /// let one = permits.split(1).unwrap();
    /// assert!(permits.split(3).is_none());
    /// assert_eq!((one.num_permits(), permits.num_permits()), (1, 2));
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self { semaphore: self.semaphore, permits: n })
    }

    /// The semaphore that these permits go back to.
    pub fn semaphore(&self) -> &Semaphore {
        self.semaphore
    }

    /// How many permits these are.
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl OwnedSemaphorePermit {
    pub(super) fn new(semaphore: Arc<Semaphore>, permits: u32) -> Self {
        Self { semaphore, permits: permits as usize }
    }

    /// Never gives these permits back: the semaphore has that many fewer from now on.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Adds the permits of `other` to these, to be given back together.
    ///
    /// # Panics
    ///
    /// If the two come from different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            Arc::ptr_eq(&self.semaphore, &other.semaphore),
            "merging permits from different semaphore instances"
        );
        self.permits += std::mem::take(&mut other.permits);
    }

    /// Splits `n` permits off, to be given back on their own. `None` if there are fewer than `n`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::Semaphore;
    /// use std::sync::Arc;
    ///
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// let mut permits = semaphore.try_acquire_many_owned(3).unwrap();
    /// let one = permits.split(1).unwrap();
    /// assert_eq!((one.num_permits(), permits.num_permits()), (1, 2));
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self { semaphore: Arc::clone(&self.semaphore), permits: n })
    }

    /// The semaphore that these permits go back to.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// How many permits these are.
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.add_permits(self.permits);
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.add_permits(self.permits);
    }
}
