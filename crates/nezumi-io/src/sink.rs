//! A writer that loses everything.

use crate::AsyncWrite;
use crate::spend::poll_spend;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A writer that takes everything and keeps nothing. Made by [`sink`].
///
/// # Examples
///
/// ```
/// use nezumi::io::{copy, sink};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(copy(&mut &b"squeak"[..], &mut sink()).await.unwrap(), 6);
/// # }
/// ```
pub struct Sink {
    _private: (),
}

/// A writer that takes everything and keeps nothing.
///
/// It never waits, but spends the budget of its task.
///
/// # Examples
///
/// ```
/// use nezumi::io;
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// assert_eq!(io::copy(&mut &b"hello"[..], &mut io::sink()).await?, 5);
/// # Ok(())
/// # }
/// ```
pub fn sink() -> Sink {
    Sink { _private: () }
}

impl AsyncWrite for Sink {
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

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sink { .. }")
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::{AsyncWriteExt, script};
    use nezumi_wake::block_on;

    #[test]
    fn everything_is_taken() {
        block_on(async {
            let mut sink = sink();
            assert_eq!(sink.write(b"abc").await.unwrap(), 3);
            assert_eq!(sink.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"c")]).await.unwrap(), 3);
            sink.flush().await.unwrap();
            sink.shutdown().await.unwrap();
            assert_eq!(format!("{sink:?}"), "Sink { .. }");
        });
    }

    #[test]
    fn it_lets_others_run() {
        script::spends_budget(|cx| Pin::new(&mut sink()).poll_write(cx, b"").map(drop));
        script::spends_budget(|cx| Pin::new(&mut sink()).poll_write_vectored(cx, &[]).map(drop));
        script::spends_budget(|cx| Pin::new(&mut sink()).poll_flush(cx).map(drop));
        script::spends_budget(|cx| Pin::new(&mut sink()).poll_shutdown(cx).map(drop));
    }
}
