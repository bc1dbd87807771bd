//! One read, and as many as it takes to fill a buffer.
//!
//! Tests: `read_gives_what_one_read_gives`, `read_exact_fills_or_fails`, `a_lying_reader_shows_nothing_unwritten`.

use super::{early_eof, is_interrupted};
use crate::{AsyncRead, ReadBuf};
use bytes::BufMut;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// One read into `buf`; how many bytes that was.
#[inline]
fn poll_read_once<R>(reader: &mut R, cx: &mut Context<'_>, mut buf: ReadBuf<'_>) -> Poll<io::Result<usize>>
where
    R: AsyncRead + Unpin + ?Sized,
{
    let origin = buf.origin();
    let result = Pin::new(reader).poll_read(cx, &mut buf);
    origin.expect_same(&buf);
    result.map_ok(|()| buf.filled().len())
}

pin_project! {
    /// The future of `read`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Read<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut [u8],
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn read<'a, R: ?Sized>(reader: &'a mut R, buf: &'a mut [u8]) -> Read<'a, R> {
    Read { reader, buf, pinned: PhantomPinned }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for Read<'_, R> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        poll_read_once(*me.reader, cx, ReadBuf::new(me.buf))
    }
}

pin_project! {
    /// The future of `read_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadInto<'a, R: ?Sized, B: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut B,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn read_buf<'a, R: ?Sized, B: ?Sized>(reader: &'a mut R, buf: &'a mut B) -> ReadInto<'a, R, B> {
    ReadInto { reader, buf, pinned: PhantomPinned }
}

impl<R, B> Future for ReadInto<'_, R, B>
where
    R: AsyncRead + Unpin + ?Sized,
    B: BufMut + ?Sized,
{
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        if !me.buf.has_remaining_mut() {
            return Poll::Ready(Ok(0));
        }
        // SAFETY: a `ReadBuf` makes no byte of its memory uninitialized, and lends the memory to others only under the
        // same condition.
        let chunk = unsafe { me.buf.chunk_mut().as_uninit_slice_mut() };
        let n = ready!(poll_read_once(*me.reader, cx, ReadBuf::uninit(chunk)))?;
        // SAFETY: `n` bytes of the `ReadBuf` over this very chunk are filled: `poll_read_once` checks that it is the same.
        unsafe { me.buf.advance_mut(n) };
        Poll::Ready(Ok(n))
    }
}

pin_project! {
    /// The future of `read_exact`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadExact<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: ReadBuf<'a>,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn read_exact<'a, R: ?Sized>(reader: &'a mut R, buf: &'a mut [u8]) -> ReadExact<'a, R> {
    ReadExact { reader, buf: ReadBuf::new(buf), pinned: PhantomPinned }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadExact<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        let origin = me.buf.origin();
        while me.buf.remaining() > 0 {
            let before = me.buf.remaining();
            let result = ready!(Pin::new(&mut **me.reader).poll_read(cx, me.buf));
            origin.expect_same(me.buf);
            match result {
                Ok(()) if me.buf.remaining() == before => return Poll::Ready(Err(early_eof())),
                Ok(()) => {}
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(me.buf.capacity()))
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::AsyncReadExt;
    use crate::script::{LIES, Lie, Source, Step, cancel_after};
    use bytes::{BufMut, BytesMut};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn read_gives_what_one_read_gives() {
        let mut source = Source::new([
            Step::Pending,
            Step::Bytes(b"abc"),
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"d"),
        ]);
        let mut buf = [0; 2];
        assert_eq!(block_on(source.read(&mut buf)).unwrap(), 2);
        assert_eq!(&buf, b"ab");
        assert_eq!(block_on(source.read(&mut buf)).unwrap(), 1);
        assert_eq!(&buf, b"cb");
        assert_eq!(block_on(source.read(&mut buf)).unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(block_on(source.read(&mut buf)).unwrap(), 1);
        assert_eq!(block_on(source.read(&mut buf)).unwrap(), 0);
    }

    #[test]
    fn read_buf_appends_to_what_grows_and_fills_what_does_not() {
        let mut source = Source::new([Step::Pending, Step::Bytes(b"abcd"), Step::Fail(ErrorKind::Other)]);
        let mut grows = BytesMut::from(&b"-"[..]);
        assert_eq!(block_on(source.read_buf(&mut grows)).unwrap(), 4);
        assert_eq!(&grows[..], b"-abcd");
        assert_eq!(block_on(source.read_buf(&mut grows)).unwrap_err().kind(), ErrorKind::Other);
        let mut memory = *b"....";
        let mut rest = &mut memory[..];
        let mut source = Source::new([Step::Bytes(b"abc"), Step::Bytes(b"def")]);
        assert_eq!(block_on(source.read_buf(&mut rest)).unwrap(), 3);
        assert_eq!(block_on(source.read_buf(&mut rest)).unwrap(), 1);
        assert_eq!(source.polls, 2);
        assert_eq!(block_on(source.read_buf(&mut rest)).unwrap(), 0);
        assert_eq!((source.polls, &memory), (2, b"abcd"), "a full buffer does not touch the reader");
    }

    #[test]
    fn read_exact_fills_or_fails() {
        let script = [
            Step::Bytes(b"ab"),
            Step::Pending,
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"cde"),
            Step::Fail(ErrorKind::NotFound),
        ];
        let mut source = Source::new(script);
        let mut buf = [0; 4];
        assert_eq!(block_on(source.read_exact(&mut [])).unwrap(), 0);
        assert_eq!(source.polls, 0);
        assert_eq!(block_on(source.read_exact(&mut buf)).unwrap(), 4);
        assert_eq!(&buf, b"abcd");
        assert_eq!(block_on(source.read_exact(&mut buf)).unwrap_err().kind(), ErrorKind::NotFound);
        let error = block_on(source.read_exact(&mut buf)).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::UnexpectedEof, "early eof".to_owned()));
    }

    #[test]
    fn a_cancelled_read_has_read_nothing() {
        let mut buf = [0; 4];
        let mut source = Source::new([Step::Pending, Step::Pending, Step::Bytes(b"ab")]);
        assert!(cancel_after(1, source.read(&mut buf)).is_none());
        assert!(cancel_after(1, source.read_buf(&mut &mut buf[..])).is_none());
        assert_eq!(block_on(source.read(&mut buf)).unwrap(), 2);
    }

    #[test]
    fn a_lying_reader_shows_nothing_unwritten() {
        for mut lie in LIES {
            let mut vec = Vec::with_capacity(16);
            vec.put_slice(b"abc");
            let result = catch_unwind(AssertUnwindSafe(|| cancel_after(1, lie.read_buf(&mut vec))));
            assert_eq!(result.is_err(), lie == Lie::Swap, "{lie:?}");
            assert_eq!(vec[..3], *b"abc");
            assert!(vec[3..].iter().all(|&byte| lie.may_show(byte)), "{lie:?}");
            let mut buf = [1; 4];
            let result = catch_unwind(AssertUnwindSafe(|| cancel_after(1, lie.read(&mut buf))));
            assert_eq!(result.is_err(), lie == Lie::Swap, "{lie:?}");
            let result = catch_unwind(AssertUnwindSafe(|| cancel_after(1, lie.read_exact(&mut buf))));
            assert_eq!(result.is_err(), lie == Lie::Swap, "{lie:?}");
        }
    }
}
