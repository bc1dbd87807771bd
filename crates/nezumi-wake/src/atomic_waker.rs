//! One waker, stored by one side, taken by any.
//!
//! Used wherever exactly one task waits for something: the readiness of a socket in one direction, a timer, the receiving
//! end of a channel. Knows nothing of what is waited for.
//!
//! Promise: if `wake` comes after the end of a `register`, that waker is woken; if it comes during one, the registering
//! side wakes it itself. User code (clone, drop, wake of a waker) never runs while the cell is held in a way that
//! would make the other side wait: there is no lock, each side backs off.
//!
//! ```text
//! registrar                              waker
//! R1 CAS IDLE -> REGISTERING  (acquire)  W1 fetch_or WAKING  (acq-rel)
//! R2 write the cell                      W2 if it was IDLE: take the cell
//! R3 CAS REGISTERING -> IDLE  (release)  W3 fetch_and !WAKING (release)
//!    fails if WAKING came: take the
//!    waker back, swap IDLE (acq-rel),
//!    wake it
//! ```
//!
//! The cell belongs to whoever moved the state away from IDLE. W1 that finds REGISTERING leaves the bit: R3 fails and
//! the registrar wakes. R1 that finds WAKING cannot write: it wakes its own waker, which makes its task look again.
//! Every `fetch_or`/CAS is a read-modify-write of one word, so "the event" written before W1 is visible to a registrar
//! whose R3 (or failed R1) comes after: it may look at its condition and rely on what it sees.
//!
//! Tests: `register_then_wake`, `a_panicking_clone_leaves_the_cell_usable`; loom: `no_wake_is_lost`, `two_wakers`,
//! `registered_again_while_taken`, `who_is_woken_by_his_own_registration_sees_why`.

use crate::{FirstPanic, wake_and_drop};
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use std::fmt;
use std::task::Waker;

const IDLE: usize = 0;
const REGISTERING: usize = 0b01;
const WAKING: usize = 0b10;

/// A place for one waker, shared between the task that waits and whoever wakes it.
pub struct AtomicWaker {
    state: AtomicUsize,
    cell: UnsafeCell<Option<Waker>>,
}

// SAFETY: the cell is touched only by the side that moved `state` away from IDLE (module header), and a `Waker` may be
// moved and used from any thread.
unsafe impl Send for AtomicWaker {}
// SAFETY: as above.
unsafe impl Sync for AtomicWaker {}

impl Default for AtomicWaker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AtomicWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtomicWaker")
    }
}

impl AtomicWaker {
    /// An empty place.
    #[must_use]
    pub fn new() -> Self {
        Self { state: AtomicUsize::new(IDLE), cell: UnsafeCell::new(None) }
    }

    /// Stores a clone of `waker`, unless the one stored would wake the same task.
    ///
    /// Look at the condition after this, not only before. If two registrations overlap, which the caller should prevent,
    /// one of the two tasks is woken at once.
    pub fn register(&self, waker: &Waker) {
        match self.state.compare_exchange(IDLE, REGISTERING, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => self.store(waker),
            // Somebody is waking right now, perhaps with the waker of before: have the task look again. Or another
            // registration is under way: the one that gave way must not be lost.
            Err(_) => {
                waker.wake_by_ref();
                nezumi_prim::hint::spin_loop();
            }
        }
    }

    fn store(&self, waker: &Waker) {
        // SAFETY: the CAS to REGISTERING gave us the cell; `wake` leaves it alone until we are IDLE again.
        let kept = self.cell.with(|cell| unsafe { (*cell).as_ref().is_some_and(|old| old.will_wake(waker)) });
        let mut old = None;
        let mut panics = FirstPanic::new();
        if !kept {
            let mut new = None;
            // A clone is user code and may panic: the state must be given back all the same.
            panics.run(|| new = Some(waker.clone()));
            if let Some(new) = new {
                // SAFETY: as above.
                self.cell.with_mut(|cell| old = unsafe { (*cell).replace(new) });
            }
        }
        // Release: publishes the cell to the Acquire half of `take`'s fetch_or. No Acquire: what it finds is our own REGISTERING,
        // nobody came; and if somebody did, the swap below acquires.
        let woken = match self.state.compare_exchange(REGISTERING, IDLE, Ordering::Release, Ordering::Relaxed)
        {
            Ok(_) => None,
            Err(_) => {
                // WAKING came and left the cell to us.
                // SAFETY: the state is REGISTERING | WAKING: nobody else touches the cell until we set IDLE.
                let waker = self.cell.with_mut(|cell| unsafe { (*cell).take() });
                // Release: gives the cell to whoever comes next. Acquire: pairs with the Release half of `take`'s fetch_or, so that what the
                // waking sides wrote is visible to the task we wake.
                self.state.swap(IDLE, Ordering::AcqRel);
                waker
            }
        };
        panics.run(|| wake_and_drop(woken, old));
        panics.resume();
    }

    /// Wakes the stored waker, if there is one, and leaves the place empty.
    pub fn wake(&self) {
        if let Some(waker) = self.take() {
            waker.wake();
        }
    }

    /// Takes the stored waker without waking it, to be woken outside a lock.
    ///
    /// While a registration is under way it returns `None`, and the registering side wakes its task itself.
    #[must_use]
    pub fn take(&self) -> Option<Waker> {
        // AcqRel: publishes the event to the registrar (its R1 or R3), and takes over the cell it published.
        if self.state.fetch_or(WAKING, Ordering::AcqRel) != IDLE {
            return None;
        }
        // SAFETY: we moved the state away from IDLE, so the cell is ours until the fetch_and.
        let waker = self.cell.with_mut(|cell| unsafe { (*cell).take() });
        // Release: gives the emptied cell to the next registrar's Acquire.
        self.state.fetch_and(!WAKING, Ordering::Release);
        waker
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::AtomicWaker;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn register_then_wake() {
        let count = Arc::new(Count::default());
        let place = AtomicWaker::new();
        place.wake();
        let waker = Waker::from(count.clone());
        place.register(&waker);
        place.register(&waker);
        drop(waker);
        assert_eq!(Arc::strong_count(&count), 2, "the same waker is stored once");
        place.wake();
        place.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(Arc::strong_count(&count), 1);
    }

    #[test]
    fn a_panicking_clone_leaves_the_cell_usable() {
        const BAD: RawWakerVTable = RawWakerVTable::new(|_| panic!("clone"), |_| (), |_| (), |_| ());
        // SAFETY: the vtable's functions ignore the pointer.
        let bad = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &BAD)) };
        let count = Arc::new(Count::default());
        let place = AtomicWaker::new();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| place.register(&bad))).unwrap_err();
        place.register(&Waker::from(count.clone()));
        place.wake();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::AtomicWaker;
    use loom::future::block_on;
    use nezumi_prim::cell::UnsafeCell;
    use nezumi_prim::sync::Arc;
    use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
    use std::future::poll_fn;
    use std::task::Poll;

    fn check(wakers: usize) {
        loom::model(move || {
            let shared = Arc::new((AtomicWaker::new(), AtomicUsize::new(0)));
            let threads: Vec<_> = (0..wakers)
                .map(|_| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        shared.1.fetch_add(1, Ordering::Relaxed);
                        shared.0.wake();
                    })
                })
                .collect();
            block_on(poll_fn(|cx| {
                shared.0.register(cx.waker());
                if shared.1.load(Ordering::Relaxed) == wakers { Poll::Ready(()) } else { Poll::Pending }
            }));
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }

    #[test]
    fn no_wake_is_lost() {
        check(1);
    }

    #[test]
    fn two_wakers() {
        check(2);
    }

    /// A waker that counts. The count is of this module's atomics, so that who sees it sees what came before.
    struct Count(Arc<AtomicUsize>);

    impl std::task::Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::Release);
        }
    }

    fn counting(count: &Arc<AtomicUsize>) -> std::task::Waker {
        std::task::Waker::from(std::sync::Arc::new(Count(count.clone())))
    }

    /// A task that looks again without having been woken takes over a cell that somebody is just emptying.
    #[test]
    fn registered_again_while_taken() {
        loom::model(|| {
            let place = Arc::new(AtomicWaker::new());
            let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
            place.register(&counting(&counts[0]));
            let waking = {
                let place = place.clone();
                loom::thread::spawn(move || place.wake())
            };
            place.register(&counting(&counts[1]));
            waking.join().unwrap();
            place.wake();
            let counts = counts.map(|count| count.load(Ordering::Acquire));
            assert!(counts == [0, 1] || counts == [1, 1], "the second is woken in any case: {counts:?}");
        });
    }

    /// Not an atomic: after a `spin_loop` loom shows the newest value of those, whatever the order.
    struct Event(UnsafeCell<bool>);

    // SAFETY: loom watches over it.
    unsafe impl Sync for Event {}
    // SAFETY: nothing in it belongs to a thread.
    unsafe impl Send for Event {}

    /// Whether the registration was refused or was met half way: the task that it wakes sees what the waking side wrote.
    #[test]
    fn who_is_woken_by_his_own_registration_sees_why() {
        loom::model(|| {
            let shared = Arc::new((AtomicWaker::new(), Event(UnsafeCell::new(false))));
            let count = Arc::new(AtomicUsize::new(0));
            let waker = counting(&count);
            let waking = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    // SAFETY: written once; who reads it when is what the model is about.
                    shared.1.0.with_mut(|event| unsafe { *event = true });
                    shared.0.wake();
                })
            };
            shared.0.register(&waker);
            if count.load(Ordering::Acquire) > 0 {
                // SAFETY: as above.
                assert!(shared.1.0.with(|event| unsafe { *event }));
            }
            waking.join().unwrap();
        });
    }
}
