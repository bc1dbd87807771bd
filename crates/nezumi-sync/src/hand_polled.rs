//! What the tests of the waiting primitives share: tasks that are polled by hand, and wakers that misbehave.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

/// A future on the heap, the waker it is polled with, and how often that was woken.
pub(crate) struct Task<F> {
    future: Option<Pin<Box<F>>>,
    wakes: Arc<Wakes>,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn task<F: Future>(future: F) -> Task<F> {
    Task { future: Some(Box::pin(future)), wakes: Arc::default() }
}

impl<F: Future> Task<F> {
    pub(crate) fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(self.wakes.clone());
        self.poll_with(&waker)
    }

    pub(crate) fn poll_with(&mut self, waker: &Waker) -> Poll<F::Output> {
        self.pin().poll(&mut Context::from_waker(waker))
    }

    pub(crate) fn pin(&mut self) -> Pin<&mut F> {
        self.future.as_mut().expect("the future is still there").as_mut()
    }

    #[track_caller]
    pub(crate) fn assert_pending(&mut self) {
        assert!(self.poll().is_pending(), "expected to wait");
    }

    #[track_caller]
    pub(crate) fn assert_ready(&mut self) -> F::Output {
        match self.poll() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("expected not to wait"),
        }
    }

    pub(crate) fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::Relaxed)
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.wakes() > 0
    }

    /// How many wakers of this task are alive.
    pub(crate) fn wakers(&self) -> usize {
        Arc::strong_count(&self.wakes) - 1
    }

    pub(crate) fn drop_future(&mut self) {
        self.future = None;
    }
}

/// A waker that runs `f` whenever it is cloned, woken or dropped: what it calls must not be locked then.
pub(crate) fn reentrant_waker(f: impl Fn() + Send + 'static) -> Waker {
    type Callback = Mutex<Box<dyn Fn() + Send>>;

    fn call(data: *const ()) {
        // SAFETY: `data` came out of `Arc::into_raw` and its count is owned by the waker at hand.
        let callback = unsafe { &*data.cast::<Callback>() };
        // A callback may drop or wake a waker of the same kind: it is then not run again.
        if let Ok(callback) = callback.try_lock() {
            callback();
        }
    }

    const VTABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            call(data);
            // SAFETY: as in `call`.
            unsafe { Arc::increment_strong_count(data.cast::<Callback>()) };
            RawWaker::new(data, &VTABLE)
        },
        |data| {
            call(data);
            // SAFETY: waking by value gives this waker's count away.
            drop(unsafe { Arc::from_raw(data.cast::<Callback>()) });
        },
        call,
        |data| {
            call(data);
            // SAFETY: dropping gives this waker's count away.
            drop(unsafe { Arc::from_raw(data.cast::<Callback>()) });
        },
    );

    let data: Arc<Callback> = Arc::new(Mutex::new(Box::new(f)));
    // SAFETY: the vtable's functions keep the count of the `Arc` as the contract of a raw waker asks.
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(data).cast(), &VTABLE)) }
}

/// A waker that panics when woken.
pub(crate) fn panicking_waker() -> Waker {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }

    Arc::new(Panics).into()
}

/// Whether `f` panics, and if so with a text that contains `phrase`.
#[track_caller]
pub(crate) fn assert_panics(phrase: &str, f: impl FnOnce()) {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).expect_err("expected a panic");
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .expect("a panic with a text");
    assert!(text.contains(phrase), "{text:?} should contain {phrase:?}");
}
