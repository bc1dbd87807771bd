use crate::{FirstPanic, contain};
use std::mem::MaybeUninit;
use std::task::Waker;

const CAPACITY: usize = 32;

/// Wakers collected under a lock, to be woken once the lock is released.
///
/// A fixed room for 32, so that it lives on the stack: who has more to wake releases the lock, wakes, and goes on. A
/// waker that panics does not keep the others from being woken: the panic goes on after the last of them.
pub struct WakeList {
    wakers: [MaybeUninit<Waker>; CAPACITY],
    len: usize,
}

impl Default for WakeList {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for WakeList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WakeList").field("len", &self.len).finish()
    }
}

impl WakeList {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { wakers: [const { MaybeUninit::uninit() }; CAPACITY], len: 0 }
    }

    /// Whether one more fits.
    #[must_use]
    pub fn can_push(&self) -> bool {
        self.len < CAPACITY
    }

    /// Whether there is nothing to wake.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a waker.
    ///
    /// # Panics
    ///
    /// When the list is full; ask [`can_push`](Self::can_push) first.
    pub fn push(&mut self, waker: Waker) {
        assert!(self.can_push(), "wake list is full: wake_all must come first");
        self.wakers[self.len].write(waker);
        self.len += 1;
    }

    /// Wakes them all and leaves the list empty. Call it under no lock.
    pub fn wake_all(&mut self) {
        struct Rest<'a> {
            wakers: &'a mut [MaybeUninit<Waker>],
            next: usize,
        }

        impl Rest<'_> {
            fn wake(&mut self) {
                while self.next < self.wakers.len() {
                    // SAFETY: `push` wrote the first `len` places, which `wakers` is; `next` only grows, so each is read
                    // out once.
                    let waker = unsafe { self.wakers[self.next].assume_init_read() };
                    self.next += 1;
                    waker.wake();
                }
            }
        }

        impl Drop for Rest<'_> {
            // Only reached with places left when a waker panicked.
            fn drop(&mut self) {
                while self.next < self.wakers.len() {
                    contain(|| self.wake());
                }
            }
        }

        let len = std::mem::take(&mut self.len);
        Rest { wakers: &mut self.wakers[..len], next: 0 }.wake();
    }
}

impl Drop for WakeList {
    fn drop(&mut self) {
        let mut panics = FirstPanic::new();
        for waker in &mut self.wakers[..self.len] {
            // SAFETY: `push` wrote the first `len` places and `wake_all` sets `len` to 0 before it reads any.
            panics.run(|| unsafe { waker.assume_init_drop() });
        }
        panics.resume();
    }
}

/// Wakes all of these, in their order, and leaves their room. Call it under no lock, and no borrow.
///
/// # Panics
///
/// If a waker does; after all the others were woken.
pub fn wake_each(wakers: &mut Vec<Waker>) {
    struct Rest<'a>(std::vec::Drain<'a, Waker>);

    impl Drop for Rest<'_> {
        // Only reached with wakers left when one panicked.
        fn drop(&mut self) {
            for waker in &mut self.0 {
                contain(|| waker.wake());
            }
        }
    }

    let mut rest = Rest(wakers.drain(..));
    for waker in &mut rest.0 {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::{WakeList, wake_each};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    struct Count {
        wakes: AtomicUsize,
        panics: bool,
    }

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.wakes.fetch_add(1, Ordering::Relaxed);
            assert!(!self.panics, "a waker that panics");
        }
    }

    #[test]
    fn wakes_each_once_and_drops_what_was_not_woken() {
        let count = Arc::new(Count::default());
        let mut list = WakeList::new();
        while list.can_push() {
            list.push(Waker::from(count.clone()));
        }
        list.wake_all();
        assert_eq!(count.wakes.load(Ordering::Relaxed), 32);
        list.push(Waker::from(count.clone()));
        drop(list);
        assert_eq!(Arc::strong_count(&count), 1);
        assert_eq!(count.wakes.load(Ordering::Relaxed), 32);
    }

    #[test]
    fn a_panicking_waker_does_not_keep_the_rest_asleep() {
        let (bad, good) = (Arc::new(Count { panics: true, ..Count::default() }), Arc::new(Count::default()));
        let mut list = WakeList::new();
        for _ in 0..3 {
            list.push(Waker::from(bad.clone()));
            list.push(Waker::from(good.clone()));
        }
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| list.wake_all())).unwrap_err();
        assert_eq!(good.wakes.load(Ordering::Relaxed), 3);
        assert_eq!((Arc::strong_count(&good), Arc::strong_count(&bad)), (1, 1));
    }

    #[test]
    fn a_panicking_waker_in_a_vec_does_not_keep_the_rest_asleep() {
        let (bad, good) = (Arc::new(Count { panics: true, ..Count::default() }), Arc::new(Count::default()));
        let mut wakers: Vec<_> = [&bad, &good, &bad, &good].map(|count| Waker::from(count.clone())).into();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wake_each(&mut wakers))).unwrap_err();
        assert_eq!(good.wakes.load(Ordering::Relaxed), 2);
        assert_eq!((Arc::strong_count(&good), Arc::strong_count(&bad)), (1, 1));
        assert!(wakers.is_empty() && wakers.capacity() >= 4);
    }
}
