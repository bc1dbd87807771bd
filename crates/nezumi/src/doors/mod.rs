//! The public modules: each opens, by feature, what the rooms behind it hold. Nothing is built here.

#[cfg(feature = "fs")]
pub mod fs;
pub mod io;
pub mod net;
pub mod stream;

#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "rt")]
pub mod runtime;
#[cfg(feature = "signal")]
pub mod signal;
#[cfg(feature = "sync")]
pub mod sync;
pub mod task;
#[cfg(feature = "time")]
pub mod time;

#[cfg(feature = "rt")]
#[doc(inline)]
pub use self::task::spawn;
