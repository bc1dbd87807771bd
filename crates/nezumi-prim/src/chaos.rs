//! Real threads, held up where it hurts: before atomic accesses, accesses to cells, and locks.
//!
//! With `--cfg nezumi_chaos` every atomic of this crate is the standard library's behind a [`Deref`] that now and then spins, yields or sleeps
//! first, and so do cells and locks. What the scheduler of the operating system does to a thread once in a million accesses, this does
//! once in a few hundred.
//!
//! Which access is hit follows from [`begin`]'s seed and the number of the thread, in the order in which threads first come here.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Odds of being held up, out of 2³².
static ODDS: AtomicU32 = AtomicU32::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);
static THREADS: AtomicU64 = AtomicU64::new(1);
/// Changed by `begin`, so that threads that are there already start over.
static ROUND: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The state of this thread's numbers, and the round in which it was seeded.
    static STATE: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
}

/// From now on one access in `one_in` is held up; none if it is 0.
pub fn begin(seed: u64, one_in: u32) {
    SEED.store(seed, Ordering::Relaxed);
    THREADS.store(1, Ordering::Relaxed);
    ROUND.fetch_add(1, Ordering::Relaxed);
    ODDS.store(u32::MAX.checked_div(one_in).unwrap_or(0), Ordering::Relaxed);
}

/// A place where the thread may be held up.
#[inline]
pub fn point() {
    let odds = ODDS.load(Ordering::Relaxed);
    if odds == 0 {
        return;
    }
    let now = next();
    if (now as u32) < odds {
        hold_up(now >> 32);
    }
}

/// SplitMix64, as in `FastRand`, whose state would need a seed at hand.
#[inline]
fn next() -> u64 {
    STATE.with(|state| {
        let (mut word, mut round) = state.get();
        if round != ROUND.load(Ordering::Relaxed) {
            round = ROUND.load(Ordering::Relaxed);
            let number = THREADS.fetch_add(1, Ordering::Relaxed);
            word = SEED.load(Ordering::Relaxed) ^ number.wrapping_mul(0xA24B_AED4_963E_E407);
        }
        word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
        state.set((word, round));
        let mut z = word;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

#[cold]
fn hold_up(random: u64) {
    match random % 64 {
        0..=43 => {
            // Up to some two microseconds, short ones as likely as long ones.
            let spins = (random >> 8) % (1 << ((random >> 24) % 8));
            (0..spins).for_each(|_| std::hint::spin_loop());
        }
        44..=61 => std::thread::yield_now(),
        62 => std::thread::sleep(Duration::from_micros((random >> 8) % 200)),
        // Long enough for others to go all the way round.
        _ if (random >> 8) % 8 == 0 => std::thread::sleep(Duration::from_millis(3)),
        _ => std::thread::yield_now(),
    }
}

/// An atomic of the standard library, before each access of which the thread may be held up.
#[derive(Default)]
#[repr(transparent)]
pub struct Chaotic<A>(A);

impl<A> Deref for Chaotic<A> {
    type Target = A;

    #[inline]
    fn deref(&self) -> &A {
        point();
        &self.0
    }
}

impl<A> DerefMut for Chaotic<A> {
    #[inline]
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}

impl<A: fmt::Debug> fmt::Debug for Chaotic<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! chaotic {
    ($($name:ident: $value:ty),*) => {$(
        impl Chaotic<std::sync::atomic::$name> {
            /// Holds `value` at first.
            #[inline]
            #[must_use]
            pub const fn new(value: $value) -> Self {
                Chaotic(std::sync::atomic::$name::new(value))
            }
        }

        #[doc = concat!("`std::sync::atomic::", stringify!($name), "`, with hold-ups.")]
        pub type $name = Chaotic<std::sync::atomic::$name>;
    )*};
}

/// The atomics, by the standard library's names.
pub mod atomic {
    use super::Chaotic;

    chaotic! {
        AtomicBool: bool, AtomicIsize: isize, AtomicU8: u8, AtomicU16: u16, AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize
    }

    impl<T> Chaotic<std::sync::atomic::AtomicPtr<T>> {
        /// Holds `value` at first.
        #[inline]
        #[must_use]
        pub const fn new(value: *mut T) -> Self {
            Chaotic(std::sync::atomic::AtomicPtr::new(value))
        }
    }

    /// `std::sync::atomic::AtomicPtr`, with hold-ups.
    pub type AtomicPtr<T> = Chaotic<std::sync::atomic::AtomicPtr<T>>;

    /// `std::sync::atomic::fence`, with a hold-up before it.
    #[inline]
    pub fn fence(order: std::sync::atomic::Ordering) {
        super::point();
        std::sync::atomic::fence(order);
    }
}
