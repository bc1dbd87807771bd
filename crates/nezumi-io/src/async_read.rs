//! Where bytes come from.

use crate::ReadBuf;
use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A source of bytes that says when it has none yet instead of blocking.
///
/// This is the trait that streams, files and adapters implement. To *use* a reader, take the methods of
/// [`AsyncReadExt`](https://docs.rs/nezumi/latest/nezumi/io/trait.AsyncReadExt.html).
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncRead, ReadBuf};
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// /// Reads as the number 7, without end.
/// struct Sevens;
///
/// impl AsyncRead for Sevens {
///     fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
///         let n = buf.remaining();
///         buf.initialize_unfilled().fill(7);
///         buf.advance(n);
///         Poll::Ready(Ok(()))
///     }
/// }
/// ```
pub trait AsyncRead {
    /// Tries to read into the unfilled part of `buf`.
    ///
    /// `Ready(Ok(()))` says that something was read, and `buf` tells how much by how far it was filled. If that is
    /// nothing although there was room, the end of the source is reached. `Pending` says that there is nothing yet; the
    /// task of `cx` is woken when it is worth trying again, and `buf` is as filled as it was.
    ///
    /// The reader fills `buf` in place: it never puts another buffer there, and never lets the filled part shrink.
    ///
    /// # Errors
    ///
    /// Whatever the source reports. Nothing has been read into `buf` then.
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;
}

impl<T: ?Sized + AsyncRead + Unpin> AsyncRead for Box<T> {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.get_mut()).poll_read(cx, buf)
    }
}

impl<T: ?Sized + AsyncRead + Unpin> AsyncRead for &mut T {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut **self.get_mut()).poll_read(cx, buf)
    }
}

impl<P> AsyncRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncRead,
{
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.as_deref_mut().poll_read(cx, buf)
    }
}

/// Reading takes bytes off the front of the slice.
impl AsyncRead for &[u8] {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let slice = self.get_mut();
        let (head, rest) = slice.split_at(buf.remaining().min(slice.len()));
        buf.put_slice(head);
        *slice = rest;
        Poll::Ready(Ok(()))
    }
}

/// A position past the end reads as the end.
impl<T: AsRef<[u8]> + Unpin> AsyncRead for io::Cursor<T> {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let cursor = self.get_mut();
        let bytes = cursor.get_ref().as_ref();
        let rest = usize::try_from(cursor.position()).ok().and_then(|position| bytes.get(position..));
        if let Some(rest) = rest {
            let n = rest.len().min(buf.remaining());
            buf.put_slice(&rest[..n]);
            cursor.set_position(cursor.position() + n as u64);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::task::Waker;

    fn read(reader: &mut (impl AsyncRead + Unpin), room: usize) -> Vec<u8> {
        let mut memory = vec![0; room];
        let mut buf = ReadBuf::new(&mut memory);
        let result = Pin::new(reader).poll_read(&mut Context::from_waker(Waker::noop()), &mut buf);
        assert!(matches!(result, Poll::Ready(Ok(()))));
        buf.filled().to_vec()
    }

    #[test]
    fn pointers_read_what_they_point_to() {
        let mut slice: &[u8] = b"abcdef";
        assert_eq!(read(&mut slice, 2), b"ab");
        assert_eq!(read(&mut Box::new(&mut slice), 1), b"c");
        assert_eq!(read(&mut Pin::new(&mut slice), 1), b"d");
        let mut object: Box<dyn AsyncRead + Unpin> = Box::new(slice);
        assert_eq!(read(&mut object, 0), b"");
        assert_eq!(read(&mut object, 9), b"ef");
        assert_eq!(read(&mut object, 9), b"");
    }

    #[test]
    fn a_cursor_past_its_end_reads_nothing_and_stays() {
        let mut cursor = io::Cursor::new(b"abc".to_vec());
        assert_eq!(read(&mut cursor, 2), b"ab");
        assert_eq!(read(&mut cursor, 2), b"c");
        assert_eq!(read(&mut cursor, 2), b"");
        for position in [4, u64::MAX] {
            cursor.set_position(position);
            assert_eq!(read(&mut cursor, 2), b"");
            assert_eq!(cursor.position(), position);
        }
    }
}
