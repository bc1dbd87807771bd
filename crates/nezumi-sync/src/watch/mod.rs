//! A channel that keeps one value: the latest.
//!
//! Any number of [`Sender`]s change the value, any number of [`Receiver`]s look at it and wait for it to change. Values that
//! nobody looked at in time are gone: this is for state, such as a configuration or a shutdown flag, rather than
//! for messages.
//!
//! # What counts as a change
//!
//! Every change makes a new version of the value, and each receiver remembers which version it *saw*. A receiver is born
//! having seen the current one. [`Receiver::changed`] waits for a version that was not seen, and marks it as seen;
//! [`Receiver::borrow_and_update`] looks and marks; [`Receiver::borrow`] looks and marks nothing, so that `changed` may
//! return at once for a value that was looked at before. Equality is not asked: sending an equal value is a change.
//!
//! In a loop around `changed`, use `borrow_and_update`. With `borrow`, a value that is sent between the return of
//! `changed` and the look is looked at twice.
//!
//! # Closing
//!
//! When the last sender is gone, `changed` fails once the last value was seen, and [`Receiver::has_changed`] fails at
//! once. When the last receiver is gone, [`Sender::send`] fails and [`Sender::closed`] returns; a later
//! [`Sender::subscribe`] opens the channel again. The value lives as long as either end does.
//!
//! # Examples
//!
//! ```
//! use nezumi::sync::watch;
//!
//! # #[nezumi::main]
//! # async fn main() {
//! let (tx, mut rx) = watch::channel("starting");
//! let printer = nezumi::spawn(async move {
//!     let mut seen = vec![*rx.borrow_and_update()];
//!     while rx.changed().await.is_ok() {
//!         seen.push(*rx.borrow_and_update());
//!     }
//!     seen
//! });
//! tx.send("running").unwrap();
//! drop(tx);
//! assert_eq!(printer.await.unwrap().last(), Some(&"running"));
//! # }
//! ```

// How it works.
//
// The value stands behind a readers-writer lock. One word beside it holds the version, whether the senders are gone, and
// one bit for each of eight lists of waiting receivers. A change without waiting receivers is the write lock and one
// read-modify-write.
//
// Promise: a receiver that waits is woken by the first change after the version that it saw.
//
//     sender                                   receiver, holding the lock of its list
//     W1 add STEP to the word, look at bits    R1 is the version news? then do not wait
//     W2 for each bit: lock the list,          R2 CAS: set the bit of the list, if the word did not change
//        clear the bit, wake all                  since R1; link the waiter
//
// W1 and R2 are read-modify-writes of one word: if W1 is first, R2 fails and R1 sees the news; if R2 is first, W1 sees the
// bit, and W2 waits for the list's lock and finds the waiter. That a receiver may skip R2 when the bit is set already is
// argued in `Shared::announce`.
//
// Tests: `a_change_wakes_every_receiver_once`, `the_last_value_is_seen_before_the_end`, `the_final_value_is_seen_by_every_thread`. Loom, of
// the two columns: `models::a_change_ends_the_wait`, `two_receivers_of_one_list_are_both_woken`, `two_senders_wake_one_receiver`; of the
// end `two_changes_and_the_end_are_seen_in_order`, `the_last_receiver_ends_the_senders_wait`; of a wait that is dropped
// `a_dropped_wait_races_the_wake`. `waiters` proves the list.

pub mod error;
mod receiver;
mod sender;
mod shared;

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

pub use receiver::Receiver;
pub use sender::Sender;

use nezumi_prim::sync::{Arc, RwLockReadGuard};
use shared::Shared;
use std::fmt;
use std::ops::Deref;

/// Makes a channel whose value is `init`. The receiver has seen it.
///
/// # Examples
///
/// ```
/// use nezumi::sync::watch;
///
/// let (tx, mut rx) = watch::channel(1);
/// tx.send(2).unwrap();
/// tx.send(3).unwrap();
/// assert_eq!(*rx.borrow_and_update(), 3);
/// ```
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(init, 1));
    (Sender::new_sharing(Arc::clone(&shared)), Receiver::first(shared))
}

/// The value of a watch channel, borrowed.
///
/// It holds a read lock: until it is dropped, senders that want to change the value block their thread. Keep it short,
/// and never across an `.await`. A thread that holds one and asks for another may wait forever, if a sender came between:
///
/// ```text
/// this thread            another thread
/// let a = rx.borrow();
///                        tx.send(1)   waits for `a` to go
/// let b = rx.borrow();   waits behind the sender
/// ```
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Whether the receiver that this was borrowed from had not seen the value before. Always false for a sender's.
    ///
    /// Other than [`Receiver::has_changed`], this knows no error: it answers for the last value of a closed channel, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel("hello");
    /// tx.send("goodbye").unwrap();
    /// assert!(!tx.borrow().has_changed());
    /// drop(tx);
    /// assert!(rx.borrow().has_changed());
    /// assert!(rx.borrow_and_update().has_changed());
    /// assert!(!rx.borrow().has_changed());
    /// ```
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ref").field("inner", &self.value).field("has_changed", &self.has_changed).finish()
    }
}
