//! What a program calls to start work.

mod block_in_place;
pub(crate) mod blocking;
mod builder;
pub mod join_set;
mod local_set;
#[allow(clippy::module_inception)]
mod spawn;
pub mod task_local;
mod yield_now;

pub use block_in_place::block_in_place;
pub(crate) use blocking::BlockingJob;
pub use blocking::{spawn_blocking, spawn_mandatory_blocking};
pub use builder::Builder;
pub use join_set::JoinSet;
pub use local_set::{LocalEnterGuard, LocalSet, spawn_local};
pub use spawn::spawn;
pub use yield_now::yield_now;
