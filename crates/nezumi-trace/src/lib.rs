//! What a subscriber of the crate `tracing` is told: which tasks there are, when they are polled and woken, and what they wait for.
//!
//! Called by `nezumi-core` (tasks, wakers, timers) and `nezumi-sync` (locks and the like). Knows neither.
//!
//! Names, targets and fields are those that `console-subscriber` reads, and that Tokio's own spans have: they are an interface, and do not
//! change. What is stuck only we tell.
//!
//! | span or event | target | is |
//! |---|---|---|
//! | `runtime.spawn` | `tokio::task`, `tokio::task::blocking` | a task, entered while it is polled and while its future is dropped |
//! | event, `op`, `task.id` | `tokio::task::waker` | what happened to a waker of the task whose span has this id |
//! | `runtime.resource` | the module of the type in Tokio | what tasks wait for: a lock, a channel, a timer |
//! | `runtime.resource.async_op` | as above | one operation on it that may wait |
//! | `runtime.resource.async_op.poll` | as above | entered while that operation is polled |
//! | event, `op_name`, `is_ready` | `runtime::resource::poll_op` | how such a poll ended |
//! | event, an attribute of the resource | `runtime::resource::state_update` | how the resource changed |
//! | event, an attribute of the operation | `runtime::resource::async_op::state_update` | how the operation changed |
//! | event at the level `WARN` | `nezumi::stuck` | a poll that does not end, and its task |
//!
//! Promise: without the feature `tracing` all types are empty (a task, a lock, a sleep are as large as if they were not here) and all functions
//! too; with it, and without a subscriber that listens, each costs a branch or two.
//!
//! A subscriber is code of the program's, which may panic, and may come back to whatever calls it. So these functions are called under no lock,
//! and where whoever calls could go on from a panic.
//!
//! Tests: below, `crates/tokio/tests/tracing`; Tokio's own `tracing_task`, `tracing_sync` and `tracing_time`.

#[cfg(feature = "tracing")]
mod on;
#[cfg(feature = "tracing")]
pub use on::*;

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(not(feature = "tracing"))]
pub use off::*;

use std::panic::Location;
use std::time::Duration;

/// Whether there is anything to be told: what would be found out for a subscriber alone is not.
pub const IS_ON: bool = cfg!(feature = "tracing");

/// What is known of a task when it is spawned.
#[derive(Clone, Copy, Debug)]
pub struct Spawned<'a> {
    /// The task's id, as the program sees it.
    pub id: u64,
    /// The name that the program gave it.
    pub name: Option<&'a str>,
    /// Where the program did it.
    pub at: &'static Location<'static>,
}

/// A poll that has lasted too long.
#[derive(Clone, Copy, Debug)]
pub struct StuckPoll<'a> {
    /// Whose poll it is, unless the task ended just now, or the system does not let it be found out.
    pub task: Option<Spawned<'a>>,
    /// The number of the worker that it holds up.
    pub worker: usize,
    /// How long it has lasted.
    pub elapsed: Duration,
    /// Whether it uses its processor; else it sleeps.
    pub burns: bool,
}

/// What a task does, so far as a subscriber is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is polled by a runtime.
    Task,
    /// It is polled by a set of local tasks.
    Local,
}

#[cfg(all(test, not(feature = "tracing")))]
mod tests {
    use super::*;
    use std::mem::size_of;

    #[test]
    fn without_the_feature_nothing_is_there() {
        assert_eq!(size_of::<TaskSpan>() + size_of::<Resource>() + size_of::<Permits>(), 0);
        assert_eq!(size_of::<Waiting>() + size_of::<Slot>() + size_of::<Granted>(), 0);
        assert_eq!(size_of::<Traced<u64>>() + size_of::<Operation<u64>>(), 16);
    }
}
