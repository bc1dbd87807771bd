//! A channel from any number of senders to one receiver, each message of which is received once.
//!
//! There are two kinds. A [bounded channel](channel()) holds so many messages and no more, and makes senders wait while it is
//! full: that is how a slow consumer slows its producers down. An [unbounded channel](unbounded_channel) never makes a sender
//! wait, which lets synchronous code send, and may use up all memory.
//!
//! Messages of one sender are received in the order in which they were sent.
//!
//! # Closing
//!
//! When every sender is gone, the receiver gets what is left, and then `None`. When the receiver is gone, sending fails, and
//! what was not received is dropped. A receiver that wants to end without loss calls [`close`](Receiver::close), which lets
//! nobody begin to send, and receives until `None`.
//!
//! A [`WeakSender`] can send, after [upgrading](WeakSender::upgrade), and does not keep the channel open: for a task that
//! holds a way to send to itself.
//!
//! # Outside a runtime
//!
//! Nothing here needs one, except [`Sender::send_timeout`], which needs its clock. Synchronous code has
//! [`blocking_send`](Sender::blocking_send), [`blocking_recv`](Receiver::blocking_recv), and the `try_` forms.
//!
//! # Memory
//!
//! Messages lie in blocks of 32, which are used over and over: a channel whose length is steady allocates nothing. What a
//! burst needed is freed as it is received. A bounded channel with room for less than 32 messages has one ring, of that
//! size.

// How it works.
//
// A sender claims a position with one `fetch_add` on the tail's word, finds the slot of that position (`store`: a ring, or a
// `chain` of blocks), fills it, and marks it ready with one compare-and-swap, which also tells it whether the receiver
// waits for that slot (`slot`). A receiver that keeps busy writes nothing that senders read, other than the slot that it
// empties, and, if the channel is bounded, the permits (`batch_semaphore`).
//
// The end of the stream, too, is put into a slot: by the last sender that goes, or, when the receiver has closed a bounded
// channel, by whoever gives back the last permit. So a receiver has one place to wait at. An unbounded channel is closed by a
// flag beside the tail, which settles where the stream ends: claims before it are received, those after it are refused.
//
// Promise: a message whose send returned `Ok` is received once, or dropped once with the channel; a receiver that waits is
// woken by the next message, and by the end; a permit is lost by nobody.
//
// Tests: against a plain queue `a_bounded_channel_is_a_queue_with_permits` and `an_unbounded_channel_is_a_queue`;
// `messages_are_dropped_exactly_once`, `dropping_a_future_loses_nothing`, `a_closed_channel_waits_for_permits_that_are_out`. Loom:
// `models::a_message_ends_the_wait`, `a_message_ends_the_wait_at_a_ring`, `the_last_of_two_senders_ends_the_wait`; of the blocks:
// `two_senders_meet_at_the_border_of_a_block`, `who_claims_late_does_not_touch_a_block_that_is_used_again`; of the end:
// `what_was_accepted_before_close_is_received`, `a_permit_that_goes_ends_the_wait_of_a_closed_receiver`,
// `sending_races_the_receiver_that_goes`.

mod bounded;
mod chain;
mod chan;
pub mod error;
mod permit;
mod position;
mod sender;
mod slot;
mod store;
mod timeout;
mod unbounded;

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

pub use bounded::{Receiver, channel};
pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use sender::{Sender, WeakSender};
pub use unbounded::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};
