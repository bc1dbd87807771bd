use super::datagram::socket::UnixDatagram;
use super::listener::UnixListener;
use super::stream::UnixStream;
use crate::net::forward::os_handle;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, RawFd};
use std::path::Path;

/// A Unix socket that is not yet what it is to be, for options to be set, or an address bound, before.
///
/// [`listen`](Self::listen), [`connect`](Self::connect) or [`datagram`](Self::datagram) makes it that.
///
/// # Examples
///
/// ```no_run
/// use nezumi::net::UnixSocket;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let socket = UnixSocket::new_stream()?;
///     socket.bind("/run/client.sock")?;
///     let _stream = socket.connect("/run/server.sock").await?;
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct UnixSocket {
    inner: Socket,
}

impl UnixSocket {
    /// A socket for datagrams.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn new_datagram() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::DGRAM)
    }

    /// A socket for streams.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn new_stream() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::STREAM)
    }

    fn new(ty: Type) -> io::Result<UnixSocket> {
        Ok(UnixSocket { inner: crate::net::nonblocking_socket(Domain::UNIX, ty, None)? })
    }

    /// Fails with `refusal` if the socket is of type `ty`.
    fn refuse(&self, ty: Type, refusal: &'static str) -> io::Result<()> {
        if self.inner.r#type()? == ty { Err(io::Error::other(refusal)) } else { Ok(()) }
    }

    /// Gives the socket the address `path`, which must not exist yet.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.inner.bind(&SockAddr::unix(path)?)
    }

    /// Listens, with room for `backlog` connections that nobody has accepted yet.
    ///
    /// # Errors
    ///
    /// When the socket is one for datagrams; those of the OS; when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.refuse(Type::DGRAM, "listen cannot be called on a datagram socket")?;
        self.inner.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        UnixListener::new(mio::net::UnixListener::from_std(self.inner.into()))
    }

    /// Connects to the socket at `path`.
    ///
    /// # Errors
    ///
    /// When the socket is one for datagrams; those of the OS; when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it closes the socket.
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.refuse(Type::DGRAM, "connect cannot be called on a datagram socket")?;
        crate::net::begin_connect(&self.inner, &SockAddr::unix(path)?)?;
        UnixStream::connecting(mio::net::UnixStream::from_std(self.inner.into())).await
    }

    /// Makes a [`UnixDatagram`] of it.
    ///
    /// # Errors
    ///
    /// When the socket is one for streams; what the OS keeps for it; when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        self.refuse(Type::STREAM, "datagram cannot be called on a stream socket")?;
        let datagram = UnixDatagram::new(mio::net::UnixDatagram::from_std(self.inner.into()))?;
        datagram.take_error()?.map_or(Ok(datagram), Err)
    }
}

os_handle!(UnixSocket, inner);

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.inner.into_raw_fd()
    }
}

impl FromRawFd for UnixSocket {
    /// Takes a Unix socket over. It must not block, if it is to be used by a runtime.
    ///
    /// # Safety
    ///
    /// `fd` is open, and owned by the caller, who gives it away.
    unsafe fn from_raw_fd(fd: RawFd) -> UnixSocket {
        // SAFETY: handed on.
        UnixSocket { inner: unsafe { Socket::from_raw_fd(fd) } }
    }
}
