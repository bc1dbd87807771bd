//! Where a panic of the program's code ends.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// Runs code that is not ours, and says whether it panicked. That has been reported by the panic hook by then.
pub fn contain(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => false,
        Err(payload) => {
            drop_payload(payload);
            true
        }
    }
}

/// Drops what a panic carried. That is the program's code, too: where it panics in turn, what that one carries is leaked, since there is no
/// knowing how long it would go on.
pub fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
}

/// Several pieces of the program's code, each of which is run whatever the others do. The first panic goes on at the end.
///
/// Two that panic in one scope would be a panic in a destructor while the other unwinds, which ends the process.
#[derive(Debug, Default)]
pub struct FirstPanic(Option<Box<dyn Any + Send>>);

impl FirstPanic {
    /// None has panicked.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Runs one.
    pub fn run(&mut self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            match &self.0 {
                None => self.0 = Some(payload),
                Some(_) => drop_payload(payload),
            }
        }
    }

    /// Lets the first panic go on, if there was one, unless this thread is unwinding already.
    pub fn resume(mut self) {
        if !std::thread::panicking() {
            if let Some(payload) = self.0.take() {
                resume_unwind(payload);
            }
        }
    }
}

impl Drop for FirstPanic {
    fn drop(&mut self) {
        if let Some(payload) = self.0.take() {
            drop_payload(payload);
        }
    }
}

/// Wakes the one and drops the other, whatever either does.
///
/// # Panics
///
/// If one of them does; after both.
#[inline]
pub fn wake_and_drop(woken: Option<Waker>, dropped: Option<Waker>) {
    let Some(dropped) = dropped else {
        if let Some(woken) = woken {
            woken.wake();
        }
        return;
    };
    let mut panics = FirstPanic::new();
    if let Some(woken) = woken {
        panics.run(|| woken.wake());
    }
    panics.run(|| drop(dropped));
    panics.resume();
}

/// Drops all of these, whatever each does.
///
/// # Panics
///
/// If one of them does; after all were dropped.
#[inline]
pub fn drop_each(wakers: impl IntoIterator<Item = Option<Waker>>) {
    let mut wakers = wakers.into_iter().flatten();
    // As a rule there is none.
    if let Some(first) = wakers.next() {
        drop_first_and_each(first, wakers);
    }
}

#[inline(never)]
fn drop_first_and_each(first: Waker, others: impl Iterator<Item = Waker>) {
    let mut panics = FirstPanic::new();
    panics.run(|| drop(first));
    for waker in others {
        panics.run(|| drop(waker));
    }
    panics.resume();
}

#[cfg(test)]
mod tests {
    use super::{FirstPanic, contain, drop_each, wake_and_drop};
    use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
    use std::sync::Arc;
    use std::task::{Wake, Waker};

    /// Panics when dropped, with another of its kind.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }

    #[test]
    fn a_payload_that_panics_goes_no_further() {
        assert!(!contain(|| ()));
        assert!(contain(|| panic_any(Bomb)));
    }

    #[test]
    fn the_first_of_several_panics_goes_on_after_the_last() {
        let mut run = 0;
        let payload = catch_unwind(AssertUnwindSafe(|| {
            let mut panics = FirstPanic::new();
            for number in 0..3 {
                panics.run(|| {
                    run += 1;
                    if number == 0 { panic_any("the first") } else { panic_any(Bomb) }
                });
            }
            panics.resume();
        }));
        assert_eq!((run, payload.unwrap_err().downcast_ref()), (3, Some(&"the first")));
        let mut panics = FirstPanic::new();
        panics.run(|| panic_any(Bomb));
        drop(panics);
    }

    struct PanicOnDrop {
        _alive: Arc<()>,
    }

    impl Wake for PanicOnDrop {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("a waker whose drop panics, on purpose");
        }
    }

    #[test]
    fn two_wakers_whose_drops_panic_are_one_panic() {
        let alive = Arc::new(());
        let waker = || Some(Waker::from(Arc::new(PanicOnDrop { _alive: alive.clone() })));
        assert!(contain(|| wake_and_drop(waker(), waker())));
        assert!(contain(|| wake_and_drop(None, waker())));
        assert!(contain(|| drop_each([waker(), None, waker(), waker()])));
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
