//! Reading up to a byte.
//!
//! Tests: `the_delimiter_is_part_of_what_is_read`, `a_cancelled_call_keeps_what_came`.

use super::is_interrupted;
use crate::AsyncBufRead;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Appends to `vec` up to and with the next `delimiter`, or up to the end. `read` counts the bytes over all polls; the
/// count is returned, and `read` is 0 again, when it is done.
pub(crate) fn poll_read_until<R>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    delimiter: u8,
    vec: &mut Vec<u8>,
    read: &mut usize,
) -> Poll<io::Result<usize>>
where
    R: AsyncBufRead + ?Sized,
{
    loop {
        let bytes = match ready!(reader.as_mut().poll_fill_buf(cx)) {
            Ok(bytes) => bytes,
            Err(error) if is_interrupted(&error) => continue,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let found = memchr::memchr(delimiter, bytes);
        let used = found.map_or(bytes.len(), |at| at + 1);
        vec.extend_from_slice(&bytes[..used]);
        reader.as_mut().consume(used);
        *read += used;
        if found.is_some() || used == 0 {
            return Poll::Ready(Ok(std::mem::take(read)));
        }
    }
}

pin_project! {
    /// The future of `read_until`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadUntil<'a, R: ?Sized> {
        reader: &'a mut R,
        delimiter: u8,
        vec: &'a mut Vec<u8>,
        read: usize,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn read_until<'a, R: ?Sized>(
    reader: &'a mut R,
    delimiter: u8,
    vec: &'a mut Vec<u8>,
) -> ReadUntil<'a, R> {
    ReadUntil { reader, delimiter, vec, read: 0, pinned: PhantomPinned }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadUntil<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        poll_read_until(Pin::new(&mut **me.reader), cx, *me.delimiter, me.vec, me.read)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::{Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, BufReader};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;

    #[test]
    fn the_delimiter_is_part_of_what_is_read() {
        let mut reader = BufReader::new(Source::new([
            Step::Bytes(b"a"),
            Step::Pending,
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"b-c-"),
            Step::Bytes(b"d"),
        ]));
        let mut vec = b"> ".to_vec();
        assert_eq!(block_on(reader.read_until(b'-', &mut vec)).unwrap(), 3);
        assert_eq!(vec, b"> ab-");
        assert_eq!(block_on(reader.read_until(b'-', &mut vec)).unwrap(), 2);
        assert_eq!(block_on(reader.read_until(b'-', &mut vec)).unwrap(), 1);
        assert_eq!(block_on(reader.read_until(b'-', &mut vec)).unwrap(), 0);
        assert_eq!(vec, b"> ab-c-d");
    }

    #[test]
    fn an_error_keeps_what_came() {
        let mut reader = BufReader::new(Source::new([Step::Bytes(b"ab"), Step::Fail(ErrorKind::NotFound)]));
        let mut vec = Vec::new();
        assert_eq!(block_on(reader.read_until(b'-', &mut vec)).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(vec, b"ab");
    }

    #[test]
    fn a_cancelled_call_keeps_what_came() {
        let mut reader = BufReader::new(Source::new([Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"c-")]));
        let mut vec = Vec::new();
        assert!(cancel_after(1, reader.read_until(b'-', &mut vec)).is_none());
        assert_eq!(vec, b"ab");
        assert_eq!(block_on(reader.read_until(b'-', &mut vec)).unwrap(), 2);
        assert_eq!(vec, b"abc-");
    }
}
