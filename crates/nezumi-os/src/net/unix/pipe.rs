//! Pipes: the nameless ones, and those that have a name in the file system (FIFOs).

use crate::evented::{PollEvented, ReadUninit};
use crate::net::forward::{os_handle, poll_readable, poll_writable, try_read_methods, try_write_methods};
use bytes::BufMut;
use mio::unix::pipe as mio_pipe;
use nezumi_io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Makes a pipe, and its two ends.
///
/// # Errors
///
/// Those of the OS, and when the runtime has been shut down.
///
/// # Panics
///
/// Outside a runtime, or where it has no I/O driver.
///
/// # Examples
///
/// ```no_run
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
/// use nezumi::net::unix::pipe;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let (mut sender, mut receiver) = pipe::pipe()?;
///     sender.write_all(b"hello").await?;
///     drop(sender);
///     let mut text = String::new();
///     receiver.read_to_string(&mut text).await?;
///     assert_eq!(text, "hello");
///     Ok(())
/// }
/// ```
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (sender, receiver) = mio_pipe::new()?;
    Ok((Sender::new(sender)?, Receiver::new(receiver)?))
}

/// How a FIFO is opened.
///
/// # Examples
///
/// A reader that outlives its writers: it holds the other end, too, and so never meets the end of the stream.
///
/// ```no_run
/// use nezumi::net::unix::pipe;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     # #[cfg(target_os = "linux")]
///     let receiver = pipe::OpenOptions::new().read_write(true).open_receiver("/run/example.fifo")?;
///     # #[cfg(target_os = "linux")]
///     receiver.readable().await?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    read_write: bool,
    unchecked: bool,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// Each end for itself, and with a look whether it is a FIFO.
    pub fn new() -> OpenOptions {
        OpenOptions {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            read_write: false,
            unchecked: false,
        }
    }

    /// Opens the FIFO for reading and writing at once, so that the other end is there from the beginning, and stays: a
    /// sender can be opened before there is a receiver, and a receiver never meets the end of the stream.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Leaves the look out. For whoever knows that it is a FIFO; with another kind of file reading and writing may block the
    /// thread.
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.unchecked = value;
        self
    }

    /// Opens the end that reads.
    ///
    /// # Errors
    ///
    /// Those of the OS; `InvalidInput` if it is no FIFO; when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        Receiver::from_file_unchecked(self.open(path.as_ref(), File::options().read(true))?)
    }

    /// Opens the end that writes.
    ///
    /// # Errors
    ///
    /// Those of the OS: `ENXIO` if nobody reads. `InvalidInput` if it is no FIFO; when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        Sender::from_file_unchecked(self.open(path.as_ref(), File::options().write(true))?)
    }

    fn open(&self, path: &Path, options: &mut std::fs::OpenOptions) -> io::Result<File> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.read_write {
            options.read(true).write(true);
        }
        let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
        if !self.unchecked {
            check_pipe(file.as_fd())?;
        }
        Ok(file)
    }
}

/// The end of a pipe that writes.
///
/// Written through [`AsyncWrite`]. When nobody can read any more a write fails with `BrokenPipe`. Dropping it closes it, and
/// that is how the reader learns of the end: [`shutdown`](AsyncWrite::poll_shutdown) does nothing.
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
/// use nezumi::net::unix::pipe;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (mut sender, mut receiver) = pipe::pipe().unwrap();
/// sender.write_all(b"squeak").await.unwrap();
/// // That is the end.
/// drop(sender);
/// let mut text = String::new();
/// receiver.read_to_string(&mut text).await.unwrap();
/// assert_eq!(text, "squeak");
/// # }
/// ```
#[derive(Debug)]
pub struct Sender {
    io: PollEvented<mio_pipe::Sender>,
}

/// The end of a pipe that reads.
///
/// Read through [`AsyncRead`]. The stream ends when nobody can write any more.
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
/// use nezumi::net::unix::pipe;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (mut sender, mut receiver) = pipe::pipe().unwrap();
/// let reader = nezumi::spawn(async move { receiver.read_u8().await });
/// sender.write_u8(7).await.unwrap();
/// assert_eq!(reader.await.unwrap().unwrap(), 7);
/// # }
/// ```
#[derive(Debug)]
pub struct Receiver {
    io: PollEvented<mio_pipe::Receiver>,
}

impl ReadUninit for mio_pipe::Receiver {
    #[inline]
    fn read_uninit(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        self.try_io(|| {
            // SAFETY: the OS writes at most as many bytes as `buf` has.
            let read = unsafe { libc::read(self.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) };
            usize::try_from(read).map_err(|_| io::Error::last_os_error())
        })
    }
}

/// From and to descriptors, and waiting: what both ends have.
macro_rules! end_methods {
    ($End:ident, $mio:ty, $interest:expr, $allows:ident, $wrong:literal) => {
        #[track_caller]
        pub(crate) fn new(io: $mio) -> io::Result<$End> {
            Ok($End { io: PollEvented::with_interest(io, $interest)? })
        }

        /// Takes a pipe over that is open as a file, and makes it not block.
        ///
        /// # Errors
        ///
        /// `InvalidInput` if it is no pipe, or not open in this direction; those of the OS; when the runtime has been shut down.
        ///
        /// # Panics
        ///
        /// Outside a runtime, or where it has no I/O driver.
        #[track_caller]
        pub fn from_file(file: File) -> io::Result<$End> {
            Self::from_owned_fd(file.into())
        }

        /// Takes a pipe over, and makes it not block.
        ///
        /// # Errors
        ///
        /// `InvalidInput` if it is no pipe, or not open in this direction; those of the OS; when the runtime has been shut down.
        ///
        /// # Panics
        ///
        /// Outside a runtime, or where it has no I/O driver.
        #[track_caller]
        pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<$End> {
            check_pipe(owned_fd.as_fd())?;
            let flags = flags(owned_fd.as_fd())?;
            if ![libc::$allows, libc::O_RDWR].contains(&(flags & libc::O_ACCMODE)) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, $wrong));
            }
            if flags & libc::O_NONBLOCK == 0 {
                set_flags(owned_fd.as_fd(), flags | libc::O_NONBLOCK)?;
            }
            Self::from_owned_fd_unchecked(owned_fd)
        }

        /// Takes a pipe over that is open as a file. The caller knows that it is one, is open in this direction, and does not
        /// block.
        ///
        /// # Errors
        ///
        /// Those of the OS, and when the runtime has been shut down.
        ///
        /// # Panics
        ///
        /// Outside a runtime, or where it has no I/O driver.
        #[track_caller]
        pub fn from_file_unchecked(file: File) -> io::Result<$End> {
            Self::from_owned_fd_unchecked(file.into())
        }

        /// Takes a pipe over. The caller knows that it is one, is open in this direction, and does not block.
        ///
        /// # Errors
        ///
        /// Those of the OS, and when the runtime has been shut down.
        ///
        /// # Panics
        ///
        /// Outside a runtime, or where it has no I/O driver.
        #[track_caller]
        pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<$End> {
            Self::new(owned_fd.into())
        }

        /// Gives the descriptor away, and makes it block, as other programs want it.
        ///
        /// # Errors
        ///
        /// Those of the OS.
        pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
            let fd = self.into_nonblocking_fd()?;
            set_flags(fd.as_fd(), flags(fd.as_fd())? & !libc::O_NONBLOCK)?;
            Ok(fd)
        }

        /// Gives the descriptor away as it is.
        ///
        /// # Errors
        ///
        /// Those of the OS.
        pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
            self.io.into_inner().map(Into::into)
        }

        /// Waits until the pipe is ready for something in `interest`, and says for what. Many tasks may wait at once.
        ///
        /// # Errors
        ///
        /// When the runtime has been shut down.
        ///
        /// # Cancel safety
        ///
        /// Dropped before it completes, it has changed nothing: what was ready stays ready.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            self.io.ready(interest).await
        }

        /// Tries an operation of your own on the pipe.
        ///
        /// `f` is called only if the pipe is known to be ready. If it returns `WouldBlock`, that is taken back, and the pipe waits
        /// for the OS's next word: so it must return `WouldBlock` when, and only when, the operation on this very pipe did.
        ///
        /// # Errors
        ///
        /// Those of `f`; `WouldBlock`, without a call, where nothing is known.
        pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
            self.io.try_io($interest, |io| io.try_io(f))
        }
    };
}

impl Sender {
    end_methods!(
        Sender,
        mio_pipe::Sender,
        Interest::WRITABLE,
        O_WRONLY,
        "not in O_WRONLY or O_RDWR access mode"
    );

    /// Waits until something can be written, or nobody reads any more.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn writable(&self) -> io::Result<()> {
        self.io.ready(Interest::WRITABLE).await.map(drop)
    }

    poll_writable!(poll_write_ready);
    try_write_methods!();
}

impl Receiver {
    end_methods!(
        Receiver,
        mio_pipe::Receiver,
        Interest::READABLE,
        O_RDONLY,
        "not in O_RDONLY or O_RDWR access mode"
    );

    /// Waits until there is something to read, or nothing will come any more.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn readable(&self) -> io::Result<()> {
        self.io.ready(Interest::READABLE).await.map(drop)
    }

    poll_readable!(poll_read_ready);
    try_read_methods!();
}

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

os_handle!(Sender, io);
os_handle!(Receiver, io);

/// Fails unless `fd` is a pipe.
fn check_pipe(fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` has room for what the call writes.
    if unsafe { libc::fstat(fd.as_raw_fd(), stat.as_mut_ptr()) } == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled it in.
    let mode = unsafe { stat.assume_init() }.st_mode as libc::mode_t;
    if mode & libc::S_IFMT == libc::S_IFIFO {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a pipe"))
    }
}

fn flags(fd: BorrowedFd<'_>) -> io::Result<libc::c_int> {
    // SAFETY: touches no memory of ours.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags => Ok(flags),
    }
}

fn set_flags(fd: BorrowedFd<'_>, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: touches no memory of ours.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
