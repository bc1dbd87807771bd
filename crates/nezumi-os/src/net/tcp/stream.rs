use super::halves::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::evented::{PollEvented, ReadUninit, into_read_buf};
use crate::net::forward::{
    close_method, poll_readable, poll_writable, ready_methods, socket_traits, stream_traits,
    try_read_methods, try_write_methods,
};
use crate::net::{ToSocketAddrs, addr, check_nonblocking};
use bytes::BufMut;
use nezumi_core::driver::Readiness;
use nezumi_io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use socket2::SockRef;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A connection over TCP.
///
/// Made by [`connect`](Self::connect), or by [`TcpListener::accept`](crate::net::TcpListener::accept). Read and written
/// through [`AsyncRead`] and [`AsyncWrite`]; where two tasks are to do so, [`split`](Self::split) or
/// [`into_split`](Self::into_split) it. Dropping it closes the connection in both directions;
/// [`shutdown`](AsyncWrite::poll_shutdown) closes the one that writes.
///
/// # Examples
///
/// ```no_run
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
/// use nezumi::net::TcpStream;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let mut stream = TcpStream::connect("127.0.0.1:8080").await?;
///     stream.write_all(b"hello").await?;
///     let mut answer = [0; 5];
///     stream.read_exact(&mut answer).await?;
///     Ok(())
/// }
/// ```
///
/// Without a buffer until there is something to read, as a server with many idle connections wants it:
///
/// ```no_run
/// # #[nezumi::main]
/// # async fn main() -> std::io::Result<()> {
/// # let stream = nezumi::net::TcpStream::connect("127.0.0.1:8080").await?;
/// loop {
///     stream.readable().await?;
///     let mut buf = Vec::with_capacity(4096);
///     match stream.try_read_buf(&mut buf) {
///         Ok(0) => break,
///         Ok(n) => println!("read {n} bytes"),
///         // It was not so after all: wait again.
///         Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
///         Err(error) => return Err(error),
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct TcpStream {
    pub(super) io: PollEvented<mio::net::TcpStream>,
}

impl ReadUninit for mio::net::TcpStream {
    #[inline]
    fn read_uninit(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        self.try_io(|| SockRef::from(self).recv(buf))
    }
}

impl TcpStream {
    /// Connects to `addr`.
    ///
    /// If `addr` stands for several addresses they are tried one after the other. For anything to be set before that, as the
    /// address of this end, there is [`TcpSocket`](crate::net::TcpSocket).
    ///
    /// # Errors
    ///
    /// The last address's, when none can be connected to; `InvalidInput` when there is none.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it leaves no socket behind.
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let mut last = None;
        for addr in addr::resolve(addr).await? {
            match TcpStream::connect_to(addr).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(addr::no_address))
    }

    async fn connect_to(addr: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connecting(mio::net::TcpStream::connect(addr)?).await
    }

    /// Waits until the connection that was begun is there.
    pub(super) async fn connecting(stream: mio::net::TcpStream) -> io::Result<TcpStream> {
        let stream = TcpStream::new(stream)?;
        stream.io.connected(|io| io.take_error()).await?;
        Ok(stream)
    }

    #[track_caller]
    fn new(stream: mio::net::TcpStream) -> io::Result<TcpStream> {
        Ok(TcpStream { io: PollEvented::new(stream)? })
    }

    /// One that was accepted. It can be written, and mostly holds the peer's first words already, so that its first
    /// operations need not wait for the driver; if not, they find out.
    pub(super) fn accepted(stream: mio::net::TcpStream) -> io::Result<TcpStream> {
        let stream = TcpStream::new(stream)?;
        stream.io.registration().assume_ready(Readiness::READABLE | Readiness::WRITABLE);
        Ok(stream)
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
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        check_nonblocking(&stream)?;
        TcpStream::new(mio::net::TcpStream::from_std(stream))
    }

    /// Gives the stream to the standard library. It does not block; call `set_nonblocking(false)` on it if it is to.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.io.into_inner().map(Into::into)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// Those of the OS, as when the stream is not connected any more.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
    }

    /// The error that the OS keeps for the socket (`SO_ERROR`), which it then forgets.
    ///
    /// # Errors
    ///
    /// When the OS does not even say that.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Waits for something to read and copies it into `buf`, without taking it. Returns how many bytes.
    ///
    /// Of the tasks that call this, or read through [`AsyncRead`], only the last is woken.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        let (peeked, ()) = ready!(self.io.poll_read_io(cx, |io| {
            into_read_buf(buf, |unfilled| Ok((io.try_io(|| SockRef::from(io).peek(unfilled))?, ())))
        }))?;
        Poll::Ready(Ok(peeked))
    }

    /// Waits for something to read and copies it into `buf`, without taking it: the next read returns it once more. Returns
    /// how many bytes; 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has taken nothing, as it does in no case.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, |io| io.peek(buf)).await
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

/// Options of the connection.
impl TcpStream {
    /// Whether small packets are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.nodelay()
    }

    /// Has small packets sent at once (`TCP_NODELAY`), instead of collected while an acknowledgement is due.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.set_nodelay(nodelay)
    }

    /// Whether what comes is acknowledged at once (`TCP_QUICKACK`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia", target_os = "cygwin"))]
    pub fn quickack(&self) -> io::Result<bool> {
        SockRef::from(self).tcp_quickack()
    }

    /// Has what comes acknowledged at once (`TCP_QUICKACK`). The OS goes back to its own ways after a while.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia", target_os = "cygwin"))]
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        SockRef::from(self).set_tcp_quickack(quickack)
    }

    /// How long the close waits for what is not sent yet (`SO_LINGER`); `None` if it does not.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Sets how long the close waits for what is not sent yet (`SO_LINGER`).
    ///
    /// It waits in the drop, and stops the whole thread. Only a duration of zero does not wait: for that there is
    /// [`set_zero_linger`](Self::set_zero_linger).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    #[deprecated = "`SO_LINGER` causes the socket to block the thread on drop"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(dur)
    }

    /// Has the close forget what is not sent yet, and tell the peer by a reset (`SO_LINGER` of zero).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(self).set_linger(Some(Duration::ZERO))
    }

    /// How many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets how many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
    }
}

impl AsRef<Self> for TcpStream {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.io).fmt(f)
    }
}

stream_traits!(TcpStream);
socket_traits!(TcpStream, std::net::TcpStream);
