//! A lock for a few dozen nanoseconds at a time.
//!
//! The timers of a shard are touched by its worker, all but always, and each time for the length of a list insertion. So what counts is
//! the cost of a lock that is free, and a mutex pays twice there: once to take it, and once to find out on release whether anybody
//! sleeps. Here nobody sleeps on the lock; taking it is one read-modify-write and releasing it a store.
//!
//! Whoever finds it taken tries again: a few times at once, then after it has let other threads run, and then, should the holder have
//! been put off its processor, or have a lower priority, after naps that leave it the processor for certain. Nothing under this
//! lock waits, calls user code, or runs for more than a bounded number of steps.
//!
//! The model checkers make no end of a thread that spins. For them, who finds it taken waits for a mutex that every holder has.
//!
//! Tests: `one_at_a_time`; loom: `tests_of_the_model::one_of_two`, and all of `models`.

use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering};
#[cfg(any(nezumi_loom, nezumi_shuttle))]
use nezumi_prim::sync::{Mutex, MutexGuard};
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
use nezumi_prim::{hint, thread};
use std::ops::{Deref, DerefMut};

/// Tries before the first that lets go of the processor, and before the first nap.
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
const SPINS: u32 = 32;
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
const PATIENCE: u32 = 64;
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
const NAP: std::time::Duration = std::time::Duration::from_micros(50);

/// A value for one thread at a time.
pub(super) struct Lock<T> {
    taken: AtomicBool,
    #[cfg(any(nezumi_loom, nezumi_shuttle))]
    waiting: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, of which there is one at a time.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Releases the lock when dropped.
pub(super) struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    // Dropped after `drop` has released the lock.
    #[cfg(any(nezumi_loom, nezumi_shuttle))]
    _waiting: Option<MutexGuard<'a, ()>>,
}

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Self {
        Self {
            taken: AtomicBool::new(false),
            #[cfg(any(nezumi_loom, nezumi_shuttle))]
            waiting: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    #[inline]
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    pub(super) fn lock(&self) -> LockGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.contend())
    }

    #[cfg(any(nezumi_loom, nezumi_shuttle))]
    pub(super) fn lock(&self) -> LockGuard<'_, T> {
        let waiting = self.waiting.lock();
        let mut guard = self.try_lock().expect("its holder has the mutex");
        guard._waiting = Some(waiting);
        guard
    }

    #[inline]
    fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        // Acquire: pairs with the Release in `drop`, and so brings all that was done under the lock.
        let taken = self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| LockGuard {
            lock: self,
            #[cfg(any(nezumi_loom, nezumi_shuttle))]
            _waiting: None,
        })
    }

    #[cold]
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    fn contend(&self) -> LockGuard<'_, T> {
        let mut tries = 0;
        loop {
            match tries {
                0..SPINS => hint::spin_loop(),
                SPINS..PATIENCE => thread::yield_now(),
                _ => std::thread::sleep(NAP),
            }
            tries = PATIENCE.min(tries + 1);
            // Read first: a lock that is taken stays on its holder's cache line that way.
            if !self.taken.load(Ordering::Relaxed) {
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
            }
        }
    }

    #[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
    pub(super) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only one, and is borrowed.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the only one, and is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire of whoever takes the lock next.
        self.lock.taken.store(false, Ordering::Release);
    }
}

#[cfg(all(test, nezumi_loom))]
mod tests_of_the_model {
    use super::Lock;
    use nezumi_prim::sync::Arc;

    /// Without the mutex: what one has written, the other sees, if it gets the lock at all.
    #[test]
    fn one_of_two() {
        loom::model(|| {
            let lock = Arc::new(Lock::new(0));
            let add = |lock: &Lock<u32>| lock.try_lock().map(|mut value| *value += 1).is_some();
            let other = {
                let lock = lock.clone();
                loom::thread::spawn(move || u32::from(add(&lock)) + u32::from(add(&lock)))
            };
            let here = u32::from(add(&lock)) + u32::from(add(&lock));
            let sum = here + other.join().unwrap();
            assert!(sum >= 2);
            assert_eq!(lock.try_lock().map(|value| *value), Some(sum));
        });
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Lock;
    use std::sync::Arc;

    #[test]
    fn one_at_a_time() {
        let lock = Arc::new(Lock::new((0u64, 0u64)));
        let rounds = if cfg!(miri) { 10 } else { 20_000 };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..rounds {
                        let mut guard = lock.lock();
                        let (left, right) = &mut *guard;
                        assert_eq!(left, right);
                        *left += 1;
                        if round % 64 == 0 {
                            // Now and then the holder loses its processor.
                            std::thread::yield_now();
                        }
                        *right += 1;
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), (4 * rounds, 4 * rounds));
        assert!(!lock.is_taken());
    }
}
