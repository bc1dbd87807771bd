//! TCP, UDP and Unix sockets.
//!
//! - [`TcpListener`], [`TcpStream`], [`TcpSocket`]: connections over IP.
//! - [`UdpSocket`]: datagrams over IP.
//! - [`UnixListener`], [`UnixStream`], [`UnixDatagram`], [`UnixSocket`], [`unix::pipe`]: on one machine.
//! - [`lookup_host`], [`ToSocketAddrs`]: from names to addresses.
//! - [`AcceptBackoff`]: how a loop that accepts lives through a lack of descriptors.
//!
//! Each socket belongs to the runtime in whose context it was made. Its operations wait for that runtime's I/O driver, and
//! fail once it is shut down. All sockets may be read and written by two tasks at a time; the methods that say `ready` or
//! take `&self` and are `async` may be called by any number of tasks.

mod accept_backoff;
mod addr;
mod forward;
mod halves;
mod options;
pub mod tcp;
mod udp;
#[cfg(unix)]
pub mod unix;

pub use accept_backoff::AcceptBackoff;
pub use addr::{ToSocketAddrs, lookup_host};
pub use tcp::listener::TcpListener;
pub use tcp::socket::TcpSocket;
pub use tcp::stream::TcpStream;
pub use udp::UdpSocket;
#[cfg(unix)]
pub use unix::{
    datagram::socket::UnixDatagram, listener::UnixListener, socket::UnixSocket, stream::UnixStream,
};

pub(crate) use addr::each_addr;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;

/// A socket that does not block.
pub(crate) fn nonblocking_socket(domain: Domain, ty: Type, protocol: Option<Protocol>) -> io::Result<Socket> {
    // In the same call where the OS can do that.
    #[cfg(any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd"
    ))]
    return Socket::new(domain, ty.nonblocking(), protocol);
    #[cfg(not(any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd"
    )))]
    {
        let socket = Socket::new(domain, ty, protocol)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }
}

/// Begins to connect a socket that does not block. That it is not done at once is no error.
pub(crate) fn begin_connect(socket: &Socket, addr: &SockAddr) -> io::Result<()> {
    match socket.connect(addr) {
        #[cfg(unix)]
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        #[cfg(windows)]
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        result => result,
    }
}

/// `from_std` must get a socket that does not block the thread. In builds without debug assertions nobody looks, as
/// Tokio does; `--cfg tokio_allow_from_blocking_fd` turns the look off.
///
/// # Panics
///
/// When the socket blocks.
#[cfg(unix)]
#[track_caller]
pub(crate) fn check_nonblocking(socket: &impl std::os::fd::AsFd) -> io::Result<()> {
    if cfg!(all(debug_assertions, not(tokio_allow_from_blocking_fd))) {
        assert!(
            socket2::SockRef::from(socket).nonblocking()?,
            "Registering a blocking socket with the tokio runtime is unsupported. Call `set_nonblocking(true)` on it \
             first: each operation that waits would stop a whole worker."
        );
    }
    Ok(())
}

/// Windows does not tell.
#[cfg(windows)]
pub(crate) fn check_nonblocking<S>(_socket: &S) -> io::Result<()> {
    Ok(())
}
