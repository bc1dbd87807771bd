//! A reader as a sequence of lines.

use crate::AsyncBufRead;
use crate::ext::poll_read_until;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The lines of a reader. Made by [`AsyncBufReadExt::lines`](crate::AsyncBufReadExt::lines).
    ///
    /// What was read of a line that is not complete yet is kept here, so that nothing is lost when a future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::AsyncBufReadExt;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut lines = (&b"cat\r\nmouse\n"[..]).lines();
    /// assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("cat"));
    /// assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("mouse"));
    /// assert_eq!(lines.next_line().await.unwrap(), None);
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "lines are read only when asked for"]
    pub struct Lines<R> {
        #[pin]
        reader: R,
        line: Vec<u8>,
    }
}

impl<R: AsyncBufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new() }
    }
}

impl<R> Lines<R>
where
    R: AsyncBufRead + Unpin,
{
    /// The next line, without its end (`\n` or `\r\n`), or `None` at the end of the reader.
    ///
    /// # Errors
    ///
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) if the line is not UTF-8; the error's source is a
    /// [`FromUtf8Error`](std::string::FromUtf8Error) and has its bytes. And whatever the reader reports; what was read of
    /// the line is kept then.
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
    /// let mut lines = (&b"one\ntwo\n"[..]).lines();
    /// let mut lengths = Vec::new();
    /// while let Some(line) = lines.next_line().await? {
    ///     lengths.push(line.len());
    /// }
    /// assert_eq!(lengths, [3, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_line(cx)).await
    }

    /// The reader underneath. What is read from it directly is missing from the lines.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The reader underneath.
    pub fn get_ref(&mut self) -> &R {
        &self.reader
    }

    /// Gives the reader back. What was read of a line that is not complete is lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

impl<R: AsyncBufRead> Lines<R> {
    /// As [`next_line`](Self::next_line), for those who poll: `Pending` says that no line is complete yet, and the task of
    /// `cx` is woken when it is worth trying again.
    ///
    /// # Errors
    ///
    /// As for `next_line`.
    pub fn poll_next_line(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<String>>> {
        let me = self.project();
        ready!(poll_read_until(me.reader, cx, b'\n', me.line, &mut 0))?;
        if me.line.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut line = std::mem::take(me.line);
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        let text = String::from_utf8(line);
        Poll::Ready(text.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)))
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::{Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, BufReader};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;
    use std::string::FromUtf8Error;

    #[test]
    fn lines_come_without_their_ends() {
        let reader = BufReader::new(Source::new([
            Step::Bytes(b"one\r"),
            Step::Pending,
            Step::Bytes(b"\n\ntw\ro\r\r\n"),
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"three\r"),
        ]));
        let mut lines = reader.lines();
        for expected in ["one", "", "tw\ro\r", "three\r"] {
            assert_eq!(block_on(lines.next_line()).unwrap().as_deref(), Some(expected));
        }
        assert_eq!(block_on(lines.next_line()).unwrap(), None);
        let polls = lines.get_mut().get_ref().polls;
        assert_eq!(lines.into_inner().into_inner().polls, polls);
    }

    #[test]
    fn neither_an_error_nor_a_dropped_future_loses_what_was_read() {
        let script = [
            Step::Bytes(b"a"),
            Step::Pending,
            Step::Bytes(b"b"),
            Step::Fail(ErrorKind::Other),
            Step::Bytes(b"c\n"),
        ];
        let mut lines = BufReader::new(Source::new(script)).lines();
        assert!(cancel_after(1, lines.next_line()).is_none());
        assert_eq!(block_on(lines.next_line()).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(block_on(lines.next_line()).unwrap().as_deref(), Some("abc"));
    }

    #[test]
    fn what_is_not_text_comes_with_the_error_and_the_next_line_after_it() {
        let mut lines = (&b"a\xff\nb"[..]).lines();
        let error = block_on(lines.next_line()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let utf8 = error.into_inner().unwrap().downcast::<FromUtf8Error>().unwrap();
        assert_eq!(utf8.as_bytes(), b"a\xff");
        assert_eq!(block_on(lines.next_line()).unwrap().as_deref(), Some("b"));
        assert_eq!(*lines.get_ref(), b"");
    }
}
