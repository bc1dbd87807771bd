use super::SocketAddr;
use super::stream::UnixStream;
use crate::evented::PollEvented;
use crate::net::check_nonblocking;
use crate::net::forward::socket_traits;
use nezumi_io::Interest;
use std::fmt;
use std::io;
use std::path::Path;
use std::task::{Context, Poll, ready};

/// A Unix socket that others on the same machine connect to.
///
/// # Examples
///
/// ```no_run
/// use nezumi::net::UnixListener;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let listener = UnixListener::bind("/run/example.sock")?;
///     loop {
///         let (stream, _addr) = listener.accept().await?;
///         println!("user {} is here", stream.peer_cred()?.uid());
///     }
/// }
/// ```
pub struct UnixListener {
    io: PollEvented<mio::net::UnixListener>,
}

impl UnixListener {
    /// Listens at `path`, which must not exist yet. Dropping the listener leaves it there.
    ///
    /// On Linux a path that begins with a null byte is a name in the abstract namespace, which goes with the listener.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixListener>
    where
        P: AsRef<Path>,
    {
        UnixListener::bind_addr(&SocketAddr::from_path(path.as_ref())?)
    }

    /// Listens at `socket_addr`. As [`bind`](Self::bind).
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixListener> {
        UnixListener::new(mio::net::UnixListener::bind_addr(&socket_addr.0)?)
    }

    #[track_caller]
    pub(super) fn new(listener: mio::net::UnixListener) -> io::Result<UnixListener> {
        Ok(UnixListener { io: PollEvented::new(listener)? })
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
    pub fn from_std(listener: std::os::unix::net::UnixListener) -> io::Result<UnixListener> {
        check_nonblocking(&listener)?;
        UnixListener::new(mio::net::UnixListener::from_std(listener))
    }

    /// Gives the listener to the standard library. It does not block; call `set_nonblocking(false)` on it if it is to.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixListener> {
        self.io.into_inner().map(Into::into)
    }

    /// The address that it listens at.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// The error that the OS keeps for the socket (`SO_ERROR`), which it then forgets.
    ///
    /// # Errors
    ///
    /// When the OS does not even say that.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Waits for a connection. Returns its stream and the address of the other end, which mostly has none.
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
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, peer) = self.io.async_io(Interest::READABLE, |io| io.accept()).await?;
        Ok((UnixStream::accepted(stream)?, SocketAddr(peer)))
    }

    /// Waits for a connection. Of the tasks that call this only the last is woken; where several tasks are to accept use
    /// [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let (stream, peer) = ready!(self.io.poll_read_io(cx, |io| io.accept()))?;
        Poll::Ready(UnixStream::accepted(stream).map(|stream| (stream, SocketAddr(peer))))
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.io).fmt(f)
    }
}

socket_traits!(UnixListener, std::os::unix::net::UnixListener);
