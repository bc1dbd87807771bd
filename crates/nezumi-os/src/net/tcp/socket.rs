use super::{TcpListener, TcpStream};
use crate::net::forward::os_handle;
use crate::net::options::ip_options;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A TCP socket that is neither a listener nor a stream yet, for options to be set that must be set before.
///
/// [`listen`](Self::listen) and [`connect`](Self::connect) make the one or the other of it. Whatever this type does not
/// offer can be set through `socket2::SockRef::from(&socket)`.
///
/// # Examples
///
/// ```no_run
/// use nezumi::net::TcpSocket;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let socket = TcpSocket::new_v4()?;
///     socket.set_reuseaddr(true)?;
///     socket.bind("127.0.0.1:8080".parse().unwrap())?;
///     let listener = socket.listen(1024)?;
///     let (_stream, _peer) = listener.accept().await?;
///     Ok(())
/// }
/// ```
pub struct TcpSocket {
    inner: Socket,
}

impl TcpSocket {
    /// A socket for IPv4.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV4)
    }

    /// A socket for IPv6.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<TcpSocket> {
        Ok(TcpSocket { inner: crate::net::nonblocking_socket(domain, Type::STREAM, Some(Protocol::TCP))? })
    }

    /// Takes a stream of the standard library over, connected or not. It must not block, if it is to be used by a runtime:
    /// call `set_nonblocking(true)` on it first.
    pub fn from_std_stream(std_stream: std::net::TcpStream) -> TcpSocket {
        TcpSocket { inner: std_stream.into() }
    }

    /// Gives the socket an address.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.inner.bind(&addr.into())
    }

    /// Connects to `addr`.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it closes the socket.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        crate::net::begin_connect(&self.inner, &addr.into())?;
        TcpStream::connecting(mio::net::TcpStream::from_std(self.inner.into())).await
    }

    /// Listens, with room for `backlog` connections that nobody has accepted yet. The OS has an upper limit for that, too.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.inner.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::new(mio::net::TcpListener::from_std(self.inner.into()))
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()?.as_socket().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "invalid address family (not IPv4 or IPv6)")
        })
    }

    /// The error that the OS keeps for the socket (`SO_ERROR`), which it then forgets.
    ///
    /// # Errors
    ///
    /// When the OS does not even say that.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.inner.take_error()
    }

    fn sock_ref(&self) -> SockRef<'_> {
        SockRef::from(&self.inner)
    }
}

/// Options.
impl TcpSocket {
    /// Whether the OS asks an idle peer from time to time whether it is still there (`SO_KEEPALIVE`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn keepalive(&self) -> io::Result<bool> {
        self.inner.keepalive()
    }

    /// Has the OS ask an idle peer from time to time whether it is still there (`SO_KEEPALIVE`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_keepalive(&self, keepalive: bool) -> io::Result<()> {
        self.inner.set_keepalive(keepalive)
    }

    /// Whether an address may be bound whose former connections are not quite gone (`SO_REUSEADDR`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn reuseaddr(&self) -> io::Result<bool> {
        self.inner.reuse_address()
    }

    /// Allows to bind an address whose former connections are not quite gone (`SO_REUSEADDR`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_reuseaddr(&self, reuseaddr: bool) -> io::Result<()> {
        self.inner.set_reuse_address(reuseaddr)
    }

    /// Whether several sockets may be bound to the same address (`SO_REUSEPORT`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    #[cfg(all(
        unix,
        not(target_os = "solaris"),
        not(target_os = "illumos"),
        not(target_os = "cygwin"),
        not(target_os = "nuttx"),
    ))]
    pub fn reuseport(&self) -> io::Result<bool> {
        self.inner.reuse_port()
    }

    /// Allows several sockets to be bound to the same address (`SO_REUSEPORT`). The OS spreads connections among them.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    #[cfg(all(
        unix,
        not(target_os = "solaris"),
        not(target_os = "illumos"),
        not(target_os = "cygwin"),
        not(target_os = "nuttx"),
    ))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.inner.set_reuse_port(reuseport)
    }

    /// The room for what is to be sent, in bytes (`SO_SNDBUF`). Linux counts its own needs in and says twice what was set.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        self.inner.send_buffer_size().map(|size| size as u32)
    }

    /// Sets the room for what is to be sent, in bytes (`SO_SNDBUF`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_send_buffer_size(size as usize)
    }

    /// The room for what was received, in bytes (`SO_RCVBUF`). Linux counts its own needs in and says twice what was set.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        self.inner.recv_buffer_size().map(|size| size as u32)
    }

    /// Sets the room for what was received, in bytes (`SO_RCVBUF`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_recv_buffer_size(size as usize)
    }

    /// How long the close waits for what is not sent yet (`SO_LINGER`); `None` if it does not.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.inner.linger()
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
        self.inner.set_linger(dur)
    }

    /// Has the close forget what is not sent yet, and tell the peer by a reset (`SO_LINGER` of zero).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.inner.set_linger(Some(Duration::ZERO))
    }

    /// Whether small packets are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.inner.tcp_nodelay()
    }

    /// Has small packets sent at once (`TCP_NODELAY`), instead of collected while an acknowledgement is due.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.inner.set_tcp_nodelay(nodelay)
    }

    ip_options!();
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

os_handle!(TcpSocket, inner);

#[cfg(unix)]
mod unix {
    use super::TcpSocket;
    use socket2::Socket;
    use std::os::fd::{FromRawFd, IntoRawFd, RawFd};

    impl IntoRawFd for TcpSocket {
        fn into_raw_fd(self) -> RawFd {
            self.inner.into_raw_fd()
        }
    }

    impl FromRawFd for TcpSocket {
        /// Takes a TCP socket over. It must not block, if it is to be used by a runtime.
        ///
        /// # Safety
        ///
        /// `fd` is open, and owned by the caller, who gives it away.
        unsafe fn from_raw_fd(fd: RawFd) -> TcpSocket {
            // SAFETY: handed on.
            TcpSocket { inner: unsafe { Socket::from_raw_fd(fd) } }
        }
    }
}

#[cfg(windows)]
mod windows {
    use super::TcpSocket;
    use socket2::Socket;
    use std::os::windows::io::{FromRawSocket, IntoRawSocket, RawSocket};

    impl IntoRawSocket for TcpSocket {
        fn into_raw_socket(self) -> RawSocket {
            self.inner.into_raw_socket()
        }
    }

    impl FromRawSocket for TcpSocket {
        /// Takes a TCP socket over. It must not block, if it is to be used by a runtime.
        ///
        /// # Safety
        ///
        /// `socket` is open, and owned by the caller, who gives it away.
        unsafe fn from_raw_socket(socket: RawSocket) -> TcpSocket {
            // SAFETY: handed on.
            TcpSocket { inner: unsafe { Socket::from_raw_socket(socket) } }
        }
    }
}
