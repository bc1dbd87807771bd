//! A reader and a writer as one stream.

use crate::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A reader and a writer as one stream. Made by [`join`].
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{AsyncReadExt, AsyncWriteExt, join};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut stream = join(&b"question"[..], Vec::new());
    /// let mut question = String::new();
    /// stream.read_to_string(&mut question).await.unwrap();
    /// stream.write_all(b"answer").await.unwrap();
    /// assert_eq!((&question[..], &stream.writer()[..]), ("question", &b"answer"[..]));
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct Join<R, W> {
        #[pin]
        reader: R,
        #[pin]
        writer: W,
    }
}

/// Makes one stream of a reader and a writer that have nothing to do with each other.
///
/// The opposite of [`split`](crate::split()), and what [`Join::into_inner`] undoes. Two halves of one stream are put
/// together with [`ReadHalf::unsplit`](crate::ReadHalf::unsplit) instead.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut stream = io::join(&b"request"[..], Vec::new());
/// let mut text = String::new();
/// stream.read_to_string(&mut text).await?;
/// stream.write_all(b"answer").await?;
/// assert_eq!((&text[..], &stream.writer()[..]), ("request", &b"answer"[..]));
/// # Ok(())
/// # }
/// ```
pub fn join<R, W>(reader: R, writer: W) -> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    Join { reader, writer }
}

impl<R, W> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    /// Gives both back.
    pub fn into_inner(self) -> (R, W) {
        (self.reader, self.writer)
    }

    /// The reader.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// The writer.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// The reader.
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The writer.
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// The reader, pinned.
    pub fn reader_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().reader
    }

    /// The writer, pinned.
    pub fn writer_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().writer
    }
}

impl<R, W> AsyncRead for Join<R, W>
where
    R: AsyncRead,
{
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().reader.poll_read(cx, buf)
    }
}

impl<R, W> AsyncBufRead for Join<R, W>
where
    R: AsyncBufRead,
{
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().reader.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().reader.consume(amt);
    }
}

impl<R, W> AsyncWrite for Join<R, W>
where
    W: AsyncWrite,
{
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.project().writer.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().writer.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().writer.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().writer.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.writer.is_write_vectored()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{Did, Sink};
    use crate::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
    use nezumi_wake::block_on;

    #[test]
    fn each_side_is_its_own() {
        let mut stream = join(&b"abc"[..], Sink::default().vectored(true));
        assert!(stream.is_write_vectored());
        assert!(!join(&b""[..], Sink::default()).is_write_vectored());
        block_on(async {
            assert_eq!(stream.fill_buf().await.unwrap(), b"abc");
            AsyncBufReadExt::consume(&mut stream, 1);
            assert_eq!(stream.read_u8().await.unwrap(), b'b');
            stream.write_all(b"x").await.unwrap();
            stream.write_vectored(&[IoSlice::new(b"y")]).await.unwrap();
            stream.flush().await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let mut pinned = Pin::new(&mut stream);
        assert_eq!(**pinned.as_mut().reader_pin_mut(), *b"c");
        assert_eq!(pinned.writer_pin_mut().written(), b"xy");
        *stream.reader_mut() = b"new";
        stream.writer_mut().log.drain(..3);
        assert_eq!((*stream.reader(), &stream.writer().log[..]), (&b"new"[..], &[Did::Shutdown][..]));
        assert_eq!(stream.into_inner().0, b"new");
    }
}
