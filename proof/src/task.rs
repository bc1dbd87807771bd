//! Tasks that the ledger knows of.

use crate::ledger::{self, Entry, OutputEntry};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

pin_project! {
    /// A future that is entered in the ledger for as long as it lives.
    #[derive(Debug)]
    pub(crate) struct Tracked<F> {
        #[pin]
        future: F,
        // Dropped after the future, also where the drop of that panics.
        entry: Entry,
        wraps_wakers: bool,
    }
}

/// The output of such a future, which is entered for as long as it lives, too.
#[derive(Debug)]
pub(crate) struct Output<T> {
    value: T,
    _entry: OutputEntry,
}

impl<T: Copy> Output<T> {
    pub(crate) fn get(&self) -> T {
        self.value
    }
}

impl<T> Output<T> {
    pub(crate) fn into_value(self) -> T {
        self.value
    }
}

/// One that must complete, or panic.
pub(crate) fn tracked<F: Future>(future: F) -> Tracked<F> {
    enter(future, false)
}

/// One that may be dropped before that.
pub(crate) fn cancellable<F: Future>(future: F) -> Tracked<F> {
    enter(future, true)
}

fn enter<F: Future>(future: F, is_cancellable: bool) -> Tracked<F> {
    // One in four is polled by wakers that are not the task's own, another one in each poll.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let wraps_wakers = COUNT.fetch_add(1, Ordering::Relaxed) % 4 == 0;
    Tracked { future, entry: Entry::open(is_cancellable), wraps_wakers }
}

impl<F: Future> Future for Tracked<F> {
    type Output = Output<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        struct Polling<'a>(&'a Entry);

        impl Drop for Polling<'_> {
            fn drop(&mut self) {
                self.0.poll_ends(std::thread::panicking());
            }
        }

        let this = self.project();
        this.entry.poll_begins();
        let _polling = Polling(this.entry);
        let poll = if *this.wraps_wakers {
            let waker = Waker::from(Arc::new(Wrapped::new(cx.waker())));
            this.future.poll(&mut Context::from_waker(&waker))
        } else {
            this.future.poll(cx)
        };
        poll.map(|value| Output { value, _entry: this.entry.completes() })
    }
}

/// A waker of ours around that of the task. The ledger counts those that are alive.
struct Wrapped(Waker);

impl Wrapped {
    fn new(waker: &Waker) -> Self {
        ledger::count_waker(1);
        Wrapped(waker.clone())
    }
}

impl Wake for Wrapped {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        ledger::count_waker(-1);
    }
}
