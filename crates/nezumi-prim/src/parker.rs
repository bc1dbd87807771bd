//! One thread's bed: it sleeps here until somebody wakes it.
//!
//! Called by `nezumi-wake::block_on` and by the workers of `nezumi-core`. Knows nothing of tasks.
//!
//! Promise: an `unpark` before or during `park` makes that `park` return; tokens do not add up; what was written
//! before `unpark` is visible after the `park` that it ends.
//!
//! Three states in one word. `park` moves NOTIFIED to EMPTY and returns, or EMPTY to PARKED and sleeps. `unpark` swaps in
//! NOTIFIED, and calls the kernel only if PARKED stood there. On Linux the sleep is a futex on the word itself (Franke,
//! Russell, Kirkwood 2002); elsewhere, and under the model checkers, a mutex and a condition variable guard the sleep.
//!
//! Tests: `unpark_before_park_returns_at_once`, `unpark_wakes_a_sleeper`, `timeout_ends_the_sleep`, and the loom model
//! `park_never_misses_an_unpark`.

use crate::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// A token that one thread waits for and any thread may set.
#[derive(Debug)]
pub struct Parker {
    state: AtomicU32,
    bed: bed::Bed,
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Parker {
    /// A parker without a token.
    #[must_use]
    pub fn new() -> Self {
        Self { state: AtomicU32::new(EMPTY), bed: bed::Bed::new() }
    }

    /// Sleeps until a token is there, and takes it. One thread at a time may call this.
    pub fn park(&self) {
        self.park_for(None);
    }

    /// Like [`park`](Self::park), for `timeout` at the most. Returns whether a token was taken.
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        self.park_for(Some(timeout))
    }

    fn park_for(&self, timeout: Option<Duration>) -> bool {
        // Acquire: pairs with the Release in `unpark`; whatever the waker wrote first is visible after.
        if self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED {
            return true;
        }
        if timeout == Some(Duration::ZERO) {
            return false;
        }
        // A failure here means that the token came since: the swap below takes it.
        if self.state.compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.bed.sleep_while_parked(&self.state, timeout);
        }
        self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }

    /// Sets the token, and wakes the thread that waits for it.
    #[inline]
    pub fn unpark(&self) {
        // Release: pairs with the Acquire swaps in `park_for`.
        if self.state.swap(NOTIFIED, Ordering::Release) == PARKED {
            self.bed.wake(&self.state);
        }
    }
}

#[cfg(all(target_os = "linux", not(any(nezumi_loom, nezumi_shuttle))))]
mod bed {
    use super::PARKED;
    use crate::sync::atomic::{AtomicU32, Ordering};
    use std::ptr;
    use std::time::{Duration, Instant};

    #[derive(Debug)]
    pub(super) struct Bed;

    impl Bed {
        pub(super) fn new() -> Self {
            Bed
        }

        pub(super) fn sleep_while_parked(&self, state: &AtomicU32, timeout: Option<Duration>) {
            // A deadline past the clock's range is none.
            let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
            while state.load(Ordering::Relaxed) == PARKED {
                let rest = match deadline {
                    None => None,
                    Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                        None | Some(Duration::ZERO) => return,
                        rest => rest,
                    },
                };
                let spec = rest.map(|rest| libc::timespec {
                    tv_sec: libc::time_t::try_from(rest.as_secs()).unwrap_or(libc::time_t::MAX),
                    tv_nsec: rest.subsec_nanos() as _,
                });
                let spec_ptr = spec.as_ref().map_or(ptr::null(), ptr::from_ref);
                // SAFETY: `state` and `spec` outlive the call; FUTEX_WAIT only reads them. Whatever it returns (woken,
                // value changed, interrupted, timed out), the loop looks at the state and the clock again.
                unsafe {
                    libc::syscall(
                        libc::SYS_futex,
                        state.as_ptr(),
                        libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                        PARKED,
                        spec_ptr,
                    );
                }
            }
        }

        pub(super) fn wake(&self, state: &AtomicU32) {
            // SAFETY: FUTEX_WAKE uses the address as a key and does not read through it.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    state.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    1,
                );
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(nezumi_loom, nezumi_shuttle)))))]
mod bed {
    use super::PARKED;
    use crate::sync::atomic::{AtomicU32, Ordering};
    use crate::sync::{Condvar, Mutex};
    use std::time::{Duration, Instant};

    #[derive(Debug)]
    pub(super) struct Bed {
        lock: Mutex<()>,
        condvar: Condvar,
    }

    impl Bed {
        pub(super) fn new() -> Self {
            Bed { lock: Mutex::new(()), condvar: Condvar::new() }
        }

        pub(super) fn sleep_while_parked(&self, state: &AtomicU32, timeout: Option<Duration>) {
            let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
            let mut guard = self.lock.lock();
            while state.load(Ordering::Relaxed) == PARKED {
                guard = match deadline {
                    None => self.condvar.wait(guard),
                    Some(deadline) => {
                        let rest = deadline.saturating_duration_since(Instant::now());
                        if rest.is_zero() {
                            return;
                        }
                        self.condvar.wait_timeout(guard, rest).0
                    }
                };
            }
        }

        pub(super) fn wake(&self, _state: &AtomicU32) {
            // Taking the lock orders this call after the sleeper's look at the state, so the signal is not lost.
            drop(self.lock.lock());
            self.condvar.notify_one();
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Parker;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn unpark_before_park_returns_at_once() {
        let parker = Parker::new();
        parker.unpark();
        parker.unpark();
        parker.park();
        assert!(!parker.park_timeout(Duration::ZERO), "tokens must not add up");
    }

    #[test]
    fn unpark_wakes_a_sleeper() {
        let parker = Arc::new(Parker::new());
        let waker = Arc::clone(&parker);
        let thread = std::thread::spawn(move || waker.unpark());
        parker.park();
        thread.join().unwrap();
    }

    #[test]
    fn timeout_ends_the_sleep() {
        assert!(!Parker::new().park_timeout(Duration::from_millis(1)));
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::Parker;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn park_never_misses_an_unpark() {
        loom::model(|| {
            let parker = Arc::new(Parker::new());
            let written = Arc::new(AtomicBool::new(false));
            let thread = {
                let (parker, written) = (parker.clone(), written.clone());
                loom::thread::spawn(move || {
                    written.store(true, Ordering::Relaxed);
                    parker.unpark();
                })
            };
            parker.park();
            assert!(written.load(Ordering::Relaxed), "what preceded unpark must be visible");
            thread.join().unwrap();
        });
    }
}
