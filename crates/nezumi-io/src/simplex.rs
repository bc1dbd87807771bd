//! A stream in memory that goes one way.

use crate::pipe::Pipe;
use crate::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf, split};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A pipe in memory: what is written to it can be read from it. Made by [`simplex`], or
/// [as one object](Self::new_unsplit).
///
/// After it is shut down it can be read to the end, and writing to it fails with
/// [`BrokenPipe`](std::io::ErrorKind::BrokenPipe).
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt, SimplexStream};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut pipe = SimplexStream::new_unsplit(16);
/// pipe.write_all(b"squeak").await.unwrap();
/// pipe.shutdown().await.unwrap();
/// let mut text = String::new();
/// pipe.read_to_string(&mut text).await.unwrap();
/// assert_eq!(text, "squeak");
/// # }
/// ```
#[derive(Debug)]
pub struct SimplexStream {
    pipe: Pipe,
}

/// A pipe in memory: what is written to the one half is read from the other.
///
/// It holds up to `max_buf_size` bytes; when it is full the writer waits until some are read. Memory is taken as it is
/// needed. Each read and write spends the budget of its task.
///
/// Dropping a half does not tell the other: [shut down](crate::AsyncWriteExt::shutdown) the writing half to end what is
/// read. The ends of a [`duplex`](crate::duplex()) do notice.
///
/// # Panics
///
/// If `max_buf_size` is 0.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let (mut read, mut write) = io::simplex(64);
/// write.write_all(b"hello").await?;
/// write.shutdown().await?;
/// let mut text = String::new();
/// read.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn simplex(max_buf_size: usize) -> (ReadHalf<SimplexStream>, WriteHalf<SimplexStream>) {
    split(SimplexStream::new_unsplit(max_buf_size))
}

impl SimplexStream {
    /// A pipe that holds up to `max_buf_size` bytes, as one object that is both read and written.
    ///
    /// # Panics
    ///
    /// If `max_buf_size` is 0.
    #[track_caller]
    pub fn new_unsplit(max_buf_size: usize) -> SimplexStream {
        SimplexStream { pipe: Pipe::new(max_buf_size) }
    }
}

impl AsyncRead for SimplexStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.pipe.poll_read(cx, buf)
    }
}

impl AsyncWrite for SimplexStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.pipe.poll_write(cx, buf)
    }

    /// There is nothing to wait for: what was written can be read.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pipe.close();
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.pipe.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::{AsyncReadExt, AsyncWriteExt};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;
    use std::panic::catch_unwind;

    #[test]
    fn one_object_reads_what_was_written_to_it() {
        let mut stream = SimplexStream::new_unsplit(4);
        block_on(async {
            stream.write_all(b"ab").await.unwrap();
            stream.flush().await.unwrap();
            assert_eq!(stream.write_vectored(&[IoSlice::new(b"c"), IoSlice::new(b"de")]).await.unwrap(), 2);
            assert_eq!(stream.read_u32().await.unwrap(), u32::from_be_bytes(*b"abcd"));
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
            assert_eq!(stream.write(b"e").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
    }

    #[test]
    fn its_halves_talk_across_threads() {
        let rounds: u32 = if cfg!(miri) { 10 } else { 1000 };
        let (mut read, mut write) = simplex(3);
        let writer = std::thread::spawn(move || {
            block_on(async {
                for n in 0..rounds {
                    write.write_u32(n).await.unwrap();
                }
                write.shutdown().await.unwrap();
            });
        });
        block_on(async {
            for n in 0..rounds {
                assert_eq!(read.read_u32().await.unwrap(), n);
            }
            assert_eq!(read.read(&mut [0]).await.unwrap(), 0);
        });
        writer.join().unwrap();
    }

    #[test]
    fn no_capacity_is_refused() {
        for refused in
            [catch_unwind(|| drop(simplex(0))), catch_unwind(|| drop(SimplexStream::new_unsplit(0)))]
        {
            let payload = refused.unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"`max_buf_size` must be greater than 0"));
        }
    }
}
