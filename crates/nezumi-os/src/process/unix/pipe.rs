//! Our end of a pipe to a process.
//!
//! It does not block. The other end, a description of its own, is left as it is: programs expect it to block.

use crate::evented::PollEvented;
use mio::unix::pipe as mio_pipe;
use nezumi_io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

#[derive(Debug)]
pub(crate) struct Sender {
    io: PollEvented<mio_pipe::Sender>,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    io: PollEvented<mio_pipe::Receiver>,
}

macro_rules! end {
    ($End:ident, $interest:expr) => {
        impl $End {
            /// Registers the pipe with the current runtime.
            #[track_caller]
            pub(crate) fn new(pipe: impl Into<mio_pipe::$End>) -> io::Result<Self> {
                let pipe = pipe.into();
                pipe.set_nonblocking(true)?;
                Ok(Self { io: PollEvented::with_interest(pipe, $interest)? })
            }

            /// Takes the descriptor out, and makes it block.
            pub(crate) fn into_owned(self) -> io::Result<OwnedFd> {
                let pipe = self.io.into_inner()?;
                pipe.set_nonblocking(false)?;
                Ok(pipe.into())
            }
        }

        impl AsRawFd for $End {
            fn as_raw_fd(&self) -> RawFd {
                self.io.as_raw_fd()
            }
        }
    };
}

end!(Sender, Interest::WRITABLE);
end!(Receiver, Interest::READABLE);

impl AsyncWrite for Sender {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// What is written is with the OS already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: a pipe is closed by dropping it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Receiver {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read(cx, buf)
    }
}
