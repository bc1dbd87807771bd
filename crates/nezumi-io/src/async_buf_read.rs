//! Readers that can show what they hold before it is taken.

use crate::AsyncRead;
use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A reader with a buffer of its own, which can be looked at without copying.
///
/// The two methods belong together: look with [`poll_fill_buf`](Self::poll_fill_buf), then say with
/// [`consume`](Self::consume) how much of it was used. To *use* such a reader, take the methods of
/// [`AsyncBufReadExt`](https://docs.rs/nezumi/latest/nezumi/io/trait.AsyncBufReadExt.html). Any reader becomes one in a
/// [`BufReader`](https://docs.rs/nezumi/latest/nezumi/io/struct.BufReader.html).
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// /// The number that the source begins with.
/// async fn number(source: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<u64> {
///     let mut number = 0;
///     while let Some(digit) = source.fill_buf().await?.first().filter(|byte| byte.is_ascii_digit()) {
///         number = 10 * number + u64::from(digit - b'0');
///         source.consume(1);
///     }
///     Ok(number)
/// }
///
/// let mut source = &b"42 mice"[..];
/// assert_eq!(number(&mut source).await.unwrap(), 42);
/// let mut rest = String::new();
/// source.read_to_string(&mut rest).await.unwrap();
/// assert_eq!(rest, " mice");
/// # }
/// ```
pub trait AsyncBufRead: AsyncRead {
    /// Shows what is buffered, reading more from the source only if that is nothing.
    ///
    /// An empty slice says that the end is reached. `Pending` says that there is nothing yet; the task of `cx` is woken
    /// when it is worth trying again.
    ///
    /// # Errors
    ///
    /// Whatever the source reports.
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>>;

    /// Marks the first `amt` bytes of what [`poll_fill_buf`](Self::poll_fill_buf) showed as used, so that they are not
    /// shown again.
    ///
    /// `amt` must not be more than was shown; what happens otherwise is up to the reader, and may be a panic.
    fn consume(self: Pin<&mut Self>, amt: usize);
}

impl<T: ?Sized + AsyncBufRead + Unpin> AsyncBufRead for Box<T> {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Pin::new(&mut **self.get_mut()).poll_fill_buf(cx)
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        Pin::new(&mut **self.get_mut()).consume(amt);
    }
}

impl<T: ?Sized + AsyncBufRead + Unpin> AsyncBufRead for &mut T {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Pin::new(&mut **self.get_mut()).poll_fill_buf(cx)
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        Pin::new(&mut **self.get_mut()).consume(amt);
    }
}

impl<P> AsyncBufRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncBufRead,
{
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.as_deref_mut().poll_fill_buf(cx)
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.as_deref_mut().consume(amt);
    }
}

/// What is consumed is taken off the front of the slice.
impl AsyncBufRead for &[u8] {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(*self))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        let slice = self.get_mut();
        *slice = &slice[amt..];
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncBufRead for io::Cursor<T> {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(io::BufRead::fill_buf(self.get_mut()))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        io::BufRead::consume(self.get_mut(), amt);
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::task::Waker;

    fn shown(reader: &mut (impl AsyncBufRead + Unpin)) -> Vec<u8> {
        match Pin::new(reader).poll_fill_buf(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(bytes)) => bytes.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_consumed_is_not_shown_again() {
        let mut slice: &[u8] = b"abc";
        assert_eq!(shown(&mut &mut slice), b"abc");
        Pin::new(&mut &mut slice).consume(1);
        let mut boxed = Box::new(slice);
        assert_eq!(shown(&mut boxed), b"bc");
        Pin::new(&mut boxed).consume(1);
        let mut pinned = Pin::new(&mut boxed);
        assert_eq!(shown(&mut pinned), b"c");
        Pin::new(&mut pinned).consume(1);
        assert_eq!(shown(&mut pinned), b"");
    }

    #[test]
    fn a_cursor_shows_what_is_after_its_position() {
        let mut cursor = io::Cursor::new(b"abc");
        Pin::new(&mut cursor).consume(2);
        assert_eq!(shown(&mut cursor), b"c");
        cursor.set_position(9);
        assert_eq!(shown(&mut cursor), b"");
    }
}
