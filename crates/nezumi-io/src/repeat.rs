//! A reader of one byte without end.

use crate::spend::poll_spend;
use crate::{AsyncRead, ReadBuf};
use bytes::BufMut;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A reader that gives one byte again and again. Made by [`repeat`].
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, repeat};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut bytes = [0; 4];
/// repeat(7).read_exact(&mut bytes).await.unwrap();
/// assert_eq!(bytes, [7; 4]);
/// # }
/// ```
#[derive(Debug)]
pub struct Repeat {
    byte: u8,
}

/// A reader that fills whatever it is given with `byte`.
///
/// It never waits, but spends the budget of its task. It has no end: do not read to it.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut buf = [0; 3];
/// io::repeat(7).read_exact(&mut buf).await?;
/// assert_eq!(buf, [7, 7, 7]);
/// # Ok(())
/// # }
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat { byte }
}

impl AsyncRead for Repeat {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(poll_spend(cx));
        buf.put_bytes(self.byte, buf.remaining());
        Poll::Ready(Ok(()))
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::{AsyncReadExt, script};
    use nezumi_wake::block_on;

    #[test]
    fn every_byte_is_the_same() {
        let mut vec = Vec::new();
        block_on(repeat(b'x').take(1000).read_to_end(&mut vec)).unwrap();
        assert_eq!(vec, [b'x'; 1000]);
        assert_eq!(block_on(repeat(1).read(&mut [])).unwrap(), 0);
    }

    #[test]
    fn it_lets_others_run() {
        script::spends_budget(|cx| {
            Pin::new(&mut repeat(0)).poll_read(cx, &mut ReadBuf::new(&mut [])).map(drop)
        });
    }
}
