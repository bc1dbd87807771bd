//! How a runtime is built, entered and left.

mod handle;

pub use handle::{Handle, TryCurrentError};
