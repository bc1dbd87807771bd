use crate::evented::{PollEvented, into_buf, into_read_buf};
use crate::net::check_nonblocking;
use crate::net::forward::{poll_readable, poll_writable, ready_methods, socket_traits};
use crate::net::unix::SocketAddr;
use bytes::BufMut;
use nezumi_core::driver::Readiness;
use nezumi_io::{Interest, ReadBuf, Ready};
use socket2::SockRef;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::path::Path;
use std::task::{Context, Poll};

/// A Unix socket for datagrams. Unlike those of UDP they are neither lost nor reordered.
///
/// Two ways to use it:
///
/// - one to many: [`bind`](Self::bind) it, then [`send_to`](Self::send_to) and [`recv_from`](Self::recv_from);
/// - one to one: [`connect`](Self::connect) it, or make a [`pair`](Self::pair), then [`send`](Self::send) and
///   [`recv`](Self::recv).
///
/// # Examples
///
/// ```no_run
/// use nezumi::net::UnixDatagram;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let (a, b) = UnixDatagram::pair()?;
///     a.send(b"hello").await?;
///     let mut buf = [0; 16];
///     let len = b.recv(&mut buf).await?;
///     assert_eq!(&buf[..len], b"hello");
///     Ok(())
/// }
/// ```
pub struct UnixDatagram {
    io: PollEvented<mio::net::UnixDatagram>,
}

impl UnixDatagram {
    /// A socket with the address `path`, which must not exist yet. Dropping the socket leaves it there.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixDatagram>
    where
        P: AsRef<Path>,
    {
        UnixDatagram::new(mio::net::UnixDatagram::bind(path)?)
    }

    /// A socket without an address: it can send, and be connected, but nobody can send to it.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn unbound() -> io::Result<UnixDatagram> {
        UnixDatagram::new(mio::net::UnixDatagram::unbound()?)
    }

    /// Makes two sockets that are connected to each other.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (a, b) = mio::net::UnixDatagram::pair()?;
        let (a, b) = (UnixDatagram::new(a)?, UnixDatagram::new(b)?);
        // Nothing was sent yet, so both can be written.
        a.io.registration().assume_ready(Readiness::WRITABLE);
        b.io.registration().assume_ready(Readiness::WRITABLE);
        Ok((a, b))
    }

    #[track_caller]
    pub(in crate::net::unix) fn new(socket: mio::net::UnixDatagram) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { io: PollEvented::new(socket)? })
    }

    /// Takes a socket of the standard library over. It must not block: call `set_nonblocking(true)` on it first.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver; in builds with debug assertions, if the socket blocks.
    #[track_caller]
    pub fn from_std(datagram: std::os::unix::net::UnixDatagram) -> io::Result<UnixDatagram> {
        check_nonblocking(&datagram)?;
        UnixDatagram::new(mio::net::UnixDatagram::from_std(datagram))
    }

    /// Gives the socket to the standard library. It does not block; call `set_nonblocking(false)` on it if it is to.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixDatagram> {
        self.io.into_inner().map(Into::into)
    }

    /// Connects the socket: [`send`](Self::send) sends to `path` from now on, and only what comes from there is received.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.connect(path)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// The address of the peer that the socket is connected to.
    ///
    /// # Errors
    ///
    /// Those of the OS: `NotConnected` if it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr)
    }

    /// The error that the OS keeps for the socket (`SO_ERROR`), which it then forgets.
    ///
    /// # Errors
    ///
    /// When the OS does not even say that.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Closes one direction, or both. What the peer has sent can still be received.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }

    ready_methods!();
    poll_readable!(poll_recv_ready);
    poll_writable!(poll_send_ready);
}

/// Sending. A datagram goes as a whole or not at all; while the peer's queue is full there is no room.
impl UnixDatagram {
    /// Sends `buf` to the peer that the socket is connected to. Returns how many bytes that was.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has sent nothing.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.async_io(Interest::WRITABLE, |io| io.send(buf)).await
    }

    /// The `poll` form of [`send`](Self::send). Of the tasks that send in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io.poll_write_io(cx, |io| io.send(buf))
    }

    /// Sends without waiting. As [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room, without a system call if that is known; those of the OS.
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |io| io.send(buf))
    }

    /// Sends `buf` to the socket at `target`. Returns how many bytes that was.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has sent nothing.
    pub async fn send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        self.io.async_io(Interest::WRITABLE, |io| io.send_to(buf, target.as_ref())).await
    }

    /// The `poll` form of [`send_to`](Self::send_to). Of the tasks that send in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    pub fn poll_send_to<P>(&self, cx: &mut Context<'_>, buf: &[u8], target: P) -> Poll<io::Result<usize>>
    where
        P: AsRef<Path>,
    {
        self.io.poll_write_io(cx, |io| io.send_to(buf, target.as_ref()))
    }

    /// Sends without waiting. As [`send_to`](Self::send_to).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room, without a system call if that is known; those of the OS.
    pub fn try_send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        self.io.try_io(Interest::WRITABLE, |io| io.send_to(buf, target))
    }
}

/// How one receives into memory that need not be initialised.
type Receive<A> = fn(SockRef<'_>, &mut [MaybeUninit<u8>]) -> io::Result<(usize, A)>;

const RECV: Receive<()> = |socket, buf| Ok((socket.recv(buf)?, ()));
const RECV_FROM: Receive<SocketAddr> = |socket, buf| {
    let (len, addr) = socket.recv_from(buf)?;
    Ok((len, SocketAddr::from_raw(&addr)?))
};

/// Receiving. A datagram that is longer than the buffer is cut off: what does not fit is lost.
impl UnixDatagram {
    fn poll_receive<A>(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        receive: Receive<A>,
    ) -> Poll<io::Result<A>> {
        let receive = |io: &mio::net::UnixDatagram, buf: &mut ReadBuf<'_>| {
            into_read_buf(buf, |unfilled| io.try_io(|| receive(SockRef::from(io), unfilled)))
        };
        self.io.poll_read_io(cx, |io| receive(io, buf)).map_ok(|(_, from)| from)
    }

    fn try_receive_buf<A>(&self, buf: &mut impl BufMut, receive: Receive<A>) -> io::Result<(usize, A)> {
        self.io.try_io(Interest::READABLE, |io| {
            into_buf(buf, |unfilled| io.try_io(|| receive(SockRef::from(io), unfilled)))
        })
    }

    async fn receive_buf<A>(&self, buf: &mut impl BufMut, receive: Receive<A>) -> io::Result<(usize, A)> {
        self.io
            .async_io(Interest::READABLE, |io| {
                into_buf(buf, |unfilled| io.try_io(|| receive(SockRef::from(io), unfilled)))
            })
            .await
    }

    /// Receives a datagram. Returns its length, as far as it fitted.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, |io| io.recv(buf)).await
    }

    /// The `poll` form of [`recv`](Self::recv). Of the tasks that receive in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_receive(cx, buf, RECV)
    }

    /// Receives without waiting. As [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |io| io.recv(buf))
    }

    /// Receives without waiting, to the end of `buf`, and moves that on. As [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.try_receive_buf(buf, RECV).map(|(len, ())| len)
    }

    /// Receives to the end of `buf`, and moves that on. As [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.receive_buf(buf, RECV).await.map(|(len, ())| len)
    }

    /// Receives a datagram. Returns its length, as far as it fitted, and whom it came from.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (len, from) = self.io.async_io(Interest::READABLE, |io| io.recv_from(buf)).await?;
        Ok((len, SocketAddr(from)))
    }

    /// The `poll` form of [`recv_from`](Self::recv_from). Of the tasks that receive in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        self.poll_receive(cx, buf, RECV_FROM)
    }

    /// Receives without waiting. As [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (len, from) = self.io.try_io(Interest::READABLE, |io| io.recv_from(buf))?;
        Ok((len, SocketAddr(from)))
    }

    /// Receives without waiting, to the end of `buf`, and moves that on. As [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.try_receive_buf(buf, RECV_FROM)
    }

    /// Receives to the end of `buf`, and moves that on. As [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.receive_buf(buf, RECV_FROM).await
    }
}

impl fmt::Debug for UnixDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.io).fmt(f)
    }
}

socket_traits!(UnixDatagram, std::os::unix::net::UnixDatagram);
