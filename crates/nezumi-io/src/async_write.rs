//! Where bytes go.

use std::io::{self, IoSlice};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A destination for bytes that says when it takes none yet instead of blocking.
///
/// This is the trait that streams, files and adapters implement. To *use* a writer, take the methods of
/// [`AsyncWriteExt`](https://docs.rs/nezumi/latest/nezumi/io/trait.AsyncWriteExt.html).
///
/// A writer may keep what it was given for a while; it is only sure to have gone out after
/// [`poll_flush`](Self::poll_flush). Dropping a writer does neither flush it nor shut it down in a way that could be
/// waited for.
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncWrite, AsyncWriteExt};
/// use std::io;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// /// Counts what goes through it.
/// struct Counted<W> {
///     inner: W,
///     bytes: usize,
/// }
///
/// impl<W: AsyncWrite + Unpin> AsyncWrite for Counted<W> {
///     fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
///         let written = std::task::ready!(Pin::new(&mut self.inner).poll_write(cx, buf))?;
///         self.bytes += written;
///         Poll::Ready(Ok(written))
///     }
///
///     fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Pin::new(&mut self.inner).poll_flush(cx)
///     }
///
///     fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Pin::new(&mut self.inner).poll_shutdown(cx)
///     }
/// }
///
/// let mut out = Counted { inner: Vec::new(), bytes: 0 };
/// out.write_all(b"squeak").await.unwrap();
/// assert_eq!((out.bytes, &out.inner[..]), (6, &b"squeak"[..]));
/// # }
/// ```
pub trait AsyncWrite {
    /// Tries to write from `buf`, and says how many bytes it took.
    ///
    /// `Ready(Ok(0))` for a `buf` that is not empty says that this writer takes no more, for now or ever. `Pending` says
    /// that it cannot take any yet; the task of `cx` is woken when it is worth trying again.
    ///
    /// # Errors
    ///
    /// Whatever the destination reports. Nothing of `buf` was taken then.
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>>;

    /// Tries to pass on everything that was written and is still kept back.
    ///
    /// `Pending` says that something is left; the task of `cx` is woken when it is worth trying again.
    ///
    /// # Errors
    ///
    /// Whatever the destination reports.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Tries to bring the writer to an orderly end: what is kept back is flushed, then the other side is told that
    /// nothing more will come, by whatever the protocol has for that (half a TCP connection is closed, a TLS session says
    /// goodbye).
    ///
    /// `Pending` says that this has to go on; the task of `cx` is woken when it is worth calling again. Once it is
    /// `Ready` the writer may be dropped without loss; to write to it any more is an error.
    ///
    /// # Errors
    ///
    /// Whatever the destination reports.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// As [`poll_write`](Self::poll_write), from several buffers as if they were one behind the other.
    ///
    /// Without an implementation of its own it writes the first buffer that is not empty.
    ///
    /// # Errors
    ///
    /// As for `poll_write`.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| buf))
    }

    /// Whether [`poll_write_vectored`](Self::poll_write_vectored) does better than to write one buffer.
    ///
    /// If not, a caller with many small buffers should copy them into one.
    fn is_write_vectored(&self) -> bool {
        false
    }
}

/// The five methods, passed on to what the pinned pointer `$this` points to, which `$target` gets at.
macro_rules! forward {
    ($this:ident => $target:expr) => {
        #[inline]
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let $this = self;
            $target.poll_write(cx, buf)
        }

        #[inline]
        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let $this = self;
            $target.poll_flush(cx)
        }

        #[inline]
        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let $this = self;
            $target.poll_shutdown(cx)
        }

        #[inline]
        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let $this = self;
            $target.poll_write_vectored(cx, bufs)
        }

        #[inline]
        fn is_write_vectored(&self) -> bool {
            (**self).is_write_vectored()
        }
    };
}

impl<T: ?Sized + AsyncWrite + Unpin> AsyncWrite for Box<T> {
    forward!(this => Pin::new(&mut **this.get_mut()));
}

impl<T: ?Sized + AsyncWrite + Unpin> AsyncWrite for &mut T {
    forward!(this => Pin::new(&mut **this.get_mut()));
}

impl<P> AsyncWrite for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncWrite,
{
    forward!(this => this.as_deref_mut());
}

/// The five methods for something in memory that `std` can write to: it never waits.
macro_rules! in_memory {
    ($(#[$doc:meta] $ty:ty),* $(,)?) => {$(
        #[$doc]
        impl AsyncWrite for $ty {
            #[inline]
            fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                Poll::Ready(io::Write::write(self.get_mut(), buf))
            }

            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            #[inline]
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            #[inline]
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(io::Write::write_vectored(self.get_mut(), bufs))
            }

            #[inline]
            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    )*};
}

in_memory! {
    /// Appends.
    Vec<u8>,
    /// Overwrites from the position on, and takes no more at the end.
    io::Cursor<&mut [u8]>,
    /// Overwrites from the position on, then appends; a gap before the position is filled with zeros.
    io::Cursor<&mut Vec<u8>>,
    /// Overwrites from the position on, then appends; a gap before the position is filled with zeros.
    io::Cursor<Vec<u8>>,
    /// Overwrites from the position on, and takes no more at the end.
    io::Cursor<Box<[u8]>>,
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::task::Waker;

    fn ready<T>(poll: Poll<io::Result<T>>) -> T {
        match poll {
            Poll::Ready(result) => result.unwrap(),
            Poll::Pending => panic!("memory does not wait"),
        }
    }

    fn write(mut writer: impl AsyncWrite + Unpin, bytes: &[u8]) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        let n = ready(Pin::new(&mut writer).poll_write(&mut cx, bytes));
        ready(Pin::new(&mut writer).poll_flush(&mut cx));
        ready(Pin::new(&mut writer).poll_shutdown(&mut cx));
        n
    }

    fn write_vectored(mut writer: impl AsyncWrite + Unpin, bytes: &[&[u8]]) -> usize {
        let bufs: Vec<_> = bytes.iter().map(|bytes| IoSlice::new(bytes)).collect();
        ready(Pin::new(&mut writer).poll_write_vectored(&mut Context::from_waker(Waker::noop()), &bufs))
    }

    #[test]
    fn pointers_write_what_they_point_to() {
        let mut to = Vec::new();
        assert!(Box::new(&mut to).is_write_vectored() && Pin::new(&mut to).is_write_vectored());
        assert_eq!(write(&mut to, b"a"), 1);
        assert_eq!(write(Box::new(&mut to), b"b"), 1);
        assert_eq!(write(Pin::new(&mut to), b"c"), 1);
        assert_eq!(write_vectored(&mut to, &[b"d", b"", b"e"]), 2);
        assert_eq!(write_vectored(Box::new(&mut to), &[b"f"]), 1);
        assert_eq!(write_vectored(Pin::new(&mut to), &[b"g"]), 1);
        assert_eq!(to, b"abcdefg");
    }

    #[test]
    fn a_fixed_cursor_takes_what_fits() {
        let mut bytes = [0; 3];
        assert_eq!(write_vectored(io::Cursor::new(&mut bytes[..]), &[b"ab", b"cd"]), 3);
        assert_eq!(bytes, *b"abc");
        let mut boxed = io::Cursor::new(vec![0; 2].into_boxed_slice());
        assert_eq!([write(&mut boxed, b"xyz"), write(&mut boxed, b"z")], [2, 0]);
    }

    #[test]
    fn a_growing_cursor_takes_all() {
        let mut bytes = b"abcd".to_vec();
        let mut cursor = io::Cursor::new(&mut bytes);
        cursor.set_position(3);
        assert_eq!(write(&mut cursor, b"xyz"), 3);
        assert_eq!(bytes, b"abcxyz");
        let mut owned = io::Cursor::new(Vec::new());
        assert_eq!(write(&mut owned, b"xyz"), 3);
    }

    #[test]
    fn without_vectored_writes_the_first_buffer_with_bytes_is_written() {
        struct Plain(Vec<u8>);

        impl AsyncWrite for Plain {
            fn poll_write(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.0.extend_from_slice(buf);
                Poll::Ready(Ok(buf.len()))
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
        }

        let mut plain = Plain(Vec::new());
        assert!(!plain.is_write_vectored());
        assert_eq!(write_vectored(&mut plain, &[b"", b"ab", b"cd"]), 2);
        assert_eq!(write_vectored(&mut plain, &[b""]), 0);
        assert_eq!(write_vectored(&mut plain, &[]), 0);
        assert_eq!(plain.0, b"ab");
    }
}
