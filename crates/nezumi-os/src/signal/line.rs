//! One signal, and those who wait for it.
//!
//! Called by `registry` on Unix and by `windows` (the signal came), and by the public types of both (somebody listens). Knows neither how a
//! signal comes, nor the runtime.
//!
//! Promise: a signal that is told after `listen` has returned is heard; several that are told before the listener looks are heard once.
//!
//! ```text
//! teller                            listener
//! T1 count it                       L1 leave my waker
//! T2 wake                           L2 look at the count
//! ```
//!
//! `AtomicWaker` orders the two: a wake that does not see the waker of L1 is seen by L1, and with it T1 by L2.
//!
//! Tests: below, and `tests/signal.rs`.

use nezumi_prim::sync::Mutex;
use nezumi_wake::AtomicWaker;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

/// One signal.
pub(super) struct Line {
    /// How often it was told.
    told: AtomicU64,
    listeners: Mutex<Vec<Weak<Ear>>>,
}

/// Where one listener waits.
#[derive(Debug, Default)]
struct Ear(AtomicWaker);

/// One who listens to one signal.
#[derive(Debug)]
pub(crate) struct Listener {
    line: &'static Line,
    /// How often the signal had been told when we last looked.
    seen: u64,
    ear: Arc<Ear>,
}

impl Line {
    pub(super) const fn new() -> Self {
        Self { told: AtomicU64::new(0), listeners: Mutex::new(Vec::new()) }
    }

    /// One more who listens. What was told before is not heard.
    pub(super) fn listen(&'static self) -> Listener {
        let ear = Arc::new(Ear::default());
        {
            let mut listeners = self.listeners.lock();
            listeners.retain(|ear| ear.strong_count() > 0);
            listeners.push(Arc::downgrade(&ear));
        }
        Listener { line: self, seen: self.told.load(Ordering::Acquire), ear }
    }

    /// The signal came. Wakes under no lock, and says whether there was anybody to hear it.
    pub(super) fn tell(&self) -> bool {
        // Release: pairs with the Acquire in `Listener::poll_heard`; AtomicWaker orders the rest.
        self.told.fetch_add(1, Ordering::Release);
        let listeners = self.listeners.lock().clone();
        let mut heard = false;
        for ear in listeners.iter().filter_map(Weak::upgrade) {
            heard = true;
            // Its waker is the program's: the panic of one must not keep the others from hearing. It has been reported.
            nezumi_wake::contain(|| ear.0.wake());
        }
        heard
    }
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("told", &self.told).finish_non_exhaustive()
    }
}

impl Listener {
    /// Polls for the signal, at the cost of one unit of the task's budget.
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let coop = ready!(nezumi_wake::coop::poll_proceed(cx));
        ready!(self.poll_heard(cx));
        coop.made_progress();
        Poll::Ready(Some(()))
    }

    /// As [`Listener::poll_recv`], for the runtime itself.
    pub(crate) fn poll_heard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.ear.0.register(cx.waker());
        let told = self.line.told.load(Ordering::Acquire);
        if std::mem::replace(&mut self.seen, told) == told { Poll::Pending } else { Poll::Ready(()) }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::{Wake, Waker};

    fn line() -> &'static Line {
        Box::leak(Box::new(Line::new()))
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn all_listeners_hear_once_what_was_told_twice() {
        let line = line();
        let mut listeners = [line.listen(), line.listen()];
        let wakes = Arc::new(Count::default());
        let waker = Waker::from(wakes.clone());
        let mut cx = Context::from_waker(&waker);
        for listener in &mut listeners {
            assert!(listener.poll_recv(&mut cx).is_pending());
        }
        assert!(line.tell() && line.tell());
        assert_eq!(wakes.0.load(Ordering::SeqCst), 2);
        for listener in &mut listeners {
            assert_eq!(listener.poll_recv(&mut cx), Poll::Ready(Some(())));
            assert!(listener.poll_recv(&mut cx).is_pending());
        }
    }

    struct PanicOnWake;

    impl Wake for PanicOnWake {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, on purpose");
        }
    }

    #[test]
    fn a_listener_whose_waker_panics_keeps_nobody_from_hearing() {
        let line = line();
        let mut listeners = [line.listen(), line.listen(), line.listen()];
        let wakes = Arc::new(Count::default());
        let (bad, good) = (Waker::from(Arc::new(PanicOnWake)), Waker::from(wakes.clone()));
        for (listener, waker) in listeners.iter_mut().zip([&bad, &good, &good]) {
            assert!(listener.poll_heard(&mut Context::from_waker(waker)).is_pending());
        }
        assert!(line.tell());
        assert_eq!(wakes.0.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn what_was_told_before_is_not_heard() {
        let line = line();
        line.tell();
        assert!(line.listen().poll_heard(&mut Context::from_waker(Waker::noop())).is_pending());
    }

    #[test]
    fn a_signal_that_nobody_hears_is_known_as_such() {
        let line = line();
        assert!(!line.tell());
        let listener = line.listen();
        assert!(line.tell());
        drop(listener);
        assert!(!line.tell());
    }
}
