//! A reader as a sequence of segments between one byte and the next.

use crate::AsyncBufRead;
use crate::ext::poll_read_until;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// What lies between one byte and the next. Made by [`AsyncBufReadExt::split`](crate::AsyncBufReadExt::split).
    ///
    /// What was read of a segment that is not complete yet is kept here, so that nothing is lost when a future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::AsyncBufReadExt;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut fields = AsyncBufReadExt::split(&b"cat;mouse"[..], b';');
    /// assert_eq!(fields.next_segment().await.unwrap().as_deref(), Some(&b"cat"[..]));
    /// assert_eq!(fields.next_segment().await.unwrap().as_deref(), Some(&b"mouse"[..]));
    /// assert_eq!(fields.next_segment().await.unwrap(), None);
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "segments are read only when asked for"]
    pub struct Split<R> {
        #[pin]
        reader: R,
        segment: Vec<u8>,
        delimiter: u8,
    }
}

impl<R: AsyncBufRead> Split<R> {
    pub(crate) fn new(reader: R, delimiter: u8) -> Self {
        Self { reader, segment: Vec::new(), delimiter }
    }
}

impl<R> Split<R>
where
    R: AsyncBufRead + Unpin,
{
    /// The next segment, without the byte that ends it, or `None` at the end of the reader.
    ///
    /// # Errors
    ///
    /// Whatever the reader reports; what was read of the segment is kept then.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut segments = io::BufReader::new(&b"1,22,333"[..]).split(b',');
    /// let mut lengths = Vec::new();
    /// while let Some(segment) = segments.next_segment().await? {
    ///     lengths.push(segment.len());
    /// }
    /// assert_eq!(lengths, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_segment(&mut self) -> io::Result<Option<Vec<u8>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_segment(cx)).await
    }
}

impl<R: AsyncBufRead> Split<R> {
    /// As [`next_segment`](Self::next_segment), for those who poll: `Pending` says that no segment is complete yet, and the
    /// task of `cx` is woken when it is worth trying again.
    ///
    /// # Errors
    ///
    /// As for `next_segment`.
    pub fn poll_next_segment(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        let me = self.project();
        ready!(poll_read_until(me.reader, cx, *me.delimiter, me.segment, &mut 0))?;
        if me.segment.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut segment = std::mem::take(me.segment);
        if segment.last() == Some(me.delimiter) {
            segment.pop();
        }
        Poll::Ready(Ok(Some(segment)))
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::{Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, BufReader};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;

    #[test]
    fn segments_come_without_their_ends() {
        let mut segments = BufReader::new(Source::new([
            Step::Bytes(b"a"),
            Step::Pending,
            Step::Bytes(b"b;;c"),
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"d;"),
        ]))
        .split(b';');
        for expected in [&b"ab"[..], b"", b"cd"] {
            assert_eq!(block_on(segments.next_segment()).unwrap().as_deref(), Some(expected));
        }
        assert_eq!(block_on(segments.next_segment()).unwrap(), None);
    }

    #[test]
    fn neither_an_error_nor_a_dropped_future_loses_what_was_read() {
        let script = [
            Step::Bytes(b"a"),
            Step::Pending,
            Step::Bytes(b"b"),
            Step::Fail(ErrorKind::Other),
            Step::Bytes(b"c;d"),
        ];
        let mut segments = BufReader::new(Source::new(script)).split(b';');
        assert!(cancel_after(1, segments.next_segment()).is_none());
        assert_eq!(block_on(segments.next_segment()).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(block_on(segments.next_segment()).unwrap().as_deref(), Some(&b"abc"[..]));
        assert_eq!(block_on(segments.next_segment()).unwrap().as_deref(), Some(&b"d"[..]));
    }
}
