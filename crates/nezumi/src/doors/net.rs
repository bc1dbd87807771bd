//! TCP, UDP and Unix sockets, and pipes.
//!
//! | to | use |
//! |---|---|
//! | connect, accept, read and write | [`TcpStream`], [`TcpListener`] |
//! | go on accepting when descriptors run out | [`AcceptBackoff`] |
//! | set options before connecting or listening | [`TcpSocket`] |
//! | send and receive datagrams | [`UdpSocket`] |
//! | talk to processes on this machine | [`UnixStream`], [`UnixListener`], [`UnixDatagram`], [`unix::pipe`] |
//! | resolve a name | [`lookup_host`] |

#[doc(inline)]
pub use nezumi_os::net::ToSocketAddrs;

#[cfg(feature = "net")]
#[doc(inline)]
pub use nezumi_os::net::{AcceptBackoff, TcpListener, TcpSocket, TcpStream, UdpSocket, lookup_host, tcp};

#[cfg(all(unix, feature = "net"))]
#[doc(inline)]
pub use nezumi_os::net::{UnixDatagram, UnixListener, UnixSocket, UnixStream, unix};
