//! A channel from any number of senders to any number of receivers, each of which gets every value.
//!
//! A receiver gets what is sent after it came into being, by [`channel`] or by [`Sender::subscribe`], in the order in which
//! it is sent, cloned. A value is kept until every receiver has got it.
//!
//! # Lagging
//!
//! The channel keeps no more than `capacity` values, rounded up to a power of two: a sender never waits for a slow receiver,
//! but overwrites the oldest value. A receiver that comes too late for some values is told how many it missed, by
//! [`RecvError::Lagged`](error::RecvError::Lagged), and goes on with the oldest one that is still there.
//!
//! # Closing
//!
//! When the last [`Sender`] is gone, receivers get what is left, and then
//! [`RecvError::Closed`](error::RecvError::Closed). When the last [`Receiver`] is gone, [`Sender::send`] fails, until somebody
//! subscribes again.
//!
//! # Examples
//!
//! ```
//! use nezumi::sync::broadcast;
//! use nezumi::sync::broadcast::error::RecvError;
//!
//! # #[nezumi::main]
//! # async fn main() {
//! let (tx, mut rx) = broadcast::channel(2);
//! let mut other = tx.subscribe();
//! tx.send(10).unwrap();
//! assert_eq!(rx.recv().await, Ok(10));
//! tx.send(20).unwrap();
//! tx.send(30).unwrap();
//! // `other` did not come for 10 in time.
//! assert_eq!(other.recv().await, Err(RecvError::Lagged(1)));
//! assert_eq!(other.recv().await, Ok(20));
//! assert_eq!(other.recv().await, Ok(30));
//! drop(tx);
//! assert_eq!(other.recv().await, Err(RecvError::Closed));
//! # }
//! ```

// How it works.
//
// A ring of slots, and a tail behind a lock: where the next value goes, how many receivers there are, and which of them
// wait. A send takes the tail's lock once; a receiver that finds its value in its slot touches that slot only: it takes the
// value out, clones it, and gives it back (`slot` says who may touch what; `loan` is the value meanwhile).
//
// Promise: each receiver gets every value sent since it joined, once and in order, or is told how many it missed; a receiver
// that waits is woken by the next value, and by the end.
//
//     sender, holding the tail's lock          receiver, holding the tail's lock
//     S1 put the value into its slot           R1 is the tail where I stand? else look in the slot again
//     S2 move the tail on, take the waiters    R2 join the waiters
//
// Both happen under one lock, so one is first. Wakers run after it is released.
//
//     receiver that has the value out          another, holding the tail's lock
//     L1 give it back: was it wanted?          W1 say that it is wanted, if it is out
//     L2 if so take the tail's lock, wake      W2 join the waiters
//
// L1 and W1 change one word. If L1 is first, W1 finds it back; else L2 comes after W2.
//
// Tests: against a plain reference `behaves_like_a_list_of_all_that_was_sent`; `a_slow_receiver_is_told_how_many_it_missed`,
// `who_wants_a_value_that_is_being_cloned_is_woken_when_it_is_back`, `a_clone_may_overwrite_the_very_value`. Loom, of the first two columns:
// `models::a_sent_value_ends_the_wait`, `two_receivers_get_both_values`, `two_senders_lose_nothing`, `a_dropped_wait_races_the_wake`; of the
// second two `one_clones_while_the_other_waits`, `a_try_waits_for_the_clone_of_another`, `one_clones_while_the_other_goes`; of a slot that
// is taken from its readers `overwriting_races_reading`, `a_value_is_overwritten_while_it_is_cloned`,
// `the_last_two_readers_race_the_next_value`.

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod clone_tests;
pub mod error;
mod loan;
mod receiver;
mod sender;
mod shared;
mod slot;

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

pub use receiver::Receiver;
pub use sender::{Sender, WeakSender};

use nezumi_prim::sync::Arc;
use shared::Shared;

/// Makes a channel that keeps the last `capacity` values, rounded up to a power of two.
///
/// # Panics
///
/// If `capacity` is 0 or more than `usize::MAX / 2`.
///
/// # Examples
///
/// ```
/// use nezumi::sync::broadcast;
///
/// # #[nezumi::main]
/// # async fn main() {
/// let (tx, mut a) = broadcast::channel(16);
/// let mut b = tx.subscribe();
/// tx.send("both get this").unwrap();
/// assert_eq!(a.recv().await.unwrap(), b.recv().await.unwrap());
/// # }
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(capacity, 1));
    (Sender::first(Arc::clone(&shared)), Receiver::new(shared, 0))
}
