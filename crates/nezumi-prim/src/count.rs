//! How often threads write where others write, too.
//!
//! With `--cfg nezumi_count` every atomic of this crate counts its read-modify-writes, and remembers which thread wrote to its cache line last. A
//! read-modify-write of a line whose last writer was another thread is *shared*: the line has had to come from another core. On two cores that hardly
//! shows as time; on sixty it is what a scheduler's time goes into. Locks and fences are counted besides.
//!
//! Not counted: what the standard library does inside of `Arc` and of its locks. Lines are told apart by a table of a million places, so two that
//! are 64 MiB apart are taken for one.
//!
//! Tests: `a_line_is_shared_when_another_wrote_to_it`, `all_that_modifies_counts`.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut, Sub};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

const LINE: usize = 64;
const PLACES: usize = 1 << 20;

/// The number of the thread that wrote last, for each line.
static WRITERS: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];
static THREADS: AtomicU32 = AtomicU32::new(1);

static MODIFIED: AtomicU64 = AtomicU64::new(0);
static SHARED: AtomicU64 = AtomicU64::new(0);
static LOCKED: AtomicU64 = AtomicU64::new(0);
static FENCED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// What has been counted so far, on all threads, or (as a difference) meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Read-modify-writes, those that failed included.
    pub modified: u64,
    /// Those of them whose line another thread wrote to last.
    pub shared: u64,
    /// Locks taken, or tried.
    pub locked: u64,
    /// Sequentially consistent fences.
    pub fenced: u64,
}

impl Counts {
    /// Until now.
    #[must_use]
    pub fn now() -> Self {
        Self {
            modified: MODIFIED.load(Relaxed),
            shared: SHARED.load(Relaxed),
            locked: LOCKED.load(Relaxed),
            fenced: FENCED.load(Relaxed),
        }
    }
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, before: Counts) -> Counts {
        Counts {
            modified: self.modified - before.modified,
            shared: self.shared - before.shared,
            locked: self.locked - before.locked,
            fenced: self.fenced - before.fenced,
        }
    }
}

/// This thread writes to the line of `at`. Whether another did so last.
fn write<T>(at: &T) -> bool {
    // A thread whose locals are gone is none of the others.
    let number = NUMBER.try_with(|number| {
        if number.get() == 0 {
            number.set(THREADS.fetch_add(1, Relaxed));
        }
        number.get()
    });
    let number = number.unwrap_or(u32::MAX);
    let before = WRITERS[std::ptr::from_ref(at).addr() / LINE % PLACES].swap(number, Relaxed);
    before != 0 && before != number
}

fn modify<T>(at: &T) {
    MODIFIED.fetch_add(1, Relaxed);
    if write(at) {
        SHARED.fetch_add(1, Relaxed);
    }
}

/// A lock is taken.
pub(crate) fn lock() {
    LOCKED.fetch_add(1, Relaxed);
}

/// An atomic of the standard library whose writes are counted.
#[derive(Default)]
#[repr(transparent)]
pub struct Counted<A>(A);

impl<A> Deref for Counted<A> {
    type Target = A;

    #[inline]
    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A> DerefMut for Counted<A> {
    #[inline]
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}

impl<A: fmt::Debug> fmt::Debug for Counted<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Methods that count and then do what the standard library's of that name does.
macro_rules! counted {
    (exchanges $value:ty: $($exchange:ident)*) => {$(
        /// As the standard library's, counted.
        pub fn $exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            modify(self);
            self.0.$exchange(current, new, success, failure)
        }
    )*};
    ([$($generics:tt)*] $atomic:ty, $value:ty: $($modify:ident)*) => {
        impl<$($generics)*> Counted<$atomic> {
            /// Holds `value` at first.
            #[must_use]
            pub const fn new(value: $value) -> Self {
                Counted(<$atomic>::new(value))
            }

            /// As the standard library's; it makes the line this thread's.
            pub fn store(&self, value: $value, order: Ordering) {
                write(self);
                self.0.store(value, order);
            }

            counted!(exchanges $value: compare_exchange compare_exchange_weak);

            /// As the standard library's, counted once.
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                modify(self);
                self.0.fetch_update(set, fetch, update)
            }

            $(
                /// As the standard library's, counted.
                pub fn $modify(&self, value: $value, order: Ordering) -> $value {
                    modify(self);
                    self.0.$modify(value, order)
                }
            )*
        }
    };
}

/// The atomics, by the standard library's names.
pub mod atomic {
    use super::{Counted, FENCED, Ordering, modify, write};
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};

    macro_rules! integers {
        ($($name:ident: $value:ty),*) => {$(
            counted!([] std::sync::atomic::$name, $value: swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);
            #[doc = concat!("`std::sync::atomic::", stringify!($name), "`, counted.")]
            pub type $name = Counted<std::sync::atomic::$name>;
        )*};
    }

    integers! { AtomicIsize: isize, AtomicU8: u8, AtomicU16: u16, AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize }

    counted!([] std::sync::atomic::AtomicBool, bool: swap fetch_and fetch_or fetch_xor);
    /// `std::sync::atomic::AtomicBool`, counted.
    pub type AtomicBool = Counted<std::sync::atomic::AtomicBool>;

    counted!([T] std::sync::atomic::AtomicPtr<T>, *mut T: swap);
    /// `std::sync::atomic::AtomicPtr`, counted.
    pub type AtomicPtr<T> = Counted<std::sync::atomic::AtomicPtr<T>>;

    /// `std::sync::atomic::fence`, counted if it is sequentially consistent: no other costs anything.
    #[inline]
    pub fn fence(order: Ordering) {
        if order == SeqCst {
            FENCED.fetch_add(1, Relaxed);
        }
        std::sync::atomic::fence(order);
    }
}

#[cfg(test)]
mod tests {
    use super::atomic::{AtomicUsize, fence};
    use super::{Counts, Ordering::Relaxed, Ordering::SeqCst, write};
    use crate::CachePadded;

    #[test]
    fn a_line_is_shared_when_another_wrote_to_it() {
        let word = CachePadded::new(AtomicUsize::new(0));
        word.store(1, Relaxed);
        assert!(!write(&*word), "it is this thread's");
        std::thread::scope(|scope| {
            scope.spawn(|| word.store(2, Relaxed));
        });
        assert!(write(&*word), "another wrote");
        assert!(!write(&*word), "it is this thread's again");
    }

    /// Other tests may count meanwhile, so these are lower bounds.
    #[test]
    fn all_that_modifies_counts() {
        let word = AtomicUsize::new(1);
        let before = Counts::now();
        for _ in 0..1000 {
            word.fetch_add(1, Relaxed);
            _ = word.compare_exchange(0, 1, Relaxed, Relaxed);
            word.swap(3, Relaxed);
            drop(crate::sync::Mutex::new(()).lock());
            fence(SeqCst);
        }
        let counts = Counts::now() - before;
        assert!(counts.modified >= 3000 && counts.locked >= 1000 && counts.fenced >= 1000, "{counts:?}");
    }
}
