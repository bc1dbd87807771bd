//! A value of a broadcast channel while one of its receivers clones it.
//!
//! Promise: the value lives as long as the loan, and is given back, or dropped if nobody else wants it, when that ends: also
//! when the clone panics. Under no lock, on both ways.

use super::shared::Shared;
use super::slot::Found;
use crate::waiters::wake_all;
use nezumi_wake::FirstPanic;
use std::mem::MaybeUninit;

/// What a receiver finds where its next value is to be.
pub(super) enum Received<T> {
    /// A clone of the value.
    Value(T),
    /// Another receiver is cloning it.
    Out,
    /// It is not there yet, or no more.
    Nothing,
}

/// A clone of the value at `next`, for the receiver that stands there, which goes on to the next. If the clone panics, it counts
/// as received.
#[inline]
pub(super) fn receive<T: Clone>(shared: &Shared<T>, next: &mut u64) -> Received<T> {
    let position = *next;
    let mut value = MaybeUninit::uninit();
    let is_last = match shared.slot(position).find(position, &mut value) {
        Found::Value { is_last } => is_last,
        Found::Out => return Received::Out,
        Found::Other => return Received::Nothing,
    };
    *next = position.wrapping_add(1);
    let loan = Loan { shared, position, value: &mut value, is_last };
    // SAFETY: found, and dropped or given back no sooner than the loan ends.
    let clone = unsafe { loan.value.assume_init_ref() }.clone();
    drop(loan);
    Received::Value(clone)
}

/// The value of one position. The receiver that has it is counted out when this is dropped.
struct Loan<'a, T> {
    shared: &'a Shared<T>,
    position: u64,
    /// Full.
    value: &'a mut MaybeUninit<T>,
    /// Whether it is ours to keep.
    is_last: bool,
}

impl<T> Drop for Loan<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_last {
            // SAFETY: the value is that of the position, from `find`, and full; if it was given back it is not touched again.
            let back = unsafe { self.shared.slot(self.position).give_back(self.position, self.value) };
            self.is_last = !back.is_given;
            if back.is_wanted {
                return self.wake_those_who_want_it();
            }
        }
        self.drop_the_last();
    }
}

impl<T> Loan<'_, T> {
    #[inline]
    fn drop_the_last(&mut self) {
        if self.is_last {
            // SAFETY: full, and nobody else's. Called once, by the drop.
            unsafe { self.value.assume_init_drop() };
        }
    }

    /// They joined the list holding the tail's lock, from before they said that they want it. A waker's panic does not keep the value.
    #[cold]
    fn wake_those_who_want_it(&mut self) {
        let mut panics = FirstPanic::new();
        panics.run(|| wake_all(&self.shared.tail, self.shared.tail.lock()));
        panics.run(|| self.drop_the_last());
        panics.resume();
    }
}
