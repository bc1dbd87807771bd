use super::halves::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred};
use crate::evented::{PollEvented, ReadUninit};
use crate::net::check_nonblocking;
use crate::net::forward::{
    close_method, poll_readable, poll_writable, ready_methods, socket_traits, stream_traits,
    try_read_methods, try_write_methods,
};
use bytes::BufMut;
use nezumi_core::driver::Readiness;
use nezumi_io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use socket2::SockRef;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A connection over a Unix socket.
///
/// Made by [`connect`](Self::connect), by [`UnixListener::accept`](crate::net::UnixListener::accept), or two at a time by
/// [`pair`](Self::pair). Read and written through [`AsyncRead`] and [`AsyncWrite`]; where two tasks are to do so,
/// [`split`](Self::split) or [`into_split`](Self::into_split) it. Dropping it closes the connection in both directions.
///
/// # Examples
///
/// ```no_run
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
/// use nezumi::net::UnixStream;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let mut stream = UnixStream::connect("/run/example.sock").await?;
///     stream.write_all(b"hello").await?;
///     stream.shutdown().await?;
///     let mut answer = String::new();
///     stream.read_to_string(&mut answer).await?;
///     Ok(())
/// }
/// ```
pub struct UnixStream {
    pub(super) io: PollEvented<mio::net::UnixStream>,
}

impl ReadUninit for mio::net::UnixStream {
    #[inline]
    fn read_uninit(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        self.try_io(|| SockRef::from(self).recv(buf))
    }
}

impl UnixStream {
    /// Connects to the socket at `path`.
    ///
    /// On Linux a path that begins with a null byte is a name in the abstract namespace.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down. Where the listener's backlog is full, Linux says `WouldBlock`.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it leaves no socket behind.
    pub async fn connect<P>(path: P) -> io::Result<UnixStream>
    where
        P: AsRef<Path>,
    {
        let addr = SocketAddr::from_path(path.as_ref())?;
        UnixStream::connect_addr(&addr).await
    }

    /// Connects to the socket with the address `socket_addr`. As [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it leaves no socket behind.
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connecting(mio::net::UnixStream::connect_addr(&socket_addr.0)?).await
    }

    /// Waits until the connection that was begun is there.
    pub(super) async fn connecting(stream: mio::net::UnixStream) -> io::Result<UnixStream> {
        let stream = UnixStream::new(stream)?;
        stream.io.connected(|io| io.take_error()).await?;
        Ok(stream)
    }

    #[track_caller]
    fn new(stream: mio::net::UnixStream) -> io::Result<UnixStream> {
        Ok(UnixStream { io: PollEvented::new(stream)? })
    }

    /// One that was accepted. It can be written, and mostly holds the peer's first words already, so that its first
    /// operations need not wait for the driver; if not, they find out.
    pub(super) fn accepted(stream: mio::net::UnixStream) -> io::Result<UnixStream> {
        let stream = UnixStream::new(stream)?;
        stream.io.registration().assume_ready(Readiness::READABLE | Readiness::WRITABLE);
        Ok(stream)
    }

    /// Makes two streams that are connected to each other.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (a, b) = mio::net::UnixStream::pair()?;
        let (a, b) = (UnixStream::new(a)?, UnixStream::new(b)?);
        // Nothing was written yet, so both can be.
        a.io.registration().assume_ready(Readiness::WRITABLE);
        b.io.registration().assume_ready(Readiness::WRITABLE);
        Ok((a, b))
    }

    /// Takes a stream of the standard library over. It must not block: call `set_nonblocking(true)` on it first.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver; in builds with debug assertions, if the stream blocks.
    #[track_caller]
    pub fn from_std(stream: std::os::unix::net::UnixStream) -> io::Result<UnixStream> {
        check_nonblocking(&stream)?;
        UnixStream::new(mio::net::UnixStream::from_std(stream))
    }

    /// Gives the stream to the standard library. It does not block; call `set_nonblocking(false)` on it if it is to.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixStream> {
        self.io.into_inner().map(Into::into)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// Those of the OS, as when the stream is not connected any more.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr)
    }

    /// Who the process is that connected, or that listened, as it was then.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of_peer(self)
    }

    /// The error that the OS keeps for the socket (`SO_ERROR`), which it then forgets.
    ///
    /// # Errors
    ///
    /// When the OS does not even say that.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    ready_methods!();
    poll_readable!(poll_read_ready);
    poll_writable!(poll_write_ready);
    try_read_methods!();
    try_write_methods!();
    close_method!();

    /// Lends the two halves of the stream out, for one task, without an allocation.
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        halves::split(self)
    }

    /// Makes two halves of the stream that may go to two tasks.
    ///
    /// Dropping the one that writes closes its direction. The two can be [reunited](OwnedReadHalf::reunite).
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        halves::into_split(self)
    }
}

impl AsRef<Self> for UnixStream {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for UnixStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.io).fmt(f)
    }
}

stream_traits!(UnixStream);
socket_traits!(UnixStream, std::os::unix::net::UnixStream);
