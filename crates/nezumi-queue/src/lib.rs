//! The queues of the scheduler, and the list that waiters hang in.
//!
//! - [`list`]: an intrusive doubly linked list of pinned nodes, for whoever keeps waiters under a lock.
//!
//! Nothing here knows a waker, a task or a runtime.

pub mod list;
