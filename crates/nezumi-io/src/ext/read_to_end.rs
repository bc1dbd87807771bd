//! Reading until there is no more.
//!
//! Promise: the vector grows only for bytes that exist, and stays as it was allocated if they fit.
//!
//! The reader is given the spare room of the vector. When that has become small (less than [`PROBE`]) the vector grows,
//! except if it has still the room its owner gave it: then a probe into a small array finds out whether there is anything
//! left at all. A reader that fills what it is given is given more each time, so that a long stream does not start with a
//! dozen tiny reads.
//!
//! Memory that a reader initialized once is offered as initialized until the vector moves.
//!
//! Tests: `what_fits_is_not_moved`, `a_long_stream_takes_few_reads`, `memory_is_zeroed_once`,
//! `a_lying_reader_shows_nothing_unwritten`.

use super::is_interrupted;
use crate::{AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::borrow::BorrowMut;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The least room to read into.
const PROBE: usize = 32;
/// The most room to ask for at once. Beyond it the doubling of the vector is what makes reads larger.
const LARGEST_ASK: usize = 32 * 1024;

/// A vector, owned or borrowed, that a reader is read to its end into.
#[derive(Debug)]
pub(super) struct Appender<V> {
    vec: V,
    /// The capacity the vector came with.
    given: usize,
    /// How much of the room behind the vector's bytes is initialized. Right only for the allocation it has now.
    initialized: usize,
    /// How much room to make next time.
    ask: usize,
    /// How many bytes came.
    read: usize,
}

impl<V: BorrowMut<Vec<u8>>> Appender<V> {
    pub(super) fn new(vec: V) -> Self {
        let given = vec.borrow().capacity();
        Self { vec, given, initialized: 0, ask: PROBE, read: 0 }
    }

    /// Reads until the end, and says how many bytes came.
    pub(super) fn poll_read_to_end<R>(
        &mut self,
        mut reader: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>>
    where
        R: AsyncRead + ?Sized,
    {
        loop {
            let result = if self.wants_probe() {
                self.poll_probe(reader.as_mut(), cx)
            } else {
                self.poll_read(reader.as_mut(), cx)
            };
            match ready!(result) {
                Ok(0) => return Poll::Ready(Ok(std::mem::take(&mut self.read))),
                Ok(n) => self.read += n,
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Whether growing would be for nothing if there were no more bytes.
    fn wants_probe(&self) -> bool {
        let vec = self.vec.borrow();
        let room = vec.capacity() - vec.len();
        room < PROBE && self.given >= PROBE && self.given == vec.capacity()
    }

    fn poll_probe<R>(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>>
    where
        R: AsyncRead + ?Sized,
    {
        let mut memory = [MaybeUninit::uninit(); PROBE];
        let mut buf = ReadBuf::uninit(&mut memory);
        let origin = buf.origin();
        let result = reader.poll_read(cx, &mut buf);
        origin.expect_same(&buf);
        ready!(result)?;
        let bytes = buf.filled();
        let vec = self.vec.borrow_mut();
        if bytes.len() > vec.capacity() - vec.len() {
            vec.reserve(PROBE);
        }
        vec.extend_from_slice(bytes);
        if bytes.len() < PROBE {
            self.ask = PROBE;
        }
        // Some of the room behind the bytes may still be known, but so little is not worth following.
        self.initialized = 0;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_read<R>(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>>
    where
        R: AsyncRead + ?Sized,
    {
        let vec = self.vec.borrow_mut();
        if vec.capacity() - vec.len() < PROBE {
            vec.reserve(self.ask);
            self.initialized = 0;
        }
        let mut buf = ReadBuf::uninit(vec.spare_capacity_mut());
        // SAFETY: the last call measured this on the same allocation and length: nobody else has the vector meanwhile, and
        // both places that change it set `initialized` anew.
        unsafe { buf.assume_init(self.initialized) };
        let origin = buf.origin();
        let result = reader.poll_read(cx, &mut buf);
        origin.expect_same(&buf);
        self.initialized = buf.initialized().len();
        ready!(result)?;
        let n = buf.filled().len();
        self.ask = if buf.remaining() == 0 { LARGEST_ASK.min(self.ask * 8) } else { PROBE };
        // SAFETY: `n` bytes of the `ReadBuf` over the room behind `len` are filled, and it is the one we made.
        unsafe { vec.set_len(vec.len() + n) };
        self.initialized -= n;
        Poll::Ready(Ok(n))
    }
}

impl Appender<Vec<u8>> {
    /// The vector as it is. An empty one takes its place.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.initialized = 0;
        std::mem::take(&mut self.vec)
    }
}

pin_project! {
    /// The future of `read_to_end`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadToEnd<'a, R: ?Sized> {
        reader: &'a mut R,
        appender: Appender<&'a mut Vec<u8>>,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn read_to_end<'a, R: ?Sized>(reader: &'a mut R, vec: &'a mut Vec<u8>) -> ReadToEnd<'a, R> {
    ReadToEnd { reader, appender: Appender::new(vec), pinned: PhantomPinned }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToEnd<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        me.appender.poll_read_to_end(Pin::new(&mut **me.reader), cx)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::AsyncReadExt;
    use crate::script::{LIES, Lie, Source, Step, cancel_after};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    static BYTES: [u8; 100_000] = [b'a'; 100_000];

    #[test]
    fn everything_is_appended() {
        let script = [
            Step::Bytes(b"ab"),
            Step::Pending,
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"cde"),
            Step::End,
            Step::Bytes(b"fg"),
            Step::Fail(ErrorKind::NotFound),
        ];
        let mut source = Source::new(script);
        let mut vec = b"-".to_vec();
        assert_eq!(block_on(source.read_to_end(&mut vec)).unwrap(), 5);
        assert_eq!(vec, b"-abcde");
        assert_eq!(block_on(source.read_to_end(&mut vec)).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(vec, b"-abcdefg", "what came before the error is kept");
    }

    #[test]
    fn a_cancelled_call_keeps_what_came() {
        let mut source = Source::new([Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"c")]);
        let mut vec = Vec::new();
        assert!(cancel_after(1, source.read_to_end(&mut vec)).is_none());
        assert_eq!(vec, b"ab");
        assert_eq!(block_on(source.read_to_end(&mut vec)).unwrap(), 1);
        assert_eq!(vec, b"abc");
    }

    #[test]
    fn what_fits_is_not_moved() {
        let lengths = if cfg!(miri) { 32..36 } else { 32..100 };
        for len in lengths {
            for capacity in [len, len + 1, len + 31, len + 32, 200] {
                for split in [0, 1, len / 2, len - 1, len] {
                    let (head, tail) = BYTES[..len].split_at(split);
                    let mut source = Source::new([Step::Bytes(head), Step::Bytes(tail)]);
                    if head.is_empty() {
                        source = Source::new([Step::Bytes(tail)]);
                    }
                    let mut vec = Vec::with_capacity(capacity);
                    assert_eq!(block_on(source.read_to_end(&mut vec)).unwrap(), len);
                    assert_eq!((vec.len(), vec.capacity()), (len, capacity));
                }
            }
        }
    }

    #[test]
    fn a_little_too_much_grows_the_vector_by_little() {
        let mut source = Source::new([Step::Bytes(&BYTES[..38])]);
        let mut vec = Vec::with_capacity(34);
        assert_eq!(block_on(source.read_to_end(&mut vec)).unwrap(), 38);
        assert_eq!(vec.capacity(), 34 * 4, "doubled for the bytes, and again to find the end");
    }

    #[test]
    fn a_long_stream_takes_few_reads() {
        let mut source = Source::new([Step::Bytes(&BYTES)]);
        let mut vec = Vec::new();
        assert_eq!(block_on(source.read_to_end(&mut vec)).unwrap(), BYTES.len());
        assert!(source.polls <= 9, "{} reads", source.polls);
        assert!(vec.capacity() <= 2 * BYTES.len());
    }

    /// Says how much it was offered as initialized, and fills one byte of all of it.
    struct Zeroes(Vec<usize>);

    impl AsyncRead for Zeroes {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.0.push(buf.initialized().len());
            if self.0.len() < 4 {
                buf.initialize_unfilled();
                buf.advance(1);
            }
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn memory_is_zeroed_once() {
        let mut zeroes = Zeroes(Vec::new());
        block_on(zeroes.read_to_end(&mut Vec::with_capacity(64))).unwrap();
        assert_eq!(zeroes.0, [0, 63, 62, 61]);
    }

    #[test]
    fn a_lying_reader_shows_nothing_unwritten() {
        for capacity in [0, 8, 32, 64] {
            for mut lie in LIES {
                if lie == Lie::Zero {
                    continue; // It never ends.
                }
                let mut vec = Vec::with_capacity(capacity);
                vec.extend_from_slice(b"abc");
                for _ in 0..2 {
                    let result =
                        catch_unwind(AssertUnwindSafe(|| cancel_after(1, lie.read_to_end(&mut vec))));
                    assert_eq!(result.is_err(), lie == Lie::Swap, "{lie:?}");
                    assert_eq!(vec, b"abc");
                }
            }
        }
    }
}
