//! What the tests of the channels share: wakers that count, and wakers and values that misbehave.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often it was woken, and how many clones of its waker are alive.
#[derive(Clone, Default)]
pub(crate) struct Task(Arc<Count>);

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Task {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn poll<F: Future + ?Sized>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        self.enter(|cx| future.poll(cx))
    }

    pub(crate) fn enter<R>(&self, f: impl FnOnce(&mut Context<'_>) -> R) -> R {
        let waker = Waker::from(Arc::clone(&self.0));
        f(&mut Context::from_waker(&waker))
    }

    pub(crate) fn wakes(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    /// How many clones of the waker are kept somewhere.
    pub(crate) fn wakers_alive(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// Polls once, with a waker that does nothing.
pub(crate) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A waker that runs a closure when it is woken, and again when it is dropped.
pub(crate) struct OnWake<F: Fn() + Send + Sync + 'static>(pub(crate) F);

impl<F: Fn() + Send + Sync + 'static> Wake for OnWake<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

impl<F: Fn() + Send + Sync + 'static> Drop for OnWake<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<F: Fn() + Send + Sync + 'static> OnWake<F> {
    pub(crate) fn waker(f: F) -> Waker {
        Waker::from(Arc::new(Self(f)))
    }
}

struct PanicOnDrop;

impl Wake for PanicOnDrop {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        panic!("a waker whose drop panics, on purpose");
    }
}

/// Polls `future` by a waker of which the last clone panics when it is dropped. Only what the future keeps is left of it.
pub(crate) fn poll_by_a_waker_that_panics_when_dropped<F: Future + ?Sized>(
    future: Pin<&mut F>,
) -> Poll<F::Output> {
    let waker = Waker::from(Arc::new(PanicOnDrop));
    let polled = future.poll(&mut Context::from_waker(&waker));
    // If nothing kept a clone, it goes here.
    panics(|| drop(waker));
    polled
}

/// What a panic carries that panics when it is dropped, with another of its kind.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any(Bomb);
    }
}

struct BombWhenWoken;

impl Wake for BombWhenWoken {
    fn wake(self: Arc<Self>) {
        std::panic::panic_any(Bomb);
    }
}

/// A waker that panics with a bomb.
pub(crate) fn waker_with_a_bomb() -> Waker {
    Waker::from(Arc::new(BombWhenWoken))
}

/// Runs `f`, which panics with a bomb, and leaves that where it is.
pub(crate) fn throws_a_bomb<R>(f: impl FnOnce() -> R) -> bool {
    no_backtraces_under_miri();
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
        Ok(_) => false,
        Err(payload) => {
            let is_bomb = payload.is::<Bomb>();
            std::mem::forget(payload);
            is_bomb
        }
    }
}

/// Counts the values that are alive and those that were dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Census {
    alive: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Census {
    pub(crate) fn value(&self, id: usize) -> Counted {
        self.alive.fetch_add(1, Ordering::SeqCst);
        Counted { id, census: self.clone(), panics: false }
    }

    /// A value whose destructor panics, after it was counted.
    pub(crate) fn bomb(&self, id: usize) -> Counted {
        let mut value = self.value(id);
        value.panics = true;
        value
    }

    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) id: usize,
    census: Census,
    panics: bool,
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        let mut value = self.census.value(self.id);
        value.panics = self.panics;
        value
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.census.alive.fetch_sub(1, Ordering::SeqCst);
        self.census.dropped.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics || std::thread::panicking(), "a destructor that panics");
    }
}

/// Runs `f` and says whether it panicked.
pub(crate) fn panics<R>(f: impl FnOnce() -> R) -> bool {
    no_backtraces_under_miri();
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err()
}

/// Of a panic that comes while another one unwinds, the standard library writes the whole backtrace, wanted or not. That takes Miri seconds.
fn no_backtraces_under_miri() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    if cfg!(miri) {
        ONCE.call_once(|| std::panic::set_hook(Box::new(|info| eprintln!("{info}"))));
    }
}

/// `"Send Sync Unpin"`, or as much of it as holds for a type.
macro_rules! auto_traits {
    ($type:ty) => {{
        use std::marker::PhantomData;
        struct Probe<T>(PhantomData<T>);
        // An inherent constant wins over a trait's, where its bounds hold.
        #[allow(dead_code)]
        impl<T: Send> Probe<T> {
            const SEND: &'static str = "Send ";
        }
        #[allow(dead_code)]
        impl<T: Sync> Probe<T> {
            const SYNC: &'static str = "Sync ";
        }
        #[allow(dead_code)]
        impl<T: Unpin> Probe<T> {
            const UNPIN: &'static str = "Unpin";
        }
        #[allow(dead_code)]
        trait Otherwise {
            const SEND: &'static str = "";
            const SYNC: &'static str = "";
            const UNPIN: &'static str = "";
        }
        impl<T> Otherwise for Probe<T> {}
        [Probe::<$type>::SEND, Probe::<$type>::SYNC, Probe::<$type>::UNPIN].concat()
    }};
}
pub(crate) use auto_traits;

/// Neither `Send` nor `Sync`.
pub(crate) type Nn = std::rc::Rc<u8>;
/// `Send`, not `Sync`.
pub(crate) type Yn = std::cell::Cell<u8>;
/// `Send` and `Sync`.
pub(crate) type Yy = u8;
