//! Sources and sinks with a position that can be moved.

use std::io::{self, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Something with a cursor that can be moved, where moving it may have to wait.
///
/// A seek is started with [`start_seek`](Self::start_seek) and brought to its end with
/// [`poll_complete`](Self::poll_complete). To *use* it, take the methods of
/// [`AsyncSeekExt`](https://docs.rs/nezumi/latest/nezumi/io/trait.AsyncSeekExt.html).
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncSeek, AsyncSeekExt};
/// use std::io::{Cursor, SeekFrom};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// async fn length(of: &mut (impl AsyncSeek + Unpin)) -> std::io::Result<u64> {
///     let length = of.seek(SeekFrom::End(0)).await?;
///     of.rewind().await?;
///     Ok(length)
/// }
///
/// let mut data = Cursor::new(b"squeak");
/// assert_eq!(length(&mut data).await.unwrap(), 6);
/// assert_eq!(data.read_u8().await.unwrap(), b's');
/// # }
/// ```
pub trait AsyncSeek {
    /// Starts to move the cursor. The move is done when [`poll_complete`](Self::poll_complete) says so.
    ///
    /// A position past the end is allowed; what it means is up to the implementation. Call `poll_complete` first if
    /// another seek may be under way.
    ///
    /// # Errors
    ///
    /// If the position is out of range (before the first byte, say), or if another seek is under way and the
    /// implementation does not queue them.
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// Waits for the seek that was started, and says where the cursor is now, counted from the start.
    ///
    /// Without a seek under way it is ready at once; the position it then gives is only sure to be right where the
    /// implementation says so.
    ///
    /// # Errors
    ///
    /// If the seek failed.
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>>;
}

impl<T: ?Sized + AsyncSeek + Unpin> AsyncSeek for Box<T> {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Pin::new(&mut **self.get_mut()).start_seek(position)
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Pin::new(&mut **self.get_mut()).poll_complete(cx)
    }
}

impl<T: ?Sized + AsyncSeek + Unpin> AsyncSeek for &mut T {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Pin::new(&mut **self.get_mut()).start_seek(position)
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Pin::new(&mut **self.get_mut()).poll_complete(cx)
    }
}

impl<P> AsyncSeek for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncSeek,
{
    #[inline]
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.as_deref_mut().start_seek(position)
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.as_deref_mut().poll_complete(cx)
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncSeek for io::Cursor<T> {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        io::Seek::seek(self.get_mut(), position)?;
        Ok(())
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position()))
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::task::Waker;

    fn seek(mut target: impl AsyncSeek + Unpin, position: SeekFrom) -> io::Result<u64> {
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(&mut target).start_seek(position)?;
        match Pin::new(&mut target).poll_complete(&mut cx) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("a cursor does not wait"),
        }
    }

    #[test]
    fn pointers_seek_what_they_point_to() {
        let mut cursor = io::Cursor::new([0; 8]);
        assert_eq!(seek(&mut cursor, SeekFrom::Start(2)).unwrap(), 2);
        assert_eq!(seek(Box::new(&mut cursor), SeekFrom::Current(3)).unwrap(), 5);
        assert_eq!(seek(Pin::new(&mut cursor), SeekFrom::End(-1)).unwrap(), 7);
        assert_eq!(seek(&mut cursor, SeekFrom::Current(-8)).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(cursor.position(), 7);
    }
}
