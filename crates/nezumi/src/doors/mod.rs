//! The public modules: each opens, by feature, what the rooms behind it hold. Nothing is built here.

pub mod io;
pub mod stream;

#[cfg(feature = "sync")]
pub mod sync;
pub mod task;
