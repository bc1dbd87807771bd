//! The two halves of a stream socket, borrowed or owned, for TCP and Unix alike.
//!
//! A stream can be read and written at once through `&self`, so a half is nothing but a reference that offers one direction.
//! The owned ones share the stream by a count, and dropping the one that writes closes its direction.

/// What a half that reads can do, beside being an `AsyncRead`.
macro_rules! read_half_methods {
    ($Addr:ty) => {
        /// Waits until the stream is ready for something in `interest`, and says for what. As the stream's own method.
        ///
        /// # Errors
        ///
        /// When the runtime has been shut down.
        ///
        /// # Cancel safety
        ///
        /// Dropped before it completes, it has changed nothing: what was ready stays ready.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            self.stream().ready(interest).await
        }

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
            self.stream().readable().await
        }

        /// Reads what is there, without waiting. As the stream's own method.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when nothing is there; those of the OS.
        pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
            self.stream().try_read(buf)
        }

        /// Reads what is there, without waiting, into one buffer after the other. As the stream's own method.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when nothing is there; those of the OS.
        pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            self.stream().try_read_vectored(bufs)
        }

        /// Reads what is there, without waiting, to the end of `buf`. As the stream's own method.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when nothing is there; those of the OS.
        pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
            self.stream().try_read_buf(buf)
        }

        crate::net::halves::addr_methods!($Addr);
    };
}

/// What a half that writes can do, beside being an `AsyncWrite`.
macro_rules! write_half_methods {
    ($Addr:ty) => {
        /// Waits until the stream is ready for something in `interest`, and says for what. As the stream's own method.
        ///
        /// # Errors
        ///
        /// When the runtime has been shut down.
        ///
        /// # Cancel safety
        ///
        /// Dropped before it completes, it has changed nothing: what was ready stays ready.
        pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            self.stream().ready(interest).await
        }

        /// Waits until something can be written, or nothing will be taken any more.
        ///
        /// # Errors
        ///
        /// When the runtime has been shut down.
        ///
        /// # Cancel safety
        ///
        /// Dropped before it completes, it has changed nothing: what was ready stays ready.
        pub async fn writable(&self) -> io::Result<()> {
            self.stream().writable().await
        }

        /// Writes as much of `buf` as is taken, without waiting. As the stream's own method.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when nothing is taken; those of the OS.
        pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
            self.stream().try_write(buf)
        }

        /// Writes as much of `bufs`, one after the other, as is taken, without waiting. As the stream's own method.
        ///
        /// # Errors
        ///
        /// `WouldBlock` when nothing is taken; those of the OS.
        pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            self.stream().try_write_vectored(bufs)
        }

        crate::net::halves::addr_methods!($Addr);
    };
}

macro_rules! addr_methods {
    ($Addr:ty) => {
        /// The address of the other end.
        ///
        /// # Errors
        ///
        /// Those of the OS, as when the stream is not connected any more.
        pub fn peer_addr(&self) -> io::Result<$Addr> {
            self.stream().peer_addr()
        }

        /// The address of this end.
        ///
        /// # Errors
        ///
        /// Those of the OS.
        pub fn local_addr(&self) -> io::Result<$Addr> {
            self.stream().local_addr()
        }
    };
}

/// `AsRef` of the stream, and `AsyncRead`.
macro_rules! read_half_traits {
    ($Half:ty, $Stream:ident) => {
        impl AsRef<$Stream> for $Half {
            fn as_ref(&self) -> &$Stream {
                self.stream()
            }
        }

        impl AsyncRead for $Half {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.stream().io.poll_read(cx, buf)
            }
        }
    };
}

/// `AsRef` of the stream, and `AsyncWrite`, with what is to be done after the direction was closed.
macro_rules! write_half_traits {
    ($Half:ty, $Stream:ident, |$half:ident| $closed:expr) => {
        impl AsRef<$Stream> for $Half {
            fn as_ref(&self) -> &$Stream {
                self.stream()
            }
        }

        impl AsyncWrite for $Half {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.stream().io.poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.stream().io.poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// What is written is with the OS already.
            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            /// Tells the peer that nothing more will come. The other direction stays open.
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $half = self.get_mut();
                let result = $half.stream().close(Shutdown::Write);
                if result.is_ok() {
                    $closed;
                }
                Poll::Ready(result)
            }
        }
    };
}

/// All four halves of `$Stream`, and the error of reuniting two that do not belong together.
macro_rules! halves {
    // `$pair` is how an example comes by two connected streams, `one` and `other`.
    ($Stream:ident, $Addr:ty, $pair:literal) => {
        /// The half of a stream that reads, borrowed from it by
        #[doc = concat!("[`", stringify!($Stream), "::split`](crate::net::", stringify!($Stream), "::split).")]
        ///
        /// Reading goes through [`AsyncRead`] and its extension trait.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use nezumi::net::", stringify!($Stream), ";")]
        /// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # #[nezumi::main(flavor = "current_thread")]
        /// # async fn main() {
        #[doc = $pair]
        /// let (mut reads, mut writes) = one.split();
        /// // Both at once, in one task.
        /// let (sent, answer) = nezumi::join!(writes.write_u8(7), async {
        ///     let asked = other.read_u8().await.unwrap();
        ///     other.write_u8(asked + 1).await.unwrap();
        ///     reads.read_u8().await.unwrap()
        /// });
        /// sent.unwrap();
        /// assert_eq!(answer, 8);
        /// # }
        /// ```
        #[derive(Debug)]
        pub struct ReadHalf<'a>(&'a $Stream);

        /// The half of a stream that writes, borrowed from it by
        #[doc = concat!("[`", stringify!($Stream), "::split`](crate::net::", stringify!($Stream), "::split).")]
        ///
        /// Writing goes through [`AsyncWrite`] and its extension trait. `shutdown` closes the stream's direction; dropping the half
        /// does nothing.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use nezumi::net::", stringify!($Stream), ";")]
        /// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # #[nezumi::main(flavor = "current_thread")]
        /// # async fn main() {
        #[doc = $pair]
        /// let (_, mut writes) = one.split();
        /// writes.write_all(b"squeak").await.unwrap();
        /// writes.shutdown().await.unwrap();
        /// let mut text = String::new();
        /// other.read_to_string(&mut text).await.unwrap();
        /// assert_eq!(text, "squeak");
        /// # }
        /// ```
        #[derive(Debug)]
        pub struct WriteHalf<'a>(&'a $Stream);

        /// The half of a stream that reads, made by
        #[doc = concat!("[`", stringify!($Stream), "::into_split`](crate::net::", stringify!($Stream), "::into_split).")]
        ///
        /// Reading goes through [`AsyncRead`] and its extension trait. Dropping it closes nothing: the stream is closed when
        /// both halves are gone.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use nezumi::net::", stringify!($Stream), ";")]
        /// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # #[nezumi::main(flavor = "current_thread")]
        /// # async fn main() {
        #[doc = $pair]
        /// let (mut reads, _writes) = one.into_split();
        /// let reader = nezumi::spawn(async move { reads.read_u8().await });
        /// other.write_u8(7).await.unwrap();
        /// assert_eq!(reader.await.unwrap().unwrap(), 7);
        /// # }
        /// ```
        #[derive(Debug)]
        pub struct OwnedReadHalf {
            inner: Arc<$Stream>,
        }

        /// The half of a stream that writes, made by
        #[doc = concat!("[`", stringify!($Stream), "::into_split`](crate::net::", stringify!($Stream), "::into_split).")]
        ///
        /// Writing goes through [`AsyncWrite`] and its extension trait. Dropping it closes this direction of the stream, as
        /// `shutdown` does, unless it is [forgotten](Self::forget); the stream is closed when both halves are gone.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use nezumi::net::", stringify!($Stream), ";")]
        /// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # #[nezumi::main(flavor = "current_thread")]
        /// # async fn main() {
        #[doc = $pair]
        /// let (_reads, mut writes) = one.into_split();
        /// // The task drops its half, and with that closes this direction.
        /// nezumi::spawn(async move { writes.write_all(b"squeak").await });
        /// let mut text = String::new();
        /// other.read_to_string(&mut text).await.unwrap();
        /// assert_eq!(text, "squeak");
        /// # }
        /// ```
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            inner: Arc<$Stream>,
            shutdown_on_drop: bool,
        }

        /// Two halves that are not of the same stream cannot be reunited. Gives them back.
        ///
        /// # Examples
        ///
        /// ```
        #[doc = concat!("use nezumi::net::", stringify!($Stream), ";")]
        /// use nezumi::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # #[nezumi::main(flavor = "current_thread")]
        /// # async fn main() {
        #[doc = $pair]
        /// let ((reads, _), (_, writes)) = (one.into_split(), other.into_split());
        /// let error = reads.reunite(writes).unwrap_err();
        /// assert_eq!(error.to_string(), "tried to reunite halves that are not from the same socket");
        /// # }
        /// ```
        #[derive(Debug)]
        pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

        impl fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tried to reunite halves that are not from the same socket")
            }
        }

        impl Error for ReuniteError {}

        pub(crate) fn split(stream: &mut $Stream) -> (ReadHalf<'_>, WriteHalf<'_>) {
            (ReadHalf(stream), WriteHalf(stream))
        }

        pub(crate) fn into_split(stream: $Stream) -> (OwnedReadHalf, OwnedWriteHalf) {
            let inner = Arc::new(stream);
            let read = OwnedReadHalf { inner: Arc::clone(&inner) };
            (read, OwnedWriteHalf { inner, shutdown_on_drop: true })
        }

        impl ReadHalf<'_> {
            crate::net::halves::read_half_methods!($Addr);

            fn stream(&self) -> &$Stream {
                self.0
            }
        }

        impl WriteHalf<'_> {
            crate::net::halves::write_half_methods!($Addr);

            fn stream(&self) -> &$Stream {
                self.0
            }
        }

        impl OwnedReadHalf {
            /// Makes one stream again of its two halves.
            ///
            /// # Errors
            ///
            /// When the halves are of different streams; they come back in the error.
            pub fn reunite(self, other: OwnedWriteHalf) -> Result<$Stream, ReuniteError> {
                if !Arc::ptr_eq(&self.inner, &other.inner) {
                    return Err(ReuniteError(self, other));
                }
                other.forget();
                Ok(Arc::into_inner(self.inner).expect("a stream has two halves, and both are here"))
            }

            crate::net::halves::read_half_methods!($Addr);

            fn stream(&self) -> &$Stream {
                &self.inner
            }
        }

        impl OwnedWriteHalf {
            /// Makes one stream again of its two halves.
            ///
            /// # Errors
            ///
            /// When the halves are of different streams; they come back in the error.
            pub fn reunite(self, other: OwnedReadHalf) -> Result<$Stream, ReuniteError> {
                other.reunite(self)
            }

            /// Drops the half without closing its direction: the peer is told only once the other half is gone, too.
            pub fn forget(mut self) {
                self.shutdown_on_drop = false;
            }

            crate::net::halves::write_half_methods!($Addr);

            fn stream(&self) -> &$Stream {
                &self.inner
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                if self.shutdown_on_drop {
                    // Nobody is left to be told of an error.
                    let _ = self.stream().close(Shutdown::Write);
                }
            }
        }

        crate::net::halves::read_half_traits!(ReadHalf<'_>, $Stream);
        crate::net::halves::read_half_traits!(OwnedReadHalf, $Stream);
        crate::net::halves::write_half_traits!(WriteHalf<'_>, $Stream, |_half| ());
        crate::net::halves::write_half_traits!(OwnedWriteHalf, $Stream, |half| half.shutdown_on_drop = false);
    };
}

pub(crate) use {
    addr_methods, halves, read_half_methods, read_half_traits, write_half_methods, write_half_traits,
};
