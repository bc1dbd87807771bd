//! One direction of a copy.
//!
//! Promise: bytes arrive in order, none twice, none missing; while either side can go on, it does; and nothing that was
//! written is kept back while there is nothing to read.
//!
//! - Read before each write while there is room: larger writes.
//! - A reader that waits does not keep what is buffered from going out. When all has gone and it still waits, the writer
//!   is flushed: whoever sends the next bytes may be waiting for these (a proxy would deadlock else).
//! - A writer that waits does not keep the reader from filling the rest of the buffer.
//! - At the end of the reader the writer is flushed, once.
//!
//! A poll that achieves anything has spent one unit of its task's budget, however much it copied.
//!
//! Tests: `arrives_as_it_was_sent` (property), `a_waiting_reader_has_the_writer_flushed`,
//! `a_waiting_writer_lets_the_buffer_fill`, and those of the three public functions.

use crate::block::Block;
use crate::ext::{is_interrupted, taken};
use crate::{AsyncRead, AsyncWrite};
use nezumi_wake::coop;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The error of a writer that takes no more while there is more.
fn write_zero() -> io::Error {
    io::Error::new(io::ErrorKind::WriteZero, "write zero byte into writer")
}

/// How far a copy has come, and the bytes that are on the way.
#[derive(Debug)]
pub(super) struct Transfer {
    block: Block,
    reader_ended: bool,
    unflushed: bool,
    copied: u64,
}

impl Transfer {
    pub(super) fn new(capacity: usize) -> Self {
        Self { block: Block::new(capacity), reader_ended: false, unflushed: false, copied: 0 }
    }

    /// Goes on until the end, and says how many bytes were copied in all polls.
    pub(super) fn poll_copy<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        let coop = ready!(coop::poll_proceed(cx));
        loop {
            if self.may_read() {
                match self.poll_fill(cx, reader.as_mut()) {
                    Poll::Ready(result) => {
                        coop.made_progress();
                        result?;
                    }
                    Poll::Pending if self.block.is_empty() => {
                        if self.unflushed {
                            ready!(writer.as_mut().poll_flush(cx))?;
                            coop.made_progress();
                            self.unflushed = false;
                        }
                        return Poll::Pending;
                    }
                    Poll::Pending => {}
                }
            }
            while !self.block.is_empty() {
                ready!(self.poll_write(cx, reader.as_mut(), writer.as_mut()))?;
                coop.made_progress();
            }
            self.block.clear();
            if self.reader_ended {
                ready!(writer.as_mut().poll_flush(cx))?;
                coop.made_progress();
                return Poll::Ready(Ok(self.copied));
            }
        }
    }

    /// Whether there is room, and the reader has not ended.
    fn may_read(&self) -> bool {
        !self.reader_ended && !self.block.is_full()
    }

    /// Reads once.
    fn poll_fill<R>(&mut self, cx: &mut Context<'_>, mut reader: Pin<&mut R>) -> Poll<io::Result<()>>
    where
        R: AsyncRead + ?Sized,
    {
        loop {
            match ready!(self.block.poll_fill(reader.as_mut(), cx)) {
                Ok(n) => {
                    self.reader_ended = n == 0;
                    return Poll::Ready(Ok(()));
                }
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Writes once. While the writer waits, the reader may fill the rest of the buffer.
    fn poll_write<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<()>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            let bytes = self.block.bytes();
            match writer.as_mut().poll_write(cx, bytes) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(write_zero())),
                Poll::Ready(Ok(n)) => {
                    let n = taken(n, bytes.len());
                    self.block.consume(n);
                    self.copied += n as u64;
                    self.unflushed = true;
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(error)) if is_interrupted(&error) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    if self.may_read() {
                        ready!(self.poll_fill(cx, reader))?;
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{Did, LIES, Lie, Sink, Source, Step, poll_once};
    use std::io::ErrorKind;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn poll(transfer: &mut Transfer, source: &mut Source, sink: &mut Sink) -> Poll<io::Result<u64>> {
        poll_once(|cx| transfer.poll_copy(cx, Pin::new(source), Pin::new(sink)))
    }

    #[test]
    fn a_waiting_reader_has_the_writer_flushed() {
        let mut source =
            Source::new([Step::Pending, Step::Bytes(b"ab"), Step::Pending, Step::Pending, Step::Pending]);
        let mut sink = Sink::default();
        sink.flushes.push_back(Step::Pending);
        let mut transfer = Transfer::new(8);
        assert!(poll(&mut transfer, &mut source, &mut sink).is_pending());
        assert_eq!(sink.log, [], "nothing was written, so nothing is flushed");
        for _ in 0..3 {
            assert!(poll(&mut transfer, &mut source, &mut sink).is_pending());
        }
        assert_eq!(sink.log, [Did::Write(b"ab".to_vec()), Did::Flush], "and only once");
        assert!(matches!(poll(&mut transfer, &mut source, &mut sink), Poll::Ready(Ok(2))));
        assert_eq!(sink.log.len(), 3);
    }

    #[test]
    fn a_waiting_writer_lets_the_buffer_fill() {
        let mut source = Source::new([Step::Bytes(b"a"), Step::Bytes(b"b"), Step::Bytes(b"cdefghi")]);
        let mut sink = Sink::new([Step::Pending, Step::Pending, Step::Pending]);
        let mut transfer = Transfer::new(4);
        for _ in 0..3 {
            assert!(poll(&mut transfer, &mut source, &mut sink).is_pending());
        }
        assert!(matches!(poll(&mut transfer, &mut source, &mut sink), Poll::Ready(Ok(9))));
        assert_eq!(sink.log[0], Did::Write(b"abcd".to_vec()));
        assert_eq!(sink.written(), b"abcdefghi");
    }

    #[test]
    fn what_was_read_goes_out_before_the_reader_is_waited_for() {
        let mut source = Source::new([Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"c")]);
        let mut sink = Sink::new([Step::Take(1)]);
        let mut transfer = Transfer::new(8);
        assert!(poll(&mut transfer, &mut source, &mut sink).is_pending());
        assert_eq!(sink.written(), b"ab");
    }

    #[test]
    fn errors_of_either_side_end_it() {
        let mut transfer = Transfer::new(8);
        let mut sink = Sink::new([Step::Take(1), Step::Fail(ErrorKind::BrokenPipe), Step::Take(0)]);
        let mut source = Source::new([Step::Bytes(b"ab"), Step::Fail(ErrorKind::NotFound)]);
        let mut kind = || match poll(&mut transfer, &mut source, &mut sink) {
            Poll::Ready(Err(error)) => error.kind(),
            other => panic!("{other:?}"),
        };
        assert_eq!([kind(), kind()], [ErrorKind::BrokenPipe, ErrorKind::NotFound]);
        assert_eq!(kind(), ErrorKind::WriteZero);
    }

    #[test]
    fn an_error_of_the_reader_ends_it_though_the_writer_waits() {
        let mut source = Source::new([Step::Bytes(b"a"), Step::Fail(ErrorKind::NotFound)]);
        let mut sink = Sink::new([Step::Pending]);
        let ended = poll(&mut Transfer::new(8), &mut source, &mut sink);
        assert!(matches!(ended, Poll::Ready(Err(error)) if error.kind() == ErrorKind::NotFound));
        assert_eq!(sink.written(), b"");
    }

    #[test]
    fn a_lie_shows_nothing() {
        for lie in LIES {
            if lie == Lie::Zero {
                continue; // It never ends.
            }
            let mut transfer = Transfer::new(8);
            let mut sink = Sink::default();
            let result = catch_unwind(AssertUnwindSafe(|| {
                poll_once(|cx| transfer.poll_copy(cx, Pin::new(&mut { lie }), Pin::new(&mut sink)))
            }));
            assert_eq!(result.is_err(), lie == Lie::Swap, "{lie:?}");
            assert_eq!(sink.written(), b"");
        }
    }
}

/// Not under Miri, which takes minutes to make up the cases; nothing here is `unsafe`.
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle, miri))))]
mod properties {
    use super::Transfer;
    use crate::script::{self, Did, Sink, Source, Step};
    use nezumi_wake::block_on;
    use proptest::prelude::*;
    use std::future::poll_fn;
    use std::io::ErrorKind;
    use std::pin::Pin;

    static BYTES: [u8; 64] = {
        let mut bytes = [0; 64];
        let mut i = 0;
        while i < 64 {
            bytes[i] = i as u8;
            i += 1;
        }
        bytes
    };

    #[derive(Clone, Debug)]
    enum Event {
        Some(usize),
        Pending,
        Interrupted,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => (1..9_usize).prop_map(Event::Some),
            2 => Just(Event::Pending),
            1 => Just(Event::Interrupted),
        ]
    }

    proptest! {
        #![proptest_config(script::cases(256))]

        #[test]
        fn arrives_as_it_was_sent(
            capacity in 1..10_usize,
            reads in prop::collection::vec(event(), 0..20),
            writes in prop::collection::vec(event(), 0..40),
        ) {
            let mut sent = 0;
            let reads: Vec<_> = reads.iter().map(|event| match *event {
                Event::Some(n) => {
                    let start = sent;
                    sent = BYTES.len().min(sent + n);
                    if start == sent { Step::Pending } else { Step::Bytes(&BYTES[start..sent]) }
                }
                Event::Pending => Step::Pending,
                Event::Interrupted => Step::Fail(ErrorKind::Interrupted),
            }).collect();
            let writes = writes.iter().map(|event| match *event {
                Event::Some(n) => Step::Take(n),
                Event::Pending => Step::Pending,
                Event::Interrupted => Step::Fail(ErrorKind::Interrupted),
            });
            let (mut source, mut sink) = (Source::new(reads), Sink::new(writes));
            let mut transfer = Transfer::new(capacity);
            let copied = block_on(poll_fn(|cx| {
                transfer.poll_copy(cx, Pin::new(&mut source), Pin::new(&mut sink))
            }));
            assert_eq!(copied.unwrap(), sent as u64);
            assert_eq!(sink.written(), &BYTES[..sent]);
            assert_eq!(sink.log.last(), Some(&Did::Flush));
        }
    }
}
