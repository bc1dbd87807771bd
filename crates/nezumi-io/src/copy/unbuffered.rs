//! Copying with a buffer of our own.

use super::transfer::Transfer;
use crate::block::DEFAULT_CAPACITY;
use crate::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;

/// Copies everything from `reader` to `writer`, flushes it, and returns how many bytes that was.
///
/// At most 8 KiB are on the way. While the reader waits, the writer is flushed; an interrupted call is made again. Each
/// poll spends one unit of the task's budget. If the reader has a buffer of its own, [`copy_buf`](crate::copy_buf) saves
/// one copy.
///
/// # Errors
///
/// Whatever either side reports, and [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more. Bytes that
/// were read and not written are lost then.
///
/// # Cancel safety
///
/// Not cancel safe: bytes that were read and not written are lost when the future is dropped.
///
/// # Examples
///
/// ```
/// use nezumi::io;
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut reader: &[u8] = b"hello";
/// let mut writer = Vec::new();
/// assert_eq!(io::copy(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # Ok(())
/// # }
/// ```
pub async fn copy<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut transfer = Transfer::new(DEFAULT_CAPACITY);
    poll_fn(|cx| transfer.poll_copy(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{self, Sink, Source, Step};
    use nezumi_wake::block_on;
    use std::future::Future;
    use std::pin::pin;

    #[test]
    fn everything_is_copied_and_flushed() {
        let mut source = Source::new([Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"cd")]);
        let mut sink = Sink::new([Step::Take(1), Step::Pending]);
        assert_eq!(block_on(copy(&mut source, &mut sink)).unwrap(), 4);
        assert_eq!(sink.written(), b"abcd");
        assert_eq!(sink.log.last(), Some(&script::Did::Flush));
        let reader: &mut (dyn AsyncRead + Unpin) = &mut &b"x"[..];
        assert_eq!(block_on(copy(reader, &mut sink)).unwrap(), 1);
    }

    #[test]
    fn a_loop_of_copies_lets_others_run() {
        script::spends_budget(|cx| pin!(copy(&mut &b"a"[..], &mut Vec::new())).poll(cx).map(drop));
    }
}
