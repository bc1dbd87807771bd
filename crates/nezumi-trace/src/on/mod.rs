//! The spans and events themselves.

mod operation;
mod permits;
mod resource;
mod stuck;
mod task;

pub use operation::{Inside, Operation, Waiting, polled};
pub use permits::{Granted, Permits, Slot};
pub use resource::Resource;
pub use stuck::{hears_of_stuck_polls, poll_is_stuck};
pub use task::{TaskSpan, Traced, block_on, blocking, task};
