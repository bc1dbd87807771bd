//! One write, as many as it takes to write everything, and what comes after.
//!
//! Tests: `one_write_writes_what_one_write_takes`, `write_all_goes_on_until_all_is_taken`,
//! `a_buffer_is_advanced_by_what_was_taken`.

use super::{is_interrupted, taken};
use crate::AsyncWrite;
use bytes::Buf;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io::{self, IoSlice};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How many pieces of a buffer are offered at once; what the operating systems take is a few more.
const SLICES: usize = 64;

/// One write of as much of `buf` as the writer takes at once.
fn poll_write_buf<W, B>(writer: Pin<&mut W>, cx: &mut Context<'_>, buf: &mut B) -> Poll<io::Result<usize>>
where
    W: AsyncWrite + ?Sized,
    B: Buf,
{
    let n = if writer.is_write_vectored() {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let n = buf.chunks_vectored(&mut slices);
        ready!(writer.poll_write_vectored(cx, &slices[..n]))?
    } else {
        ready!(writer.poll_write(cx, buf.chunk()))?
    };
    buf.advance(n);
    Poll::Ready(Ok(n))
}

pin_project! {
    /// The future of `write`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Write<'a, W: ?Sized> {
        writer: &'a mut W,
        bytes: &'a [u8],
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn write<'a, W: ?Sized>(writer: &'a mut W, bytes: &'a [u8]) -> Write<'a, W> {
    Write { writer, bytes, pinned: PhantomPinned }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for Write<'_, W> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        Pin::new(&mut **me.writer).poll_write(cx, me.bytes)
    }
}

pin_project! {
    /// The future of `write_vectored`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteVectored<'a, 'b, W: ?Sized> {
        writer: &'a mut W,
        bufs: &'a [IoSlice<'b>],
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn write_vectored<'a, 'b, W: ?Sized>(
    writer: &'a mut W,
    bufs: &'a [IoSlice<'b>],
) -> WriteVectored<'a, 'b, W> {
    WriteVectored { writer, bufs, pinned: PhantomPinned }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for WriteVectored<'_, '_, W> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        Pin::new(&mut **me.writer).poll_write_vectored(cx, me.bufs)
    }
}

pin_project! {
    /// The future of `write_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteBuf<'a, W, B> {
        writer: &'a mut W,
        buf: &'a mut B,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn write_buf<'a, W, B>(writer: &'a mut W, buf: &'a mut B) -> WriteBuf<'a, W, B> {
    WriteBuf { writer, buf, pinned: PhantomPinned }
}

impl<W: AsyncWrite + Unpin, B: Buf> Future for WriteBuf<'_, W, B> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        if !me.buf.has_remaining() {
            return Poll::Ready(Ok(0));
        }
        poll_write_buf(Pin::new(&mut **me.writer), cx, *me.buf)
    }
}

pin_project! {
    /// The future of `write_all`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteAll<'a, W: ?Sized> {
        writer: &'a mut W,
        bytes: &'a [u8],
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn write_all<'a, W: ?Sized>(writer: &'a mut W, bytes: &'a [u8]) -> WriteAll<'a, W> {
    WriteAll { writer, bytes, pinned: PhantomPinned }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for WriteAll<'_, W> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.project();
        while !me.bytes.is_empty() {
            match ready!(Pin::new(&mut **me.writer).poll_write(cx, me.bytes)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(n) => *me.bytes = &me.bytes[taken(n, me.bytes.len())..],
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

pin_project! {
    /// The future of `write_all_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteAllBuf<'a, W, B> {
        writer: &'a mut W,
        buf: &'a mut B,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn write_all_buf<'a, W, B>(writer: &'a mut W, buf: &'a mut B) -> WriteAllBuf<'a, W, B> {
    WriteAllBuf { writer, buf, pinned: PhantomPinned }
}

impl<W: AsyncWrite + Unpin, B: Buf> Future for WriteAllBuf<'_, W, B> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.project();
        while me.buf.has_remaining() {
            match ready!(poll_write_buf(Pin::new(&mut **me.writer), cx, *me.buf)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

pin_project! {
    /// The future of `flush`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Flush<'a, W: ?Sized> {
        writer: &'a mut W,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn flush<W: ?Sized>(writer: &mut W) -> Flush<'_, W> {
    Flush { writer, pinned: PhantomPinned }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for Flush<'_, W> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.project();
        Pin::new(&mut **me.writer).poll_flush(cx)
    }
}

pin_project! {
    /// The future of `shutdown`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Shutdown<'a, W: ?Sized> {
        writer: &'a mut W,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn shutdown<W: ?Sized>(writer: &mut W) -> Shutdown<'_, W> {
    Shutdown { writer, pinned: PhantomPinned }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for Shutdown<'_, W> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.project();
        Pin::new(&mut **me.writer).poll_shutdown(cx)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::AsyncWriteExt;
    use crate::script::{Did, Sink, Step, cancel_after};
    use bytes::Buf;
    use nezumi_wake::block_on;
    use std::io::{ErrorKind, IoSlice};

    #[test]
    fn one_write_writes_what_one_write_takes() {
        let mut sink = Sink::new([Step::Pending, Step::Take(2), Step::Fail(ErrorKind::Interrupted)]);
        assert!(cancel_after(1, sink.write(b"abc")).is_none());
        assert_eq!(block_on(sink.write(b"abc")).unwrap(), 2);
        assert_eq!(block_on(sink.write(b"abc")).unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(block_on(sink.write(b"c")).unwrap(), 1);
        assert_eq!(block_on(sink.write(b"")).unwrap(), 0);
        assert_eq!(sink.written(), b"abc");
    }

    #[test]
    fn vectored_writes_are_offered_together() {
        let mut sink = Sink::new([Step::Take(3), Step::Fail(ErrorKind::Other)]).vectored(true);
        let bufs = [IoSlice::new(b"ab"), IoSlice::new(b"cd")];
        assert_eq!(block_on(sink.write_vectored(&bufs)).unwrap(), 3);
        assert_eq!(block_on(sink.write_vectored(&bufs)).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(sink.log, [Did::Write(b"abc".to_vec())]);
    }

    #[test]
    fn write_all_goes_on_until_all_is_taken() {
        let mut sink = Sink::new([
            Step::Take(1),
            Step::Pending,
            Step::Fail(ErrorKind::Interrupted),
            Step::Take(2),
            Step::Take(9),
            Step::Take(1),
            Step::Take(0),
            Step::Fail(ErrorKind::BrokenPipe),
        ]);
        block_on(sink.write_all(b"abcdef")).unwrap();
        assert_eq!(sink.written(), b"abcdef");
        assert_eq!(block_on(sink.write_all(b"gh")).unwrap_err().kind(), ErrorKind::WriteZero);
        assert_eq!(block_on(sink.write_all(b"gh")).unwrap_err().kind(), ErrorKind::BrokenPipe);
        block_on(sink.write_all(b"")).unwrap();
    }

    #[test]
    fn a_buffer_is_advanced_by_what_was_taken() {
        for vectored in [false, true] {
            let script = [Step::Take(1), Step::Pending, Step::Take(2), Step::Fail(ErrorKind::Interrupted)];
            let mut sink = Sink::new(script).vectored(vectored);
            let mut buf = (&b"abc"[..]).chain(&b"defg"[..]);
            assert_eq!(block_on(sink.write_buf(&mut buf)).unwrap(), 1);
            assert_eq!(buf.remaining(), 6);
            assert!(cancel_after(1, sink.write_all_buf(&mut buf)).is_none());
            assert_eq!(buf.remaining(), 6);
            block_on(sink.write_all_buf(&mut buf)).unwrap();
            assert_eq!((buf.remaining(), sink.written()), (0, b"abcdefg".to_vec()));
            let writes = sink.log.len();
            assert_eq!(block_on(sink.write_buf(&mut buf)).unwrap(), 0);
            block_on(sink.write_all_buf(&mut buf)).unwrap();
            assert_eq!((writes, sink.log.len()), (3, 3));
        }
    }

    #[test]
    fn a_buffer_nobody_takes_is_an_error() {
        let mut sink =
            Sink::new([Step::Take(0), Step::Take(1), Step::Fail(ErrorKind::BrokenPipe), Step::Take(0)]);
        let mut buf = &b"abc"[..];
        assert_eq!(block_on(sink.write_all_buf(&mut buf)).unwrap_err().kind(), ErrorKind::WriteZero);
        assert_eq!(block_on(sink.write_all_buf(&mut buf)).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(buf, b"bc");
        assert_eq!(block_on(sink.write_buf(&mut buf)).unwrap(), 0);
    }

    #[test]
    fn flush_and_shutdown_wait_and_fail() {
        let mut sink = Sink::default();
        sink.flushes.extend([Step::Pending, Step::Take(0), Step::Fail(ErrorKind::Other)]);
        sink.shutdowns.extend([Step::Pending, Step::Take(0), Step::Fail(ErrorKind::Other)]);
        block_on(sink.flush()).unwrap();
        assert_eq!(block_on(sink.flush()).unwrap_err().kind(), ErrorKind::Other);
        block_on(sink.shutdown()).unwrap();
        assert_eq!(block_on(sink.shutdown()).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(sink.log, [Did::Flush, Did::Shutdown]);
    }
}
