//! A one-time signal that belongs to no runtime.
//!
//! For workloads that must learn of an end without measuring some runtime's channel, and on sides that have none. Fired
//! once per thousand operations or less, so its lock is not part of any answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Ready once somebody has called [`Signal::fire`] on a clone of it.
#[derive(Clone, Default)]
pub(crate) struct Signal(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    fired: bool,
    waiter: Option<Waker>,
}

impl Signal {
    pub(crate) fn fire(&self) {
        let waiter = {
            let mut state = self.0.lock().unwrap();
            state.fired = true;
            state.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl Future for Signal {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.fired {
            return Poll::Ready(());
        }
        state.waiter = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_fired_before_or_after_the_wait_is_heard() {
        let early = Signal::default();
        early.fire();
        futures_lite::future::block_on(early);

        let late = Signal::default();
        let other = late.clone();
        let thread = std::thread::spawn(move || other.fire());
        futures_lite::future::block_on(late);
        thread.join().unwrap();
    }
}
