//! What belongs to Unix sockets beside the sockets themselves: addresses, the halves of a stream, credentials; and pipes.

pub mod datagram;
pub mod pipe;

mod halves;
pub(crate) mod listener;
pub(crate) mod socket;
mod socketaddr;
pub(crate) mod stream;
mod ucred;

pub use halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use socketaddr::SocketAddr;
pub use ucred::UCred;

/// A number of a user, as [`UCred::uid`] gives it.
#[allow(non_camel_case_types)]
pub type uid_t = u32;

/// A number of a group, as [`UCred::gid`] gives it.
#[allow(non_camel_case_types)]
pub type gid_t = u32;

/// A number of a process, as [`UCred::pid`] gives it.
#[allow(non_camel_case_types)]
pub type pid_t = i32;
