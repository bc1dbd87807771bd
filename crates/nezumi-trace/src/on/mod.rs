//! The spans and events themselves.

mod operation;
mod permits;
mod resource;
mod task;

pub use operation::{Inside, Operation, Waiting, polled};
pub use permits::{Granted, Permits, Slot};
pub use resource::Resource;
pub use task::{TaskSpan, Traced, block_on, blocking, task};
