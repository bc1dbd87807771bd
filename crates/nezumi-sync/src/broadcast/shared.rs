//! What the ends of a broadcast channel share: the ring, its tail, and who waits.

use super::slot::{MAX_READERS, Slot};
use crate::waiters::{Guarded, Waiter};
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::AtomicUsize;
use nezumi_queue::list::LinkedList;
use nezumi_wake::FirstPanic;
use std::panic::{RefUnwindSafe, UnwindSafe};

pub(super) struct Shared<T> {
    ring: Box<[Slot<T>]>,
    pub(super) tail: Mutex<Tail>,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
    /// Senders that wait for the last receiver to go. Taken before the tail's lock, if both are.
    pub(super) closing: Mutex<LinkedList<Waiter>>,
}

// A panic of user code (a clone, a destructor, a waker) leaves everything here as if it had returned.
impl<T> UnwindSafe for Shared<T> {}
impl<T> RefUnwindSafe for Shared<T> {}

pub(super) struct Tail {
    /// Where the next value goes. It stands in the ring until `capacity` more have come.
    pub(super) position: u64,
    pub(super) receivers: usize,
    pub(super) senders_gone: bool,
    waiters: LinkedList<Waiter>,
}

impl Guarded for Tail {
    fn waiters(&mut self) -> &mut LinkedList<Waiter> {
        &mut self.waiters
    }
}

impl Tail {
    /// Counts one receiver more, and returns where it begins.
    #[track_caller]
    pub(super) fn join(&mut self) -> u64 {
        assert!(self.receivers < MAX_READERS, "max receivers");
        self.receivers += 1;
        self.position
    }
}

/// What a receiver that did not find its value finds out under the tail's lock.
pub(super) enum Standing {
    /// The value is there now.
    Ahead,
    /// So many values were overwritten.
    Lagged(u64),
    /// There is no value, and none will come.
    Closed,
}

impl Standing {
    pub(super) fn is_ahead(&self) -> bool {
        matches!(self, Self::Ahead)
    }
}

impl<T> Shared<T> {
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: usize) -> Self {
        Self::starting_at(0, capacity, receivers)
    }

    #[track_caller]
    pub(super) fn starting_at(start: u64, capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`: use a smaller one"
        );
        let capacity = capacity.next_power_of_two();
        // As if the lap before had been read by all: slot `index` holds the position of that lap that belongs there.
        let lap = start.wrapping_sub(capacity as u64);
        let ring = (0..capacity as u64).map(|index| {
            let after = index.wrapping_sub(lap) & (capacity as u64 - 1);
            Slot::new(lap.wrapping_add(after))
        });
        let waiters = LinkedList::new();
        Self {
            ring: ring.collect(),
            tail: Mutex::new(Tail { position: start, receivers, senders_gone: false, waiters }),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            closing: Mutex::default(),
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.ring.len() as u64
    }

    #[inline]
    pub(super) fn slot(&self, position: u64) -> &Slot<T> {
        // The length is a power of two, so this is the remainder.
        &self.ring[position as usize & (self.ring.len() - 1)]
    }

    /// How many values some receiver has not read yet.
    pub(super) fn len(&self) -> usize {
        let tail = self.tail.lock();
        // Receivers read in order, so the values in the ring, oldest first, are read up to a point and unread from there on.
        let oldest = tail.position.wrapping_sub(self.capacity());
        let (mut read, mut unread) = (0, self.ring.len());
        while read < unread {
            let middle = read.midpoint(unread);
            if self.slot(oldest.wrapping_add(middle as u64)).is_unread() {
                unread = middle;
            } else {
                read = middle + 1;
            }
        }
        self.ring.len() - read
    }

    pub(super) fn is_empty(&self) -> bool {
        let tail = self.tail.lock();
        !self.slot(tail.position.wrapping_sub(1)).is_unread()
    }

    /// Where the receiver whose next value is `next` stands; `None` if there is nothing for it yet.
    pub(super) fn standing(&self, tail: &Tail, next: &mut u64) -> Option<Standing> {
        let behind = tail.position.wrapping_sub(*next);
        if behind == 0 {
            return tail.senders_gone.then_some(Standing::Closed);
        }
        match behind.checked_sub(self.capacity()) {
            None | Some(0) => Some(Standing::Ahead),
            Some(missed) => {
                *next = next.wrapping_add(missed);
                Some(Standing::Lagged(missed))
            }
        }
    }

    /// Counts a receiver that goes out of every value from `next` to `end`. Their destructors may panic.
    pub(super) fn skip(&self, next: u64, end: u64, panics: &mut FirstPanic) {
        let behind = end.wrapping_sub(next).min(self.capacity());
        for back in (1..=behind).rev() {
            let position = end.wrapping_sub(back);
            if let Some(value) = self.slot(position).skip(position) {
                panics.run(|| drop(value));
            }
        }
    }
}
