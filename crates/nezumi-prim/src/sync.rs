//! Atomics, `Arc`, and locks that know no poison.

#[cfg(nezumi_loom)]
pub use loom::sync::Arc;
#[cfg(nezumi_shuttle)]
pub use shuttle::sync::Arc;
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
pub use std::sync::Arc;

/// Atomic integers and pointers, fences, and the orderings they take.
pub mod atomic {
    #[cfg(nezumi_chaos)]
    pub use crate::chaos::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    #[cfg(nezumi_count)]
    pub use crate::count::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    #[cfg(nezumi_loom)]
    pub use loom::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    };
    #[cfg(nezumi_shuttle)]
    pub use shuttle::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    };
    #[cfg(any(nezumi_chaos, nezumi_count))]
    pub use std::sync::atomic::Ordering;
    #[cfg(not(any(nezumi_loom, nezumi_shuttle, nezumi_chaos, nezumi_count)))]
    pub use std::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    };
}

#[cfg(nezumi_loom)]
use loom::sync as imp;
#[cfg(nezumi_shuttle)]
use shuttle::sync as imp;
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
use std::sync as imp;

use std::fmt;
use std::time::Duration;

#[inline(always)]
fn hold_up() {
    #[cfg(nezumi_chaos)]
    crate::chaos::point();
}

#[inline(always)]
fn take_lock() {
    hold_up();
    #[cfg(nezumi_count)]
    crate::count::lock();
}

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = imp::MutexGuard<'a, T>;

/// A mutual exclusion lock. A panic while it is held does not poison it: what Nezumi guards is consistent at every
/// point where code that could panic runs.
#[derive(Default)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    /// Wraps `value`.
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Wraps `value`.
    #[cfg(any(nezumi_loom, nezumi_shuttle))]
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        take_lock();
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        take_lock();
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }

    /// Reaches the value without locking, which `&mut` makes needless.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes the value out.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_tuple("Mutex").field(&&*guard).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// The guard of readers of an [`RwLock`].
pub type RwLockReadGuard<'a, T> = imp::RwLockReadGuard<'a, T>;
/// The guard of the writer of an [`RwLock`].
pub type RwLockWriteGuard<'a, T> = imp::RwLockWriteGuard<'a, T>;

/// A lock for many readers or one writer. A panic while it is held does not poison it.
#[derive(Default)]
pub struct RwLock<T>(imp::RwLock<T>);

impl<T> RwLock<T> {
    /// Wraps `value`.
    pub fn new(value: T) -> Self {
        Self(imp::RwLock::new(value))
    }

    /// Waits until no writer holds it, and reads. A thread that reads already may wait forever, behind a writer.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        take_lock();
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until nobody holds it, and writes.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        take_lock();
        self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Reads if no writer holds it.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        take_lock();
        match self.0.try_read() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(guard) => f.debug_tuple("RwLock").field(&&*guard).finish(),
            None => f.write_str("RwLock(<locked>)"),
        }
    }
}

/// A condition variable for a [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    /// A condition variable that nobody waits on.
    #[must_use]
    pub fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// Releases the lock, waits to be notified, takes the lock again. May return spuriously.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        hold_up();
        self.0.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Like [`wait`](Self::wait), for `timeout` at the most. The flag says whether the time ran out.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let (guard, result) =
            self.0.wait_timeout(guard, timeout).unwrap_or_else(|poisoned| poisoned.into_inner());
        (guard, result.timed_out())
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        hold_up();
        self.0.notify_one();
    }

    /// Wakes every waiter.
    pub fn notify_all(&self) {
        hold_up();
        self.0.notify_all();
    }
}
