//! What belongs to TCP beside its sockets: the halves of a stream.

mod halves;
pub(crate) mod listener;
pub(crate) mod socket;
pub(crate) mod stream;

pub use halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};

use listener::TcpListener;
use stream::TcpStream;
