use super::TcpStream;
use crate::evented::PollEvented;
use crate::net::forward::socket_traits;
use crate::net::{ToSocketAddrs, check_nonblocking, each_addr};
use nezumi_io::Interest;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

/// A socket that others connect to.
///
/// # Examples
///
/// ```no_run
/// use nezumi::net::TcpListener;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:8080").await?;
///     loop {
///         let (mut stream, peer) = listener.accept().await?;
///         nezumi::spawn(async move {
///             let (mut reader, mut writer) = stream.split();
///             match nezumi::io::copy(&mut reader, &mut writer).await {
///                 Ok(bytes) => println!("sent {bytes} bytes back to {peer}"),
///                 Err(error) => println!("{peer} went away: {error}"),
///             }
///         });
///     }
/// }
/// ```
pub struct TcpListener {
    io: PollEvented<mio::net::TcpListener>,
}

impl TcpListener {
    /// Listens at `addr`, a port of 0 standing for any that is free.
    ///
    /// If `addr` stands for several addresses, the first that can be bound is taken. The socket has `SO_REUSEADDR` set, except
    /// on Windows; for anything else to be set before it is bound there is [`TcpSocket`](crate::net::TcpSocket).
    ///
    /// # Errors
    ///
    /// The last address's, when none can be bound; `InvalidInput` when there is none.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it leaves no socket behind.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        each_addr(addr, |addr| TcpListener::new(mio::net::TcpListener::bind(addr)?)).await
    }

    #[track_caller]
    pub(super) fn new(listener: mio::net::TcpListener) -> io::Result<TcpListener> {
        Ok(TcpListener { io: PollEvented::new(listener)? })
    }

    /// Waits for a connection. Returns its stream and the address of the other end.
    ///
    /// An error is about one connection, or about a lack of resources, and seldom the listener's end: where descriptors have run
    /// out (`EMFILE`) the connection still waits, and the next call tries it again. So go on after an
    /// error, but not at once: [`AcceptBackoff`](crate::net::AcceptBackoff) does so.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has accepted no connection: the next call gets it.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = self.io.async_io(Interest::READABLE, |io| io.accept()).await?;
        Ok((TcpStream::accepted(stream)?, peer))
    }

    /// Waits for a connection. Of the tasks that call this only the last is woken; where several tasks are to accept use
    /// [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (stream, peer) = ready!(self.io.poll_read_io(cx, |io| io.accept()))?;
        Poll::Ready(TcpStream::accepted(stream).map(|stream| (stream, peer)))
    }

    /// Takes a listener of the standard library over. It must not block: call `set_nonblocking(true)` on it first.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver; in builds with debug assertions, if the listener blocks.
    #[track_caller]
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        check_nonblocking(&listener)?;
        TcpListener::new(mio::net::TcpListener::from_std(listener))
    }

    /// Gives the listener to the standard library. It does not block; call `set_nonblocking(false)` on it if it is to.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        self.io.into_inner().map(Into::into)
    }

    /// The address that it listens at. Tells which port was free.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
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

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.io).fmt(f)
    }
}

socket_traits!(TcpListener, std::net::TcpListener);
