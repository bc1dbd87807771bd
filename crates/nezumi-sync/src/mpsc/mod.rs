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
// Tests: `tests/` (with a property against a plain queue), `models` (loom) in this directory.

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
