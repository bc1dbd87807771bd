//! Nezumi under the name of Tokio.
//!
//! This package carries Tokio's name, its version and all its feature names, so that `[patch.crates-io]` puts it in
//! Tokio's place for a whole dependency graph. Everything in it is [`nezumi`]'s, but the attributes `main` and `test`:
//! those are Tokio's own, from the crate `tokio-macros`, which emits the paths of a crate called `tokio`.

pub use nezumi::*;

#[cfg(feature = "taskdump")]
pub mod task;

#[cfg(all(feature = "macros", feature = "rt-multi-thread"))]
#[doc(inline)]
pub use tokio_macros::{main, test};

#[cfg(all(feature = "macros", feature = "rt", not(feature = "rt-multi-thread")))]
#[doc(inline)]
pub use tokio_macros::{main_rt as main, test_rt as test};

#[cfg(all(feature = "macros", not(feature = "rt")))]
#[doc(inline)]
pub use tokio_macros::{main_fail as main, test_fail as test};
