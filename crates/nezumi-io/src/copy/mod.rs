//! From a reader to a writer, until there is no more.
//!
//! [`transfer`] knows how one direction goes on; [`copy`], [`copy_buf`] and the two of `bidirectional` drive it or do the
//! same without a buffer of their own.

mod bidirectional;
mod buffered;
mod transfer;
mod unbuffered;

pub use bidirectional::{copy_bidirectional, copy_bidirectional_with_sizes};
pub use buffered::copy_buf;
pub use unbuffered::copy;
