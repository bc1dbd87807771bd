//! A reader that is at its end, and a writer that loses everything.

use crate::spend::poll_spend;
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A reader that is always at its end, and a writer that takes everything and keeps nothing. Made by [`empty`].
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, empty};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut bytes = Vec::new();
/// assert_eq!(empty().read_to_end(&mut bytes).await.unwrap(), 0);
/// # }
/// ```
pub struct Empty {
    _private: (),
}

/// A reader that is always at its end. Written to, it takes everything and keeps nothing.
///
/// It never waits, but spends the budget of its task.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut text = String::new();
/// io::empty().read_to_string(&mut text).await?;
/// assert_eq!(text, "");
/// io::empty().write_all(b"gone").await?;
/// # Ok(())
/// # }
/// ```
pub fn empty() -> Empty {
    Empty { _private: () }
}

impl AsyncRead for Empty {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(poll_spend(cx));
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Empty {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        ready!(poll_spend(cx));
        Poll::Ready(Ok(&[]))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, _: usize) {}
}

impl AsyncWrite for Empty {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(poll_spend(cx));
        Poll::Ready(Ok(buf.len()))
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(poll_spend(cx));
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(poll_spend(cx));
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(poll_spend(cx));
        Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()))
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// Wherever it is sought, it is at 0.
impl AsyncSeek for Empty {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, _: SeekFrom) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        ready!(poll_spend(cx));
        Poll::Ready(Ok(0))
    }
}

impl fmt::Debug for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Empty { .. }")
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, script};
    use nezumi_wake::block_on;

    #[test]
    fn nothing_comes_and_all_goes() {
        block_on(async {
            let mut empty = empty();
            assert_eq!(empty.read(&mut [0; 4]).await.unwrap(), 0);
            assert_eq!(empty.fill_buf().await.unwrap(), b"");
            assert_eq!(empty.write(b"abc").await.unwrap(), 3);
            assert_eq!(empty.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"c")]).await.unwrap(), 3);
            empty.flush().await.unwrap();
            empty.shutdown().await.unwrap();
            assert_eq!(empty.seek(SeekFrom::End(7)).await.unwrap(), 0);
            assert_eq!(format!("{empty:?}"), "Empty { .. }");
        });
    }

    #[test]
    fn it_lets_others_run() {
        script::spends_budget(|cx| {
            Pin::new(&mut empty()).poll_read(cx, &mut ReadBuf::new(&mut [])).map(drop)
        });
        script::spends_budget(|cx| Pin::new(&mut empty()).poll_fill_buf(cx).map(|_| ()));
        script::spends_budget(|cx| Pin::new(&mut empty()).poll_write(cx, b"").map(drop));
        script::spends_budget(|cx| Pin::new(&mut empty()).poll_write_vectored(cx, &[]).map(drop));
        script::spends_budget(|cx| Pin::new(&mut empty()).poll_flush(cx).map(drop));
        script::spends_budget(|cx| Pin::new(&mut empty()).poll_shutdown(cx).map(drop));
        script::spends_budget(|cx| Pin::new(&mut empty()).poll_complete(cx).map(drop));
    }
}
