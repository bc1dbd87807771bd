//! Whose turn it is, between two.
//!
//! Called by the halves of a [`split`](crate::split()) stream: each polls it from its own task. Knows nothing of streams.
//!
//! Promise: at most one of the two has the turn; nobody ever blocks for it; whoever was told to wait is woken when the
//! other gives it up. So a poll of the one half that takes long costs the thread that polls the other nothing, and a waker
//! that polls the other half at once, while the first still has the turn, gets `Pending` and not a deadlock.
//!
//! ```text
//! who wants it                           who has it
//! W1 CAS FREE -> TAKEN: done             G1 swap FREE
//! W2 register my waker                   G2 if it was WANTED: wake
//! W3 CAS TAKEN -> WANTED: wait
//!    it was FREE: from W1
//! ```
//!
//! If G1 is first, W3 finds FREE and tries again. If W3 is first, G1 finds WANTED, and W2 came before it. WANTED found
//! at W3 is the own one of an earlier poll: the turn was not given up since, or else G2's use of the waker cell would
//! have shown it to W2.
//!
//! Only two may use it: WANTED says that *the* other waits, and there is one place for a waker.
//!
//! Tests: `who_waits_is_woken`; loom: `one_at_a_time_and_nobody_is_forgotten`, `a_second_registration_counts`.

use nezumi_prim::sync::atomic::{AtomicU8, Ordering};
use nezumi_wake::AtomicWaker;
use std::task::{Context, Poll};

const FREE: u8 = 0;
/// Somebody has the turn.
const TAKEN: u8 = 1;
/// Somebody has the turn, and the other waits for it.
const WANTED: u8 = 2;

pub(crate) struct Turn {
    state: AtomicU8,
    waits: AtomicWaker,
}

/// The turn, until it is dropped.
pub(crate) struct Taken<'a>(&'a Turn);

impl Turn {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU8::new(FREE), waits: AtomicWaker::new() }
    }

    /// Takes the turn. `Pending` while the other has it; the task of `cx` is woken when it has not any more.
    #[inline]
    pub(crate) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Taken<'_>> {
        // Acquire: pairs with the Release of the swap in `drop`; what the other did while it had the turn is visible.
        match self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Poll::Ready(Taken(self)),
            Err(_) => self.poll_wait(cx),
        }
    }

    #[cold]
    fn poll_wait(&self, cx: &mut Context<'_>) -> Poll<Taken<'_>> {
        loop {
            self.waits.register(cx.waker());
            // Release: pairs with the Acquire of the swap in `drop`; publishes the registration.
            match self.state.compare_exchange(TAKEN, WANTED, Ordering::Release, Ordering::Relaxed) {
                Err(FREE) => {}
                _ => return Poll::Pending,
            }
            // Acquire: as in `poll_take`.
            if self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Poll::Ready(Taken(self));
            }
            nezumi_prim::hint::spin_loop();
        }
    }
}

impl Drop for Taken<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire of who takes the turn next. Acquire: pairs with the Release of who wants it; its
        // waker is visible.
        if self.0.state.swap(FREE, Ordering::AcqRel) == WANTED {
            self.0.waits.wake();
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::poll_once;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::{Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_waits_is_woken() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let turn = Turn::new();
        for round in 1..3 {
            let Poll::Ready(taken) = poll_once(|cx| turn.poll_take(cx)) else { panic!("the turn is free") };
            for _ in 0..2 {
                assert!(turn.poll_take(&mut Context::from_waker(&waker)).is_pending());
            }
            drop(taken);
            assert_eq!(count.0.load(Ordering::Relaxed), round, "once for each time it is given up");
        }
        drop(poll_once(|cx| turn.poll_take(cx)));
        assert_eq!(count.0.load(Ordering::Relaxed), 2, "nobody waits any more");
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::*;
    use loom::future::block_on;
    use loom::sync::Arc;
    use loom::thread;
    use nezumi_prim::cell::UnsafeCell;
    use std::future::poll_fn;

    struct Counter {
        turn: Turn,
        count: UnsafeCell<usize>,
    }

    // SAFETY: `count` is only touched by who has the turn, which is what the model is about.
    unsafe impl Send for Counter {}
    // SAFETY: as above.
    unsafe impl Sync for Counter {}

    impl Counter {
        async fn add(&self) {
            poll_fn(|cx| {
                self.turn.poll_take(cx).map(|_taken| {
                    // SAFETY: we have the turn.
                    self.count.with_mut(|count| unsafe { *count += 1 });
                })
            })
            .await;
        }
    }

    #[test]
    fn one_at_a_time_and_nobody_is_forgotten() {
        loom::model(|| {
            let counter = Arc::new(Counter { turn: Turn::new(), count: UnsafeCell::new(0) });
            let other = counter.clone();
            let thread = thread::spawn(move || {
                block_on(other.add());
                block_on(other.add());
            });
            block_on(counter.add());
            thread.join().unwrap();
            // SAFETY: the other thread is gone.
            assert_eq!(counter.count.with(|count| unsafe { *count }), 3);
        });
    }

    #[test]
    fn a_second_registration_counts() {
        loom::model(|| {
            let counter = Arc::new(Counter { turn: Turn::new(), count: UnsafeCell::new(0) });
            let other = counter.clone();
            let thread = thread::spawn(move || block_on(other.add()));
            // The first poll may leave WANTED with a waker that wakes nobody.
            let mut cx = Context::from_waker(std::task::Waker::noop());
            drop(counter.turn.poll_take(&mut cx));
            block_on(counter.add());
            thread.join().unwrap();
            // SAFETY: the other thread is gone.
            assert_eq!(counter.count.with(|count| unsafe { *count }), 2);
        });
    }
}
