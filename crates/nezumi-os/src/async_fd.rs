//! Any file descriptor that the OS can wait for, driven by its owner.
//!
//! Knows nothing of what is read and written: the owner does that, and says when it would have blocked. This is the
//! public face of a `Registration`.

use crate::evented::{to_mio, to_ready, wants};
use mio::unix::SourceFd;
use nezumi_core::driver::{Readiness, ReadyEvent, Registration};
use nezumi_core::runtime::Handle;
use nezumi_io::{Interest, Ready};
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// A file descriptor that the runtime waits for, while its owner reads and writes it by his own means.
///
/// For descriptors that this crate has no type for, such as those of a device, of inotify, or of a C library. The OS must be
/// able to wait for it (regular files it cannot), it must not block (`O_NONBLOCK`), and it must not be registered elsewhere
/// in the same runtime.
///
/// # How readiness works
///
/// The OS tells of each change once. What it has told stays known, as *readiness*, until an operation finds out that it is
/// not so any more. Here the owner does the operations, so he must say so: each wait returns a guard, and when the operation
/// returned `WouldBlock`, and only then, readiness is to be cleared through it. [`AsyncFdReadyGuard::try_io`] does just that.
/// Who clears without need waits for a change that does not come; who does not clear is told at once that all is
/// ready, over and over. A guard never clears what came after it was made.
///
/// Dropping it, and [`into_inner`](Self::into_inner), ends the registration before the descriptor is closed or handed out.
///
/// # Examples
///
/// ```no_run
/// use nezumi::io::unix::AsyncFd;
/// use std::io::{self, Read};
/// use std::net::TcpStream;
///
/// pub struct Socket {
///     inner: AsyncFd<TcpStream>,
/// }
///
/// impl Socket {
///     pub fn new(stream: TcpStream) -> io::Result<Self> {
///         stream.set_nonblocking(true)?;
///         // SAFETY: a `TcpStream` keeps the same descriptor open until it is dropped.
///         Ok(Self { inner: unsafe { AsyncFd::register(stream)? } })
///     }
///
///     pub async fn read(&self, out: &mut [u8]) -> io::Result<usize> {
///         loop {
///             let mut guard = self.inner.readable().await?;
///             match guard.try_io(|inner| inner.get_ref().read(out)) {
///                 Ok(result) => return result,
///                 Err(_would_block) => continue,
///             }
///         }
///     }
/// }
/// ```
pub struct AsyncFd<T: AsRawFd> {
    registration: Registration,
    /// There until the drop, or until it is taken out for good.
    inner: Option<T>,
}

const TAKEN: &str = "the descriptor is there until it is taken out for good";

/// Registration.
impl<T: AsRawFd> AsyncFd<T> {
    /// Has the current runtime wait for the descriptor of `inner`, for reading and writing.
    ///
    /// # Safety
    ///
    /// The descriptor that `inner.as_raw_fd()` gives must stay open, and must stay the one that it gives, until `inner` is
    /// dropped or comes back.
    ///
    /// # Errors
    ///
    /// Those of the OS, which cannot wait for every kind of file; when the runtime has been shut down. `inner` comes back.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[inline]
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        // SAFETY: handed on.
        unsafe { Self::register_with_interest(inner, BOTH) }
    }

    /// Has the current runtime wait for the descriptor of `inner`, for `interest` only.
    ///
    /// # Safety
    ///
    /// As for [`register`](Self::register).
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[inline]
    #[track_caller]
    pub unsafe fn register_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        let fd = inner.as_raw_fd();
        match Registration::new(&mut SourceFd(&fd), to_mio(interest), Handle::current()) {
            Ok(registration) => Ok(AsyncFd { registration, inner: Some(inner) }),
            Err(cause) => Err(AsyncFdRegisterError { inner, cause }),
        }
    }

    /// As [`register`](Self::register), without saying what the caller owes.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), but `inner` is dropped.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[inline]
    #[track_caller]
    #[deprecated = "whether the descriptor stays open is up to the caller, so use the unsafe `register`"]
    pub fn new(inner: T) -> io::Result<Self> {
        // SAFETY: not checked; this is why it is deprecated.
        unsafe { Self::register(inner) }.map_err(io::Error::from)
    }

    /// As [`register_with_interest`](Self::register_with_interest), without saying what the caller owes.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), but `inner` is dropped.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[inline]
    #[track_caller]
    #[deprecated = "whether the descriptor stays open is up to the caller, so use the unsafe `register_with_interest`"]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<Self> {
        // SAFETY: not checked; this is why it is deprecated.
        unsafe { Self::register_with_interest(inner, interest) }.map_err(io::Error::from)
    }

    /// As [`register`](Self::register), without saying what the caller owes.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[inline]
    #[track_caller]
    #[deprecated = "whether the descriptor stays open is up to the caller, so use the unsafe `register`"]
    pub fn try_new(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        // SAFETY: not checked; this is why it is deprecated.
        unsafe { Self::register(inner) }
    }

    /// As [`register_with_interest`](Self::register_with_interest), without saying what the caller owes.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[inline]
    #[track_caller]
    #[deprecated = "whether the descriptor stays open is up to the caller, so use the unsafe `register_with_interest`"]
    pub fn try_with_interest(inner: T, interest: Interest) -> Result<Self, AsyncFdRegisterError<T>> {
        // SAFETY: not checked; this is why it is deprecated.
        unsafe { Self::register_with_interest(inner, interest) }
    }

    /// What was registered.
    #[inline]
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect(TAKEN)
    }

    /// What was registered. Its descriptor must stay the same.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect(TAKEN)
    }

    /// Ends the registration and gives back what was registered.
    pub fn into_inner(mut self) -> T {
        self.leave().expect(TAKEN)
    }

    fn leave(&mut self) -> Option<T> {
        let inner = self.inner.take()?;
        // What the OS says to it does not matter: the registration has ended in any case.
        let _ = self.registration.deregister(&mut SourceFd(&inner.as_raw_fd()));
        Some(inner)
    }
}

/// Waiting.
impl<T: AsRawFd> AsyncFd<T> {
    fn guard(&self, event: ReadyEvent) -> AsyncFdReadyGuard<'_, T> {
        AsyncFdReadyGuard { async_fd: self, event: Some(event) }
    }

    fn guard_mut(&mut self, event: ReadyEvent) -> AsyncFdReadyMutGuard<'_, T> {
        AsyncFdReadyMutGuard { async_fd: self, event: Some(event) }
    }

    /// Waits until a read would not block. Of the tasks that call this, or [`poll_read_ready_mut`](Self::poll_read_ready_mut), only
    /// the last is woken; where several are to wait use [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    pub fn poll_read_ready<'a>(&'a self, cx: &mut Context<'_>) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_read_ready(cx))?;
        Poll::Ready(Ok(self.guard(event)))
    }

    /// As [`poll_read_ready`](Self::poll_read_ready), with a guard that lends the descriptor out mutably.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_read_ready(cx))?;
        Poll::Ready(Ok(self.guard_mut(event)))
    }

    /// Waits until a write would not block. Of the tasks that call this, or [`poll_write_ready_mut`](Self::poll_write_ready_mut),
    /// only the last is woken; where several are to wait use [`writable`](Self::writable).
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_write_ready(cx))?;
        Poll::Ready(Ok(self.guard(event)))
    }

    /// As [`poll_write_ready`](Self::poll_write_ready), with a guard that lends the descriptor out mutably.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_write_ready(cx))?;
        Poll::Ready(Ok(self.guard_mut(event)))
    }

    /// Waits until the descriptor is ready for something in `interest`. Many tasks may wait at once.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let event = self.registration.readiness(wants(interest)).await?;
        Ok(self.guard(event))
    }

    /// As [`ready`](Self::ready), with a guard that lends the descriptor out mutably.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn ready_mut(&mut self, interest: Interest) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let event = self.registration.readiness(wants(interest)).await?;
        Ok(self.guard_mut(event))
    }

    /// Waits until a read would not block. The same as `ready(Interest::READABLE)`.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn readable<'a>(&'a self) -> io::Result<AsyncFdReadyGuard<'a, T>> {
        self.ready(Interest::READABLE).await
    }

    /// Waits until a read would not block. The same as `ready_mut(Interest::READABLE)`.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn readable_mut<'a>(&'a mut self) -> io::Result<AsyncFdReadyMutGuard<'a, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until a write would not block. The same as `ready(Interest::WRITABLE)`.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn writable<'a>(&'a self) -> io::Result<AsyncFdReadyGuard<'a, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// Waits until a write would not block. The same as `ready_mut(Interest::WRITABLE)`.
    ///
    /// # Errors
    ///
    /// When the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has changed nothing: what was ready stays ready.
    pub async fn writable_mut<'a>(&'a mut self) -> io::Result<AsyncFdReadyMutGuard<'a, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Runs an operation as often as it takes: whenever the descriptor is ready for something in `interest`, until it does not
    /// return `WouldBlock`, which it must when, and only when, the descriptor would have blocked.
    ///
    /// # Errors
    ///
    /// Those of `f`, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, no call of `f` has succeeded.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use nezumi::io::{Interest, unix::AsyncFd};
    /// # use std::net::UdpSocket;
    /// # async fn receive(socket: AsyncFd<UdpSocket>) -> std::io::Result<()> {
    /// let mut buf = [0; 1500];
    /// let len = socket.async_io(Interest::READABLE, |socket| socket.recv(&mut buf)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(wants(interest), || f(self.get_ref())).await
    }

    /// As [`async_io`](Self::async_io), for an operation that needs what was registered mutably.
    ///
    /// # Errors
    ///
    /// As [`async_io`](Self::async_io).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, no call of `f` has succeeded.
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut f: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let inner = self.inner.as_mut().expect(TAKEN);
        self.registration.async_io(wants(interest), || f(inner)).await
    }

    /// Tries an operation, if the descriptor is known to be ready for something in `interest`. It must return `WouldBlock`
    /// when, and only when, the descriptor would have blocked.
    ///
    /// # Errors
    ///
    /// Those of `f`; `WouldBlock`, without a call, where nothing is known.
    pub fn try_io<R>(&self, interest: Interest, f: impl FnOnce(&T) -> io::Result<R>) -> io::Result<R> {
        self.registration.try_io(wants(interest), || f(self.get_ref()))
    }

    /// As [`try_io`](Self::try_io), for an operation that needs what was registered mutably.
    ///
    /// # Errors
    ///
    /// As [`try_io`](Self::try_io).
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        f: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let inner = self.inner.as_mut().expect(TAKEN);
        self.registration.try_io(wants(interest), || f(inner))
    }
}

impl<T: AsRawFd> Drop for AsyncFd<T> {
    fn drop(&mut self) {
        drop(self.leave());
    }
}

impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_raw_fd()
    }
}

impl<T: AsRawFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: who registered it owes that the descriptor stays open as long as `self`.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl<T: fmt::Debug + AsRawFd> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd").field("inner", &self.inner).finish()
    }
}

/// The descriptor was ready: do the operation, and clear the readiness if it would have blocked.
///
/// Made by [`AsyncFd::readable`] and its likes. Dropping it clears nothing.
///
/// # Examples
///
/// ```
/// use nezumi::io::unix::AsyncFd;
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (ours, mut theirs) = UnixStream::pair().unwrap();
/// ours.set_nonblocking(true).unwrap();
/// let fd = AsyncFd::new(ours).unwrap();
/// theirs.write_all(b"squeak").unwrap();
/// let mut buffer = [0; 16];
/// let read = loop {
///     let mut ready = fd.readable().await.unwrap();
///     match ready.try_io(|fd| fd.get_ref().read(&mut buffer)) {
///         Ok(read) => break read.unwrap(),
///         // It was not ready after all, and is waited for again.
///         Err(_would_block) => continue,
///     }
/// };
/// assert_eq!(&buffer[..read], b"squeak");
/// # }
/// ```
#[must_use = "whether the readiness is to be cleared must be said: by `try_io`, `clear_ready` or `retain_ready`"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    async_fd: &'a AsyncFd<T>,
    /// What is not cleared yet.
    event: Option<ReadyEvent>,
}

/// As [`AsyncFdReadyGuard`], with mutable access to what was registered.
///
/// Made by [`AsyncFd::readable_mut`] and its likes. Dropping it clears nothing.
///
/// # Examples
///
/// ```
/// use nezumi::io::unix::AsyncFd;
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (ours, mut theirs) = UnixStream::pair().unwrap();
/// ours.set_nonblocking(true).unwrap();
/// let mut fd = AsyncFd::new(ours).unwrap();
/// theirs.write_all(b"squeak").unwrap();
/// let mut buffer = [0; 16];
/// let mut ready = fd.readable_mut().await.unwrap();
/// let read = ready.get_inner_mut().read(&mut buffer).unwrap();
/// // There may be more.
/// ready.retain_ready();
/// assert_eq!(&buffer[..read], b"squeak");
/// # }
/// ```
#[must_use = "whether the readiness is to be cleared must be said: by `try_io`, `clear_ready` or `retain_ready`"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    async_fd: &'a mut AsyncFd<T>,
    /// What is not cleared yet.
    event: Option<ReadyEvent>,
}

/// What both guards do with their readiness.
macro_rules! guard_methods {
    () => {
        /// Says that the descriptor is not ready after all: the next wait is for the OS's next word. To be called when an
        /// operation would have blocked, and only then. What the OS has told since the guard was made stays known.
        pub fn clear_ready(&mut self) {
            if let Some(event) = self.event.take() {
                self.async_fd.registration.clear_readiness(event);
            }
        }

        /// Says of a part of the readiness that it is not so after all; the rest can be cleared later. As
        /// [`clear_ready`](Self::clear_ready).
        pub fn clear_ready_matching(&mut self, ready: Ready) {
            if let Some(event) = self.event.take() {
                let ready = Readiness::from_bits(ready.bits() as u8);
                self.async_fd.registration.clear_readiness(event.with_ready(ready));
                let rest = event.ready - ready;
                self.event = (!rest.is_empty()).then(|| event.with_ready(rest));
            }
        }

        /// Says that the descriptor is still ready, as it is when an operation went through. Does nothing, which is the
        /// point.
        pub fn retain_ready(&mut self) {}

        /// What the descriptor was ready for, less what was cleared through this guard.
        pub fn ready(&self) -> Ready {
            self.event.map_or(Ready::EMPTY, |event| to_ready(event.ready))
        }
    };
}

impl<'a, Inner: AsRawFd> AsyncFdReadyGuard<'a, Inner> {
    guard_methods!();

    /// Does an operation, and clears the readiness if it returns `WouldBlock`.
    ///
    /// # Errors
    ///
    /// The outer one when `f` returned `WouldBlock`: wait, and try again. The inner one is any other of `f`.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&'a AsyncFd<Inner>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        match f(self.async_fd) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    }

    /// The `AsyncFd` that this is about.
    pub fn get_ref(&self) -> &'a AsyncFd<Inner> {
        self.async_fd
    }

    /// What was registered.
    pub fn get_inner(&self) -> &'a Inner {
        self.async_fd.get_ref()
    }
}

impl<Inner: AsRawFd> AsyncFdReadyMutGuard<'_, Inner> {
    guard_methods!();

    /// Does an operation, and clears the readiness if it returns `WouldBlock`.
    ///
    /// # Errors
    ///
    /// The outer one when `f` returned `WouldBlock`: wait, and try again. The inner one is any other of `f`.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&mut AsyncFd<Inner>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        match f(self.async_fd) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    }

    /// The `AsyncFd` that this is about.
    pub fn get_ref(&self) -> &AsyncFd<Inner> {
        self.async_fd
    }

    /// The `AsyncFd` that this is about.
    pub fn get_mut(&mut self) -> &mut AsyncFd<Inner> {
        self.async_fd
    }

    /// What was registered.
    pub fn get_inner(&self) -> &Inner {
        self.async_fd.get_ref()
    }

    /// What was registered. Its descriptor must stay the same.
    pub fn get_inner_mut(&mut self) -> &mut Inner {
        self.async_fd.get_mut()
    }
}

impl<T: fmt::Debug + AsRawFd> fmt::Debug for AsyncFdReadyGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyGuard").field("async_fd", &self.async_fd).finish()
    }
}

impl<T: fmt::Debug + AsRawFd> fmt::Debug for AsyncFdReadyMutGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutReadyGuard").field("async_fd", &self.async_fd).finish()
    }
}

/// An operation would have blocked, and the readiness is cleared: see [`AsyncFdReadyGuard::try_io`].
///
/// # Examples
///
/// ```
/// use nezumi::io::unix::AsyncFd;
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (ours, mut theirs) = UnixStream::pair().unwrap();
/// ours.set_nonblocking(true).unwrap();
/// let fd = AsyncFd::new(ours).unwrap();
/// theirs.write_all(b"s").unwrap();
/// let mut ready = fd.readable().await.unwrap();
/// let mut byte = [0];
/// assert_eq!(ready.try_io(|fd| fd.get_ref().read(&mut byte)).unwrap().unwrap(), 1);
/// // Nothing more is there, and whoever waits from now on does so until there is.
/// assert!(ready.try_io(|fd| fd.get_ref().read(&mut byte)).is_err());
/// # }
/// ```
#[derive(Debug)]
pub struct TryIoError(());

/// A descriptor could not be registered. Holds what was to be registered, and why it could not be.
///
/// Made by [`AsyncFd::register`].
///
/// # Examples
///
/// ```
/// use nezumi::io::unix::AsyncFd;
/// use std::fs::File;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// // What is always ready cannot be waited for.
/// let file = File::open("/etc/passwd").unwrap();
/// # if cfg!(target_os = "linux") {
/// let error = AsyncFd::try_new(file).unwrap_err();
/// let (file, cause) = error.into_parts();
/// assert_eq!(cause.kind(), std::io::ErrorKind::PermissionDenied);
/// # drop(file); }
/// # }
/// ```
pub struct AsyncFdRegisterError<T> {
    inner: T,
    cause: io::Error,
}

/// The former name of [`AsyncFdRegisterError`].
#[doc(hidden)]
#[deprecated = "it is called `AsyncFdRegisterError` now"]
pub type AsyncFdTryNewError<T> = AsyncFdRegisterError<T>;

impl<T> AsyncFdRegisterError<T> {
    /// What was to be registered, and why it could not be.
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.cause, f)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cause, f)
    }
}

impl<T> Error for AsyncFdRegisterError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<T> From<AsyncFdRegisterError<T>> for io::Error {
    fn from(value: AsyncFdRegisterError<T>) -> Self {
        value.cause
    }
}
