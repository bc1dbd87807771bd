//! Copying straight out of the reader's buffer.

use crate::ext::{is_interrupted, taken};
use crate::{AsyncBufRead, AsyncWrite};
use nezumi_wake::coop;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Copies everything from `reader` to `writer`, flushes it, and returns how many bytes that was.
///
/// As [`copy`](crate::copy()), but writes from the buffer that the reader has. Each poll spends one unit of the task's
/// budget.
///
/// # Errors
///
/// Whatever either side reports, and [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more. What was
/// not written can still be read then.
///
/// # Cancel safety
///
/// When the future is dropped, what was not written can still be read; a new call goes on from there, and counts from
/// there.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, BufReader};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut reader = BufReader::new(&b"hello"[..]);
/// let mut writer = Vec::new();
/// assert_eq!(io::copy_buf(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok(())
/// # }
/// ```
pub async fn copy_buf<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut progress = Progress { copied: 0, unflushed: false, reader_ended: false };
    poll_fn(|cx| progress.poll_copy(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

struct Progress {
    copied: u64,
    unflushed: bool,
    /// It is not asked again while the writer is flushed: what has more to come after an end would wait for that.
    reader_ended: bool,
}

impl Progress {
    fn poll_copy<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncBufRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        let coop = ready!(coop::poll_proceed(cx));
        loop {
            if self.reader_ended {
                ready!(writer.as_mut().poll_flush(cx))?;
                return Poll::Ready(Ok(self.copied));
            }
            let bytes = match reader.as_mut().poll_fill_buf(cx) {
                Poll::Ready(Ok(bytes)) => bytes,
                Poll::Ready(Err(error)) if is_interrupted(&error) => continue,
                Poll::Ready(Err(error)) => {
                    coop.made_progress();
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => {
                    if self.unflushed {
                        ready!(writer.as_mut().poll_flush(cx))?;
                        self.unflushed = false;
                    }
                    return Poll::Pending;
                }
            };
            coop.made_progress();
            if bytes.is_empty() {
                self.reader_ended = true;
                continue;
            }
            match ready!(writer.as_mut().poll_write(cx, bytes)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    let n = taken(n, bytes.len());
                    self.copied += n as u64;
                    self.unflushed = true;
                    reader.as_mut().consume(n);
                }
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{self, Did, Sink, Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, BufReader};
    use nezumi_wake::block_on;
    use std::future::Future;
    use std::io::ErrorKind;
    use std::pin::pin;

    #[test]
    fn everything_is_copied_and_flushed() {
        let mut source = BufReader::new(Source::new([
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(b"ab"),
            Step::Pending,
            Step::Pending,
            Step::Bytes(b"cd"),
        ]));
        let mut sink = Sink::new([Step::Take(1), Step::Pending, Step::Fail(ErrorKind::Interrupted)]);
        assert_eq!(block_on(copy_buf(&mut source, &mut sink)).unwrap(), 4);
        let write = |bytes: &[u8]| Did::Write(bytes.to_vec());
        assert_eq!(sink.log, [write(b"a"), write(b"b"), Did::Flush, write(b"cd"), Did::Flush]);
    }

    #[test]
    fn the_end_is_asked_for_once() {
        // As a terminal, which waits for more after its end.
        let steps = [Step::Bytes(b"ab"), Step::End, Step::Pending, Step::Bytes(b"more")];
        let mut source = BufReader::new(Source::new(steps));
        let mut sink = Sink::default();
        sink.flushes.extend([Step::Pending, Step::Pending]);
        assert_eq!(block_on(copy_buf(&mut source, &mut sink)).unwrap(), 2);
        assert_eq!(sink.written(), b"ab");
    }

    #[test]
    fn what_was_not_written_can_still_be_read() {
        let mut reader = &b"abcd"[..];
        let mut sink = Sink::new([
            Step::Take(1),
            Step::Pending,
            Step::Take(1),
            Step::Fail(ErrorKind::Other),
            Step::Take(0),
        ]);
        assert!(cancel_after(1, copy_buf(&mut reader, &mut sink)).is_none());
        assert_eq!(reader, b"bcd");
        assert_eq!(block_on(copy_buf(&mut reader, &mut sink)).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(block_on(copy_buf(&mut reader, &mut sink)).unwrap_err().kind(), ErrorKind::WriteZero);
        assert_eq!(block_on(reader.fill_buf()).unwrap(), b"cd");
    }

    #[test]
    fn an_error_of_the_reader_ends_it() {
        let mut source = BufReader::new(Source::new([Step::Bytes(b"a"), Step::Fail(ErrorKind::NotFound)]));
        let mut sink = Sink::default();
        assert_eq!(block_on(copy_buf(&mut source, &mut sink)).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(sink.written(), b"a");
    }

    #[test]
    fn a_loop_of_copies_lets_others_run() {
        script::spends_budget(|cx| pin!(copy_buf(&mut &b"a"[..], &mut Vec::new())).poll(cx).map(drop));
    }
}
