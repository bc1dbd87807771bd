//! Our end of a pipe to a process: a pipe as any other, which does not block.
//!
//! The other end, a description of its own, is left as it is: programs expect it to block.

pub(crate) use crate::net::unix::pipe::{Receiver, Sender};
use mio::unix::pipe as mio_pipe;
use std::io;
use std::os::fd::OwnedFd;

macro_rules! end {
    ($End:ident) => {
        impl $End {
            /// Registers the pipe with the current runtime. It need not be one: programs make these ends of other descriptors, too.
            #[track_caller]
            pub(crate) fn of_process(pipe: impl Into<mio_pipe::$End>) -> io::Result<Self> {
                let pipe = pipe.into();
                pipe.set_nonblocking(true)?;
                Self::new(pipe)
            }

            /// Takes the descriptor out, and makes it block.
            pub(crate) fn into_owned(self) -> io::Result<OwnedFd> {
                self.into_blocking_fd()
            }
        }
    };
}

end!(Sender);
end!(Receiver);
