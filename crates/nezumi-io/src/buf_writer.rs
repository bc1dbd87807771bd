//! A writer that collects.
//!
//! Promise: bytes go out in order, none twice, none missing, however often the writer underneath takes only some, waits,
//! or fails; and no future that is dropped changes that.
//!
//! ```text
//! 0         written      len        capacity
//! | written | buffered   | room -------- |
//! ```
//!
//! Bytes are not moved up when only some of them went out: `written` counts them until all have. Only a failure moves them
//! up, so that after it there is as much room as can be.
//!
//! Tests: `follows_a_plain_writer` (property), `large_writes_go_past_the_buffer`, `a_failed_flush_goes_on_where_it_was`.

use crate::block::DEFAULT_CAPACITY;
use crate::ext::{is_interrupted, taken};
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Makes few large writes out of many small ones.
    ///
    /// Writing a few bytes at a time to a socket or a file costs a system call, or a hop to another thread, each time;
    /// through a `BufWriter` it costs one for every 8 KiB. For something that is in memory it gains nothing.
    ///
    /// What is buffered is lost when the `BufWriter` is dropped: [flush](crate::AsyncWriteExt::flush) it or
    /// [shut it down](crate::AsyncWriteExt::shutdown) before. Reads go to what is underneath; a seek flushes first.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncWriteExt, BufWriter};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// # let socket = Vec::new();
    /// let mut writer = BufWriter::new(socket);
    /// for n in 0..1000 {
    ///     writer.write_u32(n).await?;
    /// }
    /// writer.flush().await?;
    /// # assert_eq!(writer.get_ref().len(), 4000);
    /// # Ok(())
    /// # }
    /// ```
    pub struct BufWriter<W> {
        #[pin]
        pub(crate) inner: W,
        pub(crate) buf: Vec<u8>,
        pub(crate) written: usize,
        pub(crate) seek: Seek,
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Seek {
    Idle,
    /// Asked for, not begun: what is buffered goes out first.
    Wanted(SeekFrom),
    UnderWay,
}

impl<W: AsyncWrite> BufWriter<W> {
    /// A buffer of 8 KiB in front of `inner`.
    pub fn new(inner: W) -> Self {
        Self::with_capacity(DEFAULT_CAPACITY, inner)
    }

    /// A buffer of `cap` bytes in front of `inner`. With 0 every write goes through.
    pub fn with_capacity(cap: usize, inner: W) -> Self {
        Self { inner, buf: Vec::with_capacity(cap), written: 0, seek: Seek::Idle }
    }

    /// The writer underneath.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// The writer underneath. What is written to it directly comes before what is buffered.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// The writer underneath, pinned. What is written to it directly comes before what is buffered.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// Gives the writer back. What is buffered is lost.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// What is buffered and has not gone out.
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.written..]
    }

    /// How much fits in the buffer without a flush.
    fn room(&self) -> usize {
        self.buf.capacity() - self.buf.len()
    }

    /// Writes out what is buffered, without flushing the writer underneath.
    fn poll_drain(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut me = self.project();
        let result = loop {
            let left = &me.buf[*me.written..];
            if left.is_empty() {
                break Ok(());
            }
            match ready!(me.inner.as_mut().poll_write(cx, left)) {
                Ok(0) => {
                    let kind = io::ErrorKind::WriteZero;
                    break Err(io::Error::new(kind, "failed to write the buffered data"));
                }
                Ok(n) => *me.written += taken(n, left.len()),
                Err(error) if is_interrupted(&error) => {}
                Err(error) => break Err(error),
            }
        };
        me.buf.drain(..std::mem::take(me.written));
        Poll::Ready(result)
    }

    /// The first buffer with bytes, and of those after it what fits: for a writer that takes one slice at a time.
    fn poll_write_first(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut bufs = bufs.iter().skip_while(|buf| buf.is_empty());
        let Some(first) = bufs.next() else { return Poll::Ready(Ok(0)) };
        if first.len() > self.room() {
            ready!(self.as_mut().poll_drain(cx))?;
        }
        let me = self.as_mut().project();
        if first.len() >= me.buf.capacity() {
            return me.inner.poll_write(cx, first);
        }
        let before = me.buf.len();
        me.buf.extend_from_slice(first);
        for buf in bufs {
            if buf.len() > me.buf.capacity() - me.buf.len() {
                break;
            }
            me.buf.extend_from_slice(buf);
        }
        Poll::Ready(Ok(me.buf.len() - before))
    }
}

impl<W: AsyncWrite> AsyncWrite for BufWriter<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.len() > self.room() {
            ready!(self.as_mut().poll_drain(cx))?;
        }
        let me = self.project();
        if buf.len() >= me.buf.capacity() {
            return me.inner.poll_write(cx, buf);
        }
        me.buf.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_drain(cx))?;
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_drain(cx))?;
        self.project().inner.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.inner.is_write_vectored() {
            return self.poll_write_first(cx, bufs);
        }
        // One buffer may be named many times: the sum need not fit.
        let total = bufs.iter().fold(0, |sum: usize, buf| sum.saturating_add(buf.len()));
        if total > self.room() {
            ready!(self.as_mut().poll_drain(cx))?;
        }
        let me = self.project();
        if total >= me.buf.capacity() {
            return me.inner.poll_write_vectored(cx, bufs);
        }
        for buf in bufs {
            me.buf.extend_from_slice(buf);
        }
        Poll::Ready(Ok(total))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// What is buffered goes out before the writer underneath is moved.
impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = Seek::Wanted(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if matches!(self.seek, Seek::Idle) {
            return self.project().inner.poll_complete(cx);
        }
        ready!(self.as_mut().poll_drain(cx))?;
        let mut me = self.project();
        if let Seek::Wanted(position) = *me.seek {
            // A seek that somebody started underneath and gave up must end before the next.
            ready!(me.inner.as_mut().poll_complete(cx))?;
            // Should it fail to begin, it is forgotten.
            *me.seek = Seek::Idle;
            me.inner.as_mut().start_seek(position)?;
            *me.seek = Seek::UnderWay;
        }
        let result = ready!(me.inner.poll_complete(cx));
        *me.seek = Seek::Idle;
        Poll::Ready(result)
    }
}

/// Read through, unbuffered.
impl<W: AsyncWrite + AsyncRead> AsyncRead for BufWriter<W> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

/// Read through, with the buffer of what is underneath.
impl<W: AsyncWrite + AsyncBufRead> AsyncBufRead for BufWriter<W> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<W: fmt::Debug> fmt::Debug for BufWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufWriter")
            .field("writer", &self.inner)
            .field("buffer", &format_args!("{}/{}", self.buf.len(), self.buf.capacity()))
            .field("written", &self.written)
            .finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{Did, Sink, Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader};
    use nezumi_wake::block_on;
    use std::io::{Cursor, ErrorKind};

    #[test]
    fn large_writes_go_past_the_buffer() {
        let mut writer = BufWriter::with_capacity(4, Sink::default());
        block_on(async {
            assert_eq!(writer.write(b"ab").await.unwrap(), 2);
            assert_eq!(writer.write(b"cd").await.unwrap(), 2);
            assert_eq!((writer.buffer(), writer.get_ref().log.len()), (&b"abcd"[..], 0));
            assert_eq!(writer.write(b"e").await.unwrap(), 1);
            assert_eq!((writer.buffer(), &writer.get_ref().written()[..]), (&b"e"[..], &b"abcd"[..]));
            assert_eq!(writer.write(b"fghi").await.unwrap(), 4);
            assert_eq!((writer.buffer(), writer.get_ref().log.len()), (&b""[..], 3));
        });
        assert_eq!(writer.get_ref().written(), b"abcdefghi");
    }

    #[test]
    fn vectored_writes_are_collected_or_passed_on() {
        let slices =
            |pieces: &[&'static [u8]]| pieces.iter().map(|bytes| IoSlice::new(bytes)).collect::<Vec<_>>();
        for vectored in [true, false] {
            let mut writer = BufWriter::with_capacity(4, Sink::default().vectored(vectored));
            block_on(async {
                assert_eq!(writer.write_vectored(&slices(&[b"", b"a", b"", b"bc"])).await.unwrap(), 3);
                assert_eq!((writer.buffer(), writer.get_ref().log.len()), (&b"abc"[..], 0));
                let n = writer.write_vectored(&slices(&[b"d", b"efgh"])).await.unwrap();
                // As a whole it is too large for the buffer; without vectored writes the first piece fits.
                assert_eq!(n, if vectored { 5 } else { 1 });
                assert_eq!(writer.write_vectored(&slices(&[b"", b""])).await.unwrap(), 0);
                assert_eq!(writer.write_vectored(&[]).await.unwrap(), 0);
                writer.shutdown().await.unwrap();
            });
            let log = &writer.get_ref().log;
            let expected: &[&[u8]] = if vectored { &[b"abc", b"defgh"] } else { &[b"abcd"] };
            assert_eq!(log.len(), expected.len() + 1);
            for (did, bytes) in log.iter().zip(expected) {
                assert_eq!(*did, Did::Write(bytes.to_vec()));
            }
        }
    }

    #[test]
    fn a_failed_flush_goes_on_where_it_was() {
        let mut sink = Sink::new([
            Step::Take(1),
            Step::Pending,
            Step::Take(1),
            Step::Fail(ErrorKind::Other),
            Step::Take(1),
            Step::Take(0),
        ]);
        sink.flushes.push_back(Step::Fail(ErrorKind::NotFound));
        let mut writer = BufWriter::with_capacity(8, sink);
        block_on(writer.write_all(b"abcde")).unwrap();
        assert!(cancel_after(1, writer.flush()).is_none());
        assert_eq!(writer.buffer(), b"bcde");
        assert!(format!("{writer:?}").ends_with("buffer: 5/8, written: 1 }"));
        assert_eq!(block_on(writer.flush()).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!((writer.buffer(), writer.room()), (&b"cde"[..], 5));
        let error = block_on(writer.flush()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
        assert_eq!(error.to_string(), "failed to write the buffered data");
        assert_eq!(block_on(writer.flush()).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(writer.buffer(), b"", "it was the writer's own flush that failed");
        block_on(writer.flush()).unwrap();
        assert_eq!(writer.into_inner().written(), b"abcde");
    }

    #[test]
    fn a_seek_writes_out_first() {
        let mut writer = BufWriter::with_capacity(8, Cursor::new(vec![b'.'; 6]));
        block_on(async {
            writer.write_all(b"ab").await.unwrap();
            assert_eq!(writer.seek(SeekFrom::Current(2)).await.unwrap(), 4);
            writer.write_all(b"cd").await.unwrap();
            assert_eq!(writer.seek(SeekFrom::Current(-9)).await.unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(writer.stream_position().await.unwrap(), 6);
            assert_eq!(writer.rewind().await.unwrap(), 0);
            writer.write_all(b"X").await.unwrap();
            writer.flush().await.unwrap();
        });
        assert_eq!(writer.into_inner().into_inner(), b"Xb..cd");
    }

    #[test]
    fn reads_go_through() {
        let source = BufReader::new(Source::new([Step::Bytes(b"abc")]));
        let mut writer = BufWriter::new(crate::join(source, Sink::default()));
        block_on(async {
            assert_eq!(writer.fill_buf().await.unwrap(), b"abc");
            AsyncBufReadExt::consume(&mut writer, 1);
            assert_eq!(writer.read_u8().await.unwrap(), b'b');
        });
    }

    #[test]
    #[should_panic(expected = "writer returned length larger than input slice")]
    fn a_writer_that_takes_too_much_is_found_out() {
        struct Greedy;

        impl AsyncWrite for Greedy {
            fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                Poll::Ready(Ok(buf.len() + 1))
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
        }

        let mut writer = BufWriter::new(Greedy);
        block_on(writer.write_all(b"abc")).unwrap();
        let _ = block_on(writer.flush());
    }
}

/// Not under Miri, which takes minutes to make up the cases; nothing here is `unsafe`.
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle, miri))))]
mod properties {
    use crate::script::{self, Sink, Step, cancel_after};
    use crate::{AsyncWriteExt, BufWriter};
    use nezumi_wake::block_on;
    use proptest::prelude::*;
    use std::io::{ErrorKind, IoSlice};

    #[derive(Clone, Debug)]
    enum Call {
        Write(Vec<u8>),
        Vectored(Vec<Vec<u8>>),
        Flush,
        CancelledFlush,
    }

    fn call() -> impl Strategy<Value = Call> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..8);
        prop_oneof![
            bytes().prop_map(Call::Write),
            prop::collection::vec(bytes(), 0..4).prop_map(Call::Vectored),
            Just(Call::Flush),
            Just(Call::CancelledFlush),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1..6_usize).prop_map(Step::Take),
            1 => Just(Step::Pending),
            1 => Just(Step::Fail(ErrorKind::Interrupted)),
            1 => Just(Step::Fail(ErrorKind::Other)),
            1 => Just(Step::Take(0)),
        ]
    }

    /// Makes the call, and adds to `plain` what it says was written.
    async fn make(call: &Call, writer: &mut BufWriter<Sink>, plain: &mut Vec<u8>) {
        match call {
            Call::Write(bytes) => {
                if let Ok(n) = writer.write(bytes).await {
                    plain.extend_from_slice(&bytes[..n]);
                }
            }
            Call::Vectored(buffers) => {
                let slices: Vec<_> = buffers.iter().map(|bytes| IoSlice::new(bytes)).collect();
                if let Ok(n) = writer.write_vectored(&slices).await {
                    plain.extend_from_slice(&buffers.concat()[..n]);
                }
            }
            Call::Flush => {
                if writer.flush().await.is_ok() {
                    assert_eq!(writer.buffer(), b"");
                }
            }
            Call::CancelledFlush => drop(cancel_after(1, writer.flush())),
        }
        assert_eq!([&writer.get_ref().written()[..], writer.buffer()].concat(), *plain);
    }

    proptest! {
        #![proptest_config(script::cases(256))]

        #[test]
        fn follows_a_plain_writer(
            capacity in 0..10_usize,
            vectored in any::<bool>(),
            steps in prop::collection::vec(step(), 0..24),
            calls in prop::collection::vec(call(), 0..24),
        ) {
            let sink = Sink::new(steps).vectored(vectored);
            let mut writer = BufWriter::with_capacity(capacity, sink);
            let mut plain = Vec::new();
            block_on(async {
                for call in &calls {
                    make(call, &mut writer, &mut plain).await;
                }
            });
        }
    }
}
