//! The driver without a scheduler: turned by hand, polled with wakers made by hand.

use super::Readiness;
use super::slot::{Slot, Wakes};
use super::waiter::Wait;
use super::word::{Place, Word};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

/// Counts its wakes.
#[derive(Default)]
struct Wakeups(AtomicUsize);

impl Wake for Wakeups {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wakeups {
    fn new() -> (Arc<Self>, Waker) {
        let wakeups = Arc::new(Wakeups::default());
        (wakeups.clone(), Waker::from(wakeups))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Calls a function when woken.
struct Then<F: Fn() + Send + Sync>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Then<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn then(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Then(f)))
}

fn dispatch(slot: &Slot, says: Readiness) {
    let mut wakes = Wakes::default();
    assert!(slot.dispatch(0, says, &mut wakes));
    wakes.wake_all();
}

mod chaos;
mod slot;

#[cfg(all(unix, not(miri)))]
mod turned;

mod word;
