//! Reading ahead and collecting writes, both.

use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, BufReader, BufWriter, ReadBuf};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A buffer in each direction in front of something that is read and written.
    ///
    /// A [`BufReader`] and a [`BufWriter`] around one stream; what is said there holds here.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt, AsyncWriteExt, BufStream};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let (here, there) = io::duplex(64);
    /// let (mut here, mut there) = (BufStream::new(here), BufStream::new(there));
    /// here.write_all(b"hello\n").await?;
    /// here.flush().await?;
    /// let mut line = String::new();
    /// there.read_line(&mut line).await?;
    /// assert_eq!(line, "hello\n");
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug)]
    pub struct BufStream<RW> {
        #[pin]
        inner: BufReader<BufWriter<RW>>,
    }
}

impl<RW: AsyncRead + AsyncWrite> BufStream<RW> {
    /// Buffers of 8 KiB in front of `stream`.
    pub fn new(stream: RW) -> BufStream<RW> {
        BufStream { inner: BufReader::new(BufWriter::new(stream)) }
    }

    /// Buffers of as many bytes in front of `stream`.
    ///
    /// # Panics
    ///
    /// If `reader_capacity` is 0.
    #[track_caller]
    pub fn with_capacity(reader_capacity: usize, writer_capacity: usize, stream: RW) -> BufStream<RW> {
        let writer = BufWriter::with_capacity(writer_capacity, stream);
        BufStream { inner: BufReader::with_capacity(reader_capacity, writer) }
    }

    /// The stream underneath.
    pub fn get_ref(&self) -> &RW {
        self.inner.get_ref().get_ref()
    }

    /// The stream underneath. What is read from it or written to it directly goes past the buffers.
    pub fn get_mut(&mut self) -> &mut RW {
        self.inner.get_mut().get_mut()
    }

    /// The stream underneath, pinned. What is read from it or written to it directly goes past the buffers.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut RW> {
        self.project().inner.get_pin_mut().get_pin_mut()
    }

    /// Gives the stream back. What is buffered in either direction is lost.
    pub fn into_inner(self) -> RW {
        self.inner.into_inner().into_inner()
    }
}

/// Keeps what is buffered.
impl<RW> From<BufReader<BufWriter<RW>>> for BufStream<RW> {
    fn from(inner: BufReader<BufWriter<RW>>) -> Self {
        BufStream { inner }
    }
}

/// Keeps what is buffered.
impl<RW> From<BufWriter<BufReader<RW>>> for BufStream<RW> {
    fn from(outer: BufWriter<BufReader<RW>>) -> Self {
        let BufWriter { inner: reader, buf, written, seek: writer_seek } = outer;
        let BufReader { inner, block, seek } = reader;
        let writer = BufWriter { inner, buf, written, seek: writer_seek };
        BufStream { inner: BufReader { inner: writer, block, seek } }
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncRead for BufStream<RW> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncBufRead for BufStream<RW> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncWrite for BufStream<RW> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

/// A seek writes out what is buffered for writing, and throws away what was read ahead.
impl<RW: AsyncRead + AsyncWrite + AsyncSeek> AsyncSeek for BufStream<RW> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.project().inner.start_seek(position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.project().inner.poll_complete(cx)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{Sink, Source, Step};
    use crate::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
    use nezumi_wake::block_on;
    use std::io::Cursor;

    #[test]
    fn both_directions_are_buffered() {
        let stream = crate::join(Source::new([Step::Bytes(b"abcdef")]), Sink::default().vectored(true));
        let mut stream = BufStream::with_capacity(4, 4, stream);
        assert!(stream.is_write_vectored());
        block_on(async {
            assert_eq!(stream.fill_buf().await.unwrap(), b"abcd");
            AsyncBufReadExt::consume(&mut stream, 1);
            assert_eq!(stream.read_u8().await.unwrap(), b'b');
            stream.write_all(b"xy").await.unwrap();
            assert_eq!(stream.write_vectored(&[IoSlice::new(b"z")]).await.unwrap(), 1);
            assert_eq!(stream.get_ref().writer().log.len(), 0);
            stream.flush().await.unwrap();
            stream.shutdown().await.unwrap();
        });
        assert_eq!(stream.get_mut().writer().written(), b"xyz");
        assert_eq!(stream.into_inner().reader().polls, 1);
    }

    #[test]
    fn turned_inside_out_it_keeps_what_is_buffered() {
        let stream = crate::join(Source::new([Step::Bytes(b"abc")]), Sink::default());
        let mut outer = BufWriter::new(BufReader::new(stream));
        block_on(async {
            outer.write_all(b"xyz").await.unwrap();
            assert_eq!(outer.read_u8().await.unwrap(), b'a');
            let mut stream = BufStream::from(outer);
            assert_eq!(stream.fill_buf().await.unwrap(), b"bc");
            stream.flush().await.unwrap();
            assert_eq!(stream.get_ref().writer().written(), b"xyz");
            let mut stream = BufStream::from(BufReader::new(BufWriter::new(stream.into_inner())));
            assert_eq!(stream.read(&mut [0; 4]).await.unwrap(), 0);
        });
    }

    #[test]
    fn reading_writing_and_seeking_go_together() {
        let mut stream = BufStream::new(Cursor::new(b"abcdef".to_vec()));
        block_on(async {
            assert_eq!(stream.read_u8().await.unwrap(), b'a');
            assert_eq!(stream.seek(SeekFrom::Current(0)).await.unwrap(), 1);
            stream.write_all(b"XY").await.unwrap();
            assert_eq!(stream.seek(SeekFrom::Current(1)).await.unwrap(), 4);
            assert_eq!(stream.read_u8().await.unwrap(), b'e');
        });
        assert_eq!(stream.into_inner().into_inner(), b"aXYdef");
    }
}
