//! Reading a line of text.
//!
//! Promise: only text is ever put in the string. A line that is buffered as a whole goes there directly; the pieces of
//! any other are collected in a vector of the future's own first.
//!
//! Tests: `lines_are_appended_with_their_end`, `the_end_is_asked_for_once`, `what_is_not_text_is_not_appended`, `an_error_keeps_what_is_text`.

use super::is_interrupted;
use super::read_to_string::not_text;
use super::read_until::poll_read_until;
use crate::AsyncBufRead;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of `read_line`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadLine<'a, R: ?Sized> {
        reader: &'a mut R,
        output: &'a mut String,
        pieces: Vec<u8>,
        read: usize,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn read_line<'a, R: ?Sized>(reader: &'a mut R, output: &'a mut String) -> ReadLine<'a, R> {
    ReadLine { reader, output, pieces: Vec::new(), read: 0, pinned: PhantomPinned }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadLine<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        let mut reader = Pin::new(&mut **me.reader);
        if me.pieces.is_empty() {
            if let Some(result) = ready!(poll_whole_line(reader.as_mut(), cx, me.output)) {
                return Poll::Ready(result);
            }
        }
        let result = ready!(poll_read_until(reader, cx, b'\n', me.pieces, me.read));
        let pieces = std::mem::take(me.pieces);
        let appended = append(me.output, &pieces);
        Poll::Ready(result.and_then(|n| appended.map(|()| n)))
    }
}

/// Takes the line if all of it is buffered. `None` if it is not, or if nothing can be said yet.
fn poll_whole_line<R>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    output: &mut String,
) -> Poll<Option<io::Result<usize>>>
where
    R: AsyncBufRead + ?Sized,
{
    let bytes = match ready!(reader.as_mut().poll_fill_buf(cx)) {
        Ok(bytes) => bytes,
        Err(error) if is_interrupted(&error) => return Poll::Ready(None),
        Err(error) => return Poll::Ready(Some(Err(error))),
    };
    if bytes.is_empty() {
        // The end. It is not asked for again: what has more to come after an end, as a terminal has, would wait for that.
        return Poll::Ready(Some(Ok(0)));
    }
    let Some(at) = memchr::memchr(b'\n', bytes) else { return Poll::Ready(None) };
    let line = &bytes[..=at];
    let len = line.len();
    let appended = append(output, line);
    reader.consume(len);
    Poll::Ready(Some(appended.map(|()| len)))
}

fn append(output: &mut String, bytes: &[u8]) -> io::Result<()> {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            output.push_str(text);
            Ok(())
        }
        Err(_) => Err(not_text(output, bytes)),
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::{Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, BufReader};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;
    use std::str::Utf8Error;

    #[test]
    fn lines_are_appended_with_their_end() {
        let mut reader = BufReader::new(Source::new([
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"one\ntw"),
            Step::Pending,
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"o\r\n\nth\xc3"),
            Step::Bytes(b"\xa9"),
        ]));
        let mut line = "> ".to_owned();
        let mut lengths = Vec::new();
        for _ in 0..5 {
            lengths.push(block_on(reader.read_line(&mut line)).unwrap());
        }
        assert_eq!(lengths, [4, 5, 1, 4, 0]);
        assert_eq!(line, "> one\ntwo\r\n\nthé");
    }

    #[test]
    fn the_end_is_asked_for_once() {
        // As a terminal, which waits for more after its end.
        let mut reader = BufReader::new(Source::new([Step::End, Step::Pending, Step::Bytes(b"more\n")]));
        let mut line = String::new();
        assert_eq!(block_on(reader.read_line(&mut line)).unwrap(), 0);
        assert_eq!(block_on(reader.read_line(&mut line)).unwrap(), 5);
        assert_eq!(line, "more\n");
    }

    #[test]
    fn what_is_not_text_is_not_appended() {
        for whole in [true, false] {
            let script = if whole {
                vec![Step::Bytes(b"ab\xff\ncd\n")]
            } else {
                vec![Step::Bytes(b"ab"), Step::Bytes(b"\xff\ncd\n")]
            };
            let mut reader = BufReader::new(Source::new(script));
            let mut line = "123".to_owned();
            let error = block_on(reader.read_line(&mut line)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            let utf8 = error.into_inner().unwrap().downcast::<Utf8Error>().unwrap();
            assert_eq!((utf8.valid_up_to(), &line[..]), (5, "123"));
            assert_eq!(block_on(reader.read_line(&mut line)).unwrap(), 3, "the line itself was read");
            assert_eq!(line, "123cd\n");
        }
    }

    #[test]
    fn an_error_keeps_what_is_text() {
        for (bytes, kept) in [(&b"ab"[..], "123ab"), (b"ab\xff", "123"), (b"", "123")] {
            let script = [Step::Bytes(bytes), Step::Fail(ErrorKind::NotFound)];
            let script = script.into_iter().skip(usize::from(bytes.is_empty()));
            let mut reader = BufReader::new(Source::new(script));
            let mut line = "123".to_owned();
            assert_eq!(block_on(reader.read_line(&mut line)).unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(line, kept);
        }
    }

    #[test]
    fn a_cancelled_call_leaves_the_string_alone() {
        let mut reader =
            BufReader::new(Source::new([Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"c\n")]));
        let mut line = "123".to_owned();
        assert!(cancel_after(1, reader.read_line(&mut line)).is_none());
        assert_eq!(line, "123");
        assert_eq!(block_on(reader.read_line(&mut line)).unwrap(), 2);
        assert_eq!(line, "123c\n");
    }
}
