//! The queues of the scheduler, and the list that waiters hang in.
//!
//! - [`Ring`]: one worker's own queue, both ends for its owner, batches for thieves.
//! - [`Relay`]: batches that did not fit into a ring.
//! - [`Inject`]: the way in from outside the workers.
//! - [`Shelf`]: what a worker has put aside for later, in the open.
//! - [`Batch`]: an owned chain of items; how they travel between queues.
//! - [`list`]: an intrusive doubly linked list of pinned nodes, for whoever keeps waiters under a lock.
//!
//! Nothing here knows a waker, a task or a runtime: the queues hold whatever owned pointer is an [`Item`], and chain
//! items through the one link word that each of them brings along. An item in a `Ring` leaves its link alone.

pub mod list;

mod batch;
mod inject;
mod item;
mod look;
mod relay;
mod ring;
mod shelf;

pub use batch::Batch;
pub use inject::Inject;
pub use item::Item;
pub use relay::Relay;
pub use ring::{Busy, Ring, Steal};
pub use shelf::Shelf;
