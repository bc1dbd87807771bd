//! A reader that reads ahead.
//!
//! Promise: bytes come in order, none twice, none missing. The reader underneath is asked only when nothing is buffered,
//! and a read too large for the buffer goes past it.
//!
//! A relative seek counts from where the *user* is, which is behind where the reader underneath is by what is buffered.
//! What is buffered is thrown away when the seek is done, not before: a seek that was given up has cost nothing.
//!
//! ```text
//! Idle -> Wanted(position) -> UnderWay -> Idle
//!               \-> Rewinding(rest) -/        (only if position minus what is buffered has no i64)
//! ```
//!
//! Tests: `follows_a_plain_reader` (property), `large_reads_go_past_the_buffer`, `a_relative_seek_counts_from_the_user`,
//! `a_seek_beyond_i64_goes_in_two_steps`.

use crate::block::{Block, DEFAULT_CAPACITY};
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Makes few large reads out of many small ones.
    ///
    /// Reading a few bytes at a time from a socket or a file costs a system call, or a hop to another thread, each time;
    /// through a `BufReader` it costs one for every 8 KiB. It also makes any reader an [`AsyncBufRead`], which can be read by
    /// lines. For something that is in memory already it gains nothing.
    ///
    /// What is buffered is lost when the `BufReader` is dropped or taken apart. Writes and seeks go to what is underneath.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt, BufReader};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// # let socket = &b"one\ntwo\n"[..];
    /// let mut lines = BufReader::new(socket).lines();
    /// while let Some(line) = lines.next_line().await? {
    ///     println!("{line}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub struct BufReader<R> {
        #[pin]
        pub(crate) inner: R,
        pub(crate) block: Block,
        pub(crate) seek: Seek,
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Seek {
    Idle,
    /// Asked for, not begun.
    Wanted(SeekFrom),
    /// On the way to where the user is; by this much further after that.
    Rewinding(i64),
    UnderWay,
}

impl<R: AsyncRead> BufReader<R> {
    /// A buffer of 8 KiB in front of `inner`.
    pub fn new(inner: R) -> Self {
        Self::with_capacity(DEFAULT_CAPACITY, inner)
    }

    /// A buffer of `capacity` bytes in front of `inner`.
    ///
    /// # Panics
    ///
    /// If `capacity` is 0.
    #[track_caller]
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        assert!(capacity > 0, "capacity must be greater than zero");
        Self { inner, block: Block::new(capacity), seek: Seek::Idle }
    }

    /// The reader underneath.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The reader underneath. What is read from it directly comes after what is buffered, and is missing here.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The reader underneath, pinned. What is read from it directly comes after what is buffered, and is missing here.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Gives the reader back. What is buffered is lost.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// What is buffered. Reads nothing.
    pub fn buffer(&self) -> &[u8] {
        self.block.bytes()
    }
}

impl<R: AsyncRead> AsyncRead for BufReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.block.is_empty() && buf.remaining() >= self.block.capacity() {
            return self.project().inner.poll_read(cx, buf);
        }
        let bytes = ready!(self.as_mut().poll_fill_buf(cx))?;
        let n = bytes.len().min(buf.remaining());
        buf.put_slice(&bytes[..n]);
        self.consume(n);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead> AsyncBufRead for BufReader<R> {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let me = self.project();
        if me.block.is_empty() {
            me.block.clear();
            ready!(me.block.poll_fill(me.inner, cx))?;
        }
        Poll::Ready(Ok(me.block.bytes()))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().block.consume(amt);
    }
}

/// Every seek throws away what is buffered, even one that goes nowhere.
impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // Seeking may take two steps, and the second can only be begun where one can wait.
        *self.project().seek = Seek::Wanted(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        loop {
            let mut me = self.as_mut().project();
            match *me.seek {
                Seek::Idle => return me.inner.poll_complete(cx),
                Seek::Wanted(position) => {
                    // Should it fail to begin, it is forgotten.
                    *me.seek = Seek::Idle;
                    let (first, then) = first_step(position, me.block.bytes().len());
                    me.inner.start_seek(first)?;
                    *me.seek = then;
                }
                Seek::Rewinding(offset) => {
                    let result = ready!(me.inner.as_mut().poll_complete(cx));
                    *me.seek = Seek::Idle;
                    result?;
                    me.block.clear();
                    me.inner.start_seek(SeekFrom::Current(offset))?;
                    *me.seek = Seek::UnderWay;
                }
                Seek::UnderWay => {
                    let result = ready!(me.inner.poll_complete(cx));
                    *me.seek = Seek::Idle;
                    if result.is_ok() {
                        me.block.clear();
                    }
                    return Poll::Ready(result);
                }
            }
        }
    }
}

/// Where to seek underneath, and what comes after, when `buffered` bytes were read ahead.
fn first_step(position: SeekFrom, buffered: usize) -> (SeekFrom, Seek) {
    let SeekFrom::Current(offset) = position else { return (position, Seek::UnderWay) };
    // An allocation is never larger than `isize::MAX`, so this is exact.
    let ahead = buffered as i64;
    match offset.checked_sub(ahead) {
        Some(offset) => (SeekFrom::Current(offset), Seek::UnderWay),
        None => (SeekFrom::Current(-ahead), Seek::Rewinding(offset)),
    }
}

/// Written through, unbuffered.
impl<R: AsyncRead + AsyncWrite> AsyncWrite for BufReader<R> {
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

impl<R: fmt::Debug> fmt::Debug for BufReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufReader").field("reader", &self.inner).field("buffer", &self.block).finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{self, Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;
    use std::panic::catch_unwind;

    #[test]
    fn large_reads_go_past_the_buffer() {
        let script = [Step::Bytes(b"abcdef"), Step::Bytes(b"ghijkl"), Step::Pending, Step::Bytes(b"m")];
        let mut reader = BufReader::with_capacity(4, Source::new(script));
        let mut buf = [0; 5];
        assert_eq!(block_on(reader.read(&mut buf)).unwrap(), 5);
        assert_eq!((reader.buffer(), &buf), (&b""[..], b"abcde"));
        assert_eq!(block_on(reader.read(&mut buf[..1])).unwrap(), 1);
        assert_eq!(block_on(reader.read(&mut buf[..1])).unwrap(), 1);
        assert_eq!((reader.buffer(), buf[0]), (&b"hij"[..], b'g'));
        assert_eq!(format!("{reader:?}").split_once("buffer: ").unwrap().1, "3/4 }");
        assert_eq!(block_on(reader.read(&mut buf)).unwrap(), 3, "what is buffered comes first, alone");
        assert_eq!(block_on(reader.read(&mut buf[..4])).unwrap(), 2);
        assert_eq!(block_on(reader.read(&mut buf[..1])).unwrap(), 1);
        assert_eq!(reader.into_inner().polls, 6);
    }

    #[test]
    fn an_error_loses_nothing() {
        let script = [Step::Bytes(b"ab"), Step::Fail(ErrorKind::Other), Step::Bytes(b"c")];
        let mut reader = BufReader::new(Source::new(script));
        let mut buf = [0; 2];
        assert_eq!(block_on(reader.read(&mut buf[..1])).unwrap(), 1);
        assert_eq!(block_on(reader.read(&mut buf)).unwrap(), 1);
        assert_eq!(block_on(reader.read(&mut buf)).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(block_on(reader.read(&mut buf)).unwrap(), 1);
        assert_eq!(block_on(reader.fill_buf()).unwrap(), b"");
    }

    #[test]
    fn no_capacity_is_refused() {
        let payload = catch_unwind(|| BufReader::with_capacity(0, &b""[..])).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"capacity must be greater than zero"));
    }

    /// Remembers the seeks it is asked for, and waits once in each. Reads as zeros.
    #[derive(Default)]
    struct Seeks {
        asked: Vec<SeekFrom>,
        waits: usize,
        fails: bool,
    }

    impl AsyncRead for Seeks {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let n = buf.initialize_unfilled().len();
            buf.advance(n);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncSeek for Seeks {
        fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
            if self.fails {
                return Err(ErrorKind::InvalidInput.into());
            }
            self.asked.push(position);
            self.waits = 1;
            Ok(())
        }

        fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
            if self.waits > 0 {
                self.waits -= 1;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(Ok(77))
        }
    }

    fn with_seven_ahead() -> BufReader<Seeks> {
        let mut reader = BufReader::with_capacity(8, Seeks::default());
        assert_eq!(block_on(reader.read_u8()).unwrap(), 0);
        assert_eq!(reader.buffer().len(), 7);
        reader
    }

    #[test]
    fn a_relative_seek_counts_from_the_user() {
        let mut reader = with_seven_ahead();
        assert!(cancel_after(1, reader.seek(SeekFrom::Current(10))).is_none());
        assert_eq!((&reader.get_ref().asked[..], reader.buffer().len()), (&[SeekFrom::Current(3)][..], 7));
        assert_eq!(block_on(reader.seek(SeekFrom::End(1))).unwrap(), 77);
        assert_eq!((reader.get_ref().asked[1], reader.buffer().len()), (SeekFrom::End(1), 0));
    }

    #[test]
    fn a_seek_beyond_i64_goes_in_two_steps() {
        let mut reader = with_seven_ahead();
        assert!(cancel_after(2, reader.seek(SeekFrom::Current(i64::MIN))).is_none());
        assert_eq!(reader.get_ref().asked, [SeekFrom::Current(-7), SeekFrom::Current(i64::MIN)]);
        assert_eq!(block_on(reader.rewind()).unwrap(), 77);
    }

    #[test]
    fn a_seek_that_cannot_begin_is_forgotten() {
        let mut reader = with_seven_ahead();
        reader.get_mut().fails = true;
        assert_eq!(block_on(reader.rewind()).unwrap_err().kind(), ErrorKind::InvalidInput);
        reader.get_mut().fails = false;
        assert_eq!(block_on(reader.read(&mut [0; 9])).unwrap(), 7);
        assert_eq!(block_on(reader.stream_position()).unwrap(), 77);
        assert_eq!(reader.get_ref().asked, [SeekFrom::Current(0)]);
    }

    #[test]
    fn writes_go_through() {
        let both = crate::join(&b"abc"[..], script::Sink::new([Step::Take(2)]).vectored(true));
        let mut reader = BufReader::new(both);
        assert!(reader.is_write_vectored());
        block_on(async {
            assert_eq!(reader.write(b"xyz").await.unwrap(), 2);
            assert_eq!(reader.write_vectored(&[IoSlice::new(b"z")]).await.unwrap(), 1);
            reader.flush().await.unwrap();
            reader.shutdown().await.unwrap();
            assert_eq!(reader.fill_buf().await.unwrap(), b"abc");
        });
        assert_eq!(reader.get_ref().writer().log.len(), 4);
    }
}

/// Not under Miri, which takes minutes to make up the cases; nothing here is `unsafe`.
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle, miri))))]
mod properties {
    use crate::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, BufReader, script};
    use nezumi_wake::block_on;
    use proptest::prelude::*;
    use std::io::{Cursor, SeekFrom};

    #[derive(Clone, Debug)]
    enum Call {
        Read(usize),
        FillAndConsume(usize),
        Exact(usize),
        Seek(SeekFrom),
    }

    fn call() -> impl Strategy<Value = Call> {
        prop_oneof![
            (0..12_usize).prop_map(Call::Read),
            (0..12_usize).prop_map(Call::FillAndConsume),
            (0..12_usize).prop_map(Call::Exact),
            (-40..40_i64).prop_map(|n| Call::Seek(SeekFrom::Current(n))),
            (-40..4_i64).prop_map(|n| Call::Seek(SeekFrom::End(n))),
            (0..40_u64).prop_map(|n| Call::Seek(SeekFrom::Start(n))),
        ]
    }

    async fn make(call: &Call, reader: &mut BufReader<Cursor<Vec<u8>>>, plain: &mut Cursor<Vec<u8>>) {
        match *call {
            Call::Read(n) => {
                let (mut ours, mut theirs) = (vec![0; n], vec![0; n]);
                let got = reader.read(&mut ours).await.unwrap();
                plain.read_exact(&mut theirs[..got]).await.unwrap();
                assert_eq!(ours, theirs);
                assert!(got > 0 || n == 0 || plain.read(&mut [0]).await.unwrap() == 0);
            }
            Call::FillAndConsume(n) => {
                let bytes = reader.fill_buf().await.unwrap();
                assert!(plain.fill_buf().await.unwrap().starts_with(bytes));
                let n = n.min(bytes.len());
                AsyncBufReadExt::consume(reader, n);
                AsyncBufReadExt::consume(plain, n);
            }
            Call::Exact(n) => {
                let (mut ours, mut theirs) = (vec![0; n], vec![0; n]);
                let results = (reader.read_exact(&mut ours).await, plain.read_exact(&mut theirs).await);
                assert_eq!(results.0.is_ok(), results.1.is_ok());
                assert_eq!(ours, theirs);
            }
            Call::Seek(position) => {
                let results = (reader.seek(position).await, plain.seek(position).await);
                assert_eq!(results.0.ok(), results.1.ok());
            }
        }
    }

    proptest! {
        #![proptest_config(script::cases(256))]

        #[test]
        fn follows_a_plain_reader(
            capacity in 1..10_usize,
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            calls in prop::collection::vec(call(), 0..24),
        ) {
            let mut reader = BufReader::with_capacity(capacity, Cursor::new(bytes.clone()));
            let mut plain = Cursor::new(bytes);
            block_on(async {
                for call in &calls {
                    make(call, &mut reader, &mut plain).await;
                }
            });
        }
    }
}
