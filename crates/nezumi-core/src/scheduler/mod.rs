//! Who runs what, and when.
//!
//! In reading order: `Shared` is one runtime; a `Shard` is one worker's part of it, held by way of a [`Home`]; `worker` is the machine
//! whose step runs a task, with `steal`, `park`, `yields` and `upkeep`; `thread` is the loop around it; `idle` says who sleeps and whom to wake,
//! `bed` is where; `crowd` says how many waiting tasks are worth that; `schedule` is where a runnable goes; `watch` sees who is stuck, and so
//! does, at a `glance`, a worker of another; `shutdown` ends it all. `current_thread` is the scheduler for one thread. `context` is what a
//! thread knows of all this.

mod bed;
pub(crate) mod context;
mod crowd;
pub(crate) mod current_thread;
mod glance;
mod home;
mod idle;
#[cfg(all(test, nezumi_loom))]
mod models;
mod observe;
mod park;
pub(crate) mod polling;
#[cfg(all(test, not(nezumi_shuttle)))]
mod reduced;
pub(crate) mod roll;
mod schedule;
mod shard;
mod shared;
pub(crate) mod shutdown;
#[cfg(all(test, nezumi_shuttle))]
mod shuttled;
mod spares;
pub(crate) mod spawn;
pub(crate) mod state;
mod steal;
pub(crate) mod thread;
mod upkeep;
mod waits;
mod watch;
pub(crate) mod worker;
mod yields;

pub use home::Home;
pub(crate) use polling::Polling;
pub(crate) use shard::Shard;
pub(crate) use shared::Shared;
