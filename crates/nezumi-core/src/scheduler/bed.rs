//! Where one worker sleeps: on its own parker, or in the I/O driver.
//!
//! Called by `park` (the worker) and by whoever wakes it. Knows nothing of tasks.
//!
//! Promise: a `wake` before or during a sleep ends that sleep, whichever kind it is; a sleep in the driver costs at most one write to the
//! driver's eventfd, a sleep on the parker at most one futex call; wakes do not add up.
//!
//! Tests: the model `wake_races_a_sleep`, on the parker. In the driver the eventfd takes the parker's place: `tests/it/scheduler.rs`.

use crate::driver;
use nezumi_prim::Parker;
use nezumi_prim::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const AWAKE: u32 = 0;
const ON_PARKER: u32 = 1;
const IN_DRIVER: u32 = 2;
const WOKEN: u32 = 3;

/// One worker's bed.
#[derive(Debug)]
pub(crate) struct Bed {
    state: AtomicU32,
    parker: Parker,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(AWAKE), parker: Parker::new() }
    }

    /// Sleeps on the parker. One thread at a time.
    pub(crate) fn sleep_on_parker(&self, timeout: Option<Duration>) {
        self.sleep_on_parker_then(timeout, || {});
    }

    /// Sleeps on the parker, and calls `overslept` if the time ran out.
    pub(crate) fn sleep_on_parker_then(&self, timeout: Option<Duration>, overslept: impl FnOnce()) {
        if !self.lie_down(ON_PARKER) {
            return;
        }
        let woken = match timeout {
            None => {
                self.parker.park();
                true
            }
            Some(timeout) => self.parker.park_timeout(timeout),
        };
        self.get_up();
        if !woken {
            overslept();
        }
    }

    /// Sleeps in the driver: `turn` is the sleep.
    pub(crate) fn sleep_in_driver(&self, turn: impl FnOnce()) {
        if self.lie_down(IN_DRIVER) {
            turn();
            self.get_up();
        }
    }

    /// Whether sleep is allowed; a wake that came before is taken instead.
    fn lie_down(&self, how: u32) -> bool {
        // Relaxed: it publishes nothing but the way to wake us, and a wake that came before is acquired by `get_up`.
        if self.state.compare_exchange(AWAKE, how, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return true;
        }
        self.get_up();
        false
    }

    fn get_up(&self) {
        // Acquire: pairs with the Release in `wake`; what the waking sides wrote is visible, also of those who found it woken already.
        self.state.swap(AWAKE, Ordering::Acquire);
    }

    /// Ends the sleep, or the next one.
    pub(crate) fn wake(&self, driver: Option<&driver::Handle>) {
        // Release: publishes what the caller did to the sleeper.
        match self.state.swap(WOKEN, Ordering::Release) {
            ON_PARKER => self.parker.unpark(),
            IN_DRIVER => {
                if let Some(driver) = driver {
                    driver.unpark();
                }
            }
            _ => {}
        }
    }

    /// Whether the worker sleeps in the driver.
    pub(crate) fn is_in_driver(&self) -> bool {
        self.state.load(Ordering::Relaxed) == IN_DRIVER
    }
}
