//! Methods that several sockets have in common, written once.
//!
//! Each macro stands inside an `impl` of a type with a field `io: PollEvented<_>`, or beside it. What is said in their docs is
//! true of each of the types.

/// `ready`, `readable`, `writable`, `try_io` and `async_io`.
macro_rules! ready_methods {
    () => {
        /// Waits until the socket is ready for something in `interest`, and says for what.
        ///
        /// For use with the `try_` methods. Many tasks may wait at once, each for what it likes. The answer may be wrong by
        /// the time it is used: an operation then returns `WouldBlock`, which makes the socket wait for the OS's next word.
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

        /// Waits until there is something to receive, or nothing will come any more.
        ///
        /// The same as `ready(Interest::READABLE)`.
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

        /// Waits until something can be sent, or nothing will be taken any more.
        ///
        /// The same as `ready(Interest::WRITABLE)`.
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

        /// Tries an operation of your own on the socket.
        ///
        /// `f` is called only if the socket is known to be ready for something in `interest`. If it returns `WouldBlock`, that
        /// is taken back, and the socket waits for the OS's next word: so it must return `WouldBlock` when, and only when,
        /// the operation on this very socket did.
        ///
        /// # Errors
        ///
        /// Those of `f`; `WouldBlock`, without a call, where nothing is known.
        pub fn try_io<R>(&self, interest: Interest, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
            self.io.try_io(interest, |io| io.try_io(f))
        }

        /// Runs an operation of your own on the socket, as often as it takes.
        ///
        /// `f` is called when the socket is ready for something in `interest`, and again as long as it returns `WouldBlock`: so it
        /// must return `WouldBlock` when, and only when, the operation on this very socket did. It must not register the
        /// socket, nor run an operation of this type's own.
        ///
        /// # Errors
        ///
        /// Those of `f`, and when the runtime has been shut down.
        ///
        /// # Cancel safety
        ///
        /// Dropped before it completes, no call of `f` has succeeded.
        pub async fn async_io<R>(
            &self,
            interest: Interest,
            mut f: impl FnMut() -> io::Result<R>,
        ) -> io::Result<R> {
            self.io.async_io(interest, |io| io.try_io(&mut f)).await
        }
    };
}

/// The `poll` form of `readable`.
macro_rules! poll_readable {
    ($name:ident) => {
        /// Waits until there is something to receive, or nothing will come any more.
        ///
        /// Of the tasks that call this, or any other method whose name begins with `poll` and that receives, only the last
        /// is woken. Where several tasks are to wait use [`readable`](Self::readable).
        ///
        /// # Errors
        ///
        /// When the runtime has been shut down.
        pub fn $name(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.io.registration().poll_read_ready(cx).map_ok(drop)
        }
    };
}

/// The `poll` form of `writable`.
macro_rules! poll_writable {
    ($name:ident) => {
        /// Waits until something can be sent, or nothing will be taken any more.
        ///
        /// Of the tasks that call this, or any other method whose name begins with `poll` and that sends, only the last is
        /// woken. Where several tasks are to wait use [`writable`](Self::writable).
        ///
        /// # Errors
        ///
        /// When the runtime has been shut down.
        pub fn $name(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.io.registration().poll_write_ready(cx).map_ok(drop)
        }
    };
}

/// `try_read` and its likes.
macro_rules! try_read_methods {
    () => {
        /// Reads what is there, without waiting. Returns how many bytes; 0 at the end of the stream, or if `buf` is empty.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            self.io.try_io(Interest::READABLE, |mut io| io.read(buf))
        }

        /// Reads what is there, without waiting, into one buffer after the other. Returns how many bytes; 0 at the end of the
        /// stream.
        ///
        /// # Errors
        ///
        /// As [`try_read`](Self::try_read).
        pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            self.io.try_io(Interest::READABLE, |mut io| io.read_vectored(bufs))
        }

        /// Reads what is there, without waiting, to the end of `buf`, and moves that on. Returns how many bytes; 0 at the end of
        /// the stream, or if `buf` is full.
        ///
        /// # Errors
        ///
        /// As [`try_read`](Self::try_read).
        pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            self.io.try_io(Interest::READABLE, |io| {
                crate::evented::into_buf(buf, |unfilled| Ok((io.read_uninit(unfilled)?, ())))
                    .map(|(read, ())| read)
            })
        }
    };
}

/// `try_write` and its likes.
macro_rules! try_write_methods {
    () => {
        /// Writes as much of `buf` as is taken, without waiting. Returns how many bytes that was.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when nothing is taken, without a system call if that is known; those of the OS.
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            self.io.try_io(Interest::WRITABLE, |mut io| io.write(buf))
        }

        /// Writes as much of `bufs`, one after the other, as is taken, without waiting. Returns how many bytes that was.
        ///
        /// # Errors
        ///
        /// As [`try_write`](Self::try_write).
        pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            self.io.try_io(Interest::WRITABLE, |mut io| io.write_vectored(bufs))
        }
    };
}

/// `AsyncRead` and `AsyncWrite` of a stream that needs no flush.
macro_rules! stream_traits {
    ($Type:ident) => {
        impl AsyncRead for $Type {
            #[inline]
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.io.poll_read(cx, buf)
            }
        }

        impl AsyncWrite for $Type {
            #[inline]
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
            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Tells the peer that nothing more will come.
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.close(Shutdown::Write))
            }
        }
    };
}

/// `close`, for `poll_shutdown` and the halves.
macro_rules! close_method {
    () => {
        /// Closes one direction. That it is closed already, from either side, is no error.
        pub(crate) fn close(&self, how: Shutdown) -> io::Result<()> {
            match self.io.shutdown(how) {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                result => result,
            }
        }
    };
}

/// `Debug` as the socket itself says it, `TryFrom` the type of the standard library, and the OS's handle.
macro_rules! socket_traits {
    ($Type:ident, $Std:ty) => {
        impl TryFrom<$Std> for $Type {
            type Error = io::Error;

            /// The same as [`from_std`](Self::from_std).
            fn try_from(socket: $Std) -> io::Result<Self> {
                Self::from_std(socket)
            }
        }

        crate::net::forward::os_handle!($Type, io);
    };
}

/// The descriptor of a type that has one in its field `$field`.
macro_rules! os_handle {
    ($Type:ident, $field:ident) => {
        #[cfg(unix)]
        const _: () = {
            use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

            impl AsRawFd for $Type {
                fn as_raw_fd(&self) -> RawFd {
                    self.$field.as_raw_fd()
                }
            }

            impl AsFd for $Type {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    // SAFETY: the descriptor is open as long as `self` owns it, and the borrow is of `self`.
                    unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
                }
            }
        };

        #[cfg(windows)]
        const _: () = {
            use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};

            impl AsRawSocket for $Type {
                fn as_raw_socket(&self) -> RawSocket {
                    self.$field.as_raw_socket()
                }
            }

            impl AsSocket for $Type {
                fn as_socket(&self) -> BorrowedSocket<'_> {
                    // SAFETY: the socket is open as long as `self` owns it, and the borrow is of `self`.
                    unsafe { BorrowedSocket::borrow_raw(self.as_raw_socket()) }
                }
            }
        };
    };
}

pub(crate) use {
    close_method, os_handle, poll_readable, poll_writable, ready_methods, socket_traits, stream_traits,
    try_read_methods, try_write_methods,
};
