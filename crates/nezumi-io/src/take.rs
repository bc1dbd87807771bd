//! The first bytes of a reader.

use crate::{AsyncBufRead, AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// A reader of a limited number of bytes of another. Made by [`AsyncReadExt::take`](crate::AsyncReadExt::take).
    ///
    /// When the limit is reached it is at its end, and leaves the other reader alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::AsyncReadExt;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut source = &b"cat and mouse"[..];
    /// let mut head = String::new();
    /// (&mut source).take(3).read_to_string(&mut head).await.unwrap();
    /// assert_eq!((&head[..], source), ("cat", &b" and mouse"[..]));
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "readers do nothing unless they are read"]
    pub struct Take<R> {
        #[pin]
        inner: R,
        limit: u64,
    }
}

impl<R: AsyncRead> Take<R> {
    pub(crate) fn new(inner: R, limit: u64) -> Self {
        Self { inner, limit }
    }

    /// How many bytes can still be read. The reader may have fewer.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets how many bytes can be read from now on, however many were read before.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The reader underneath.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The reader underneath. What is read from it directly does not count.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The reader underneath, pinned. What is read from it directly does not count.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Gives the reader back.
    pub fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: AsyncRead> AsyncRead for Take<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let me = self.project();
        if *me.limit == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut part = buf.take(usize::try_from(*me.limit).unwrap_or(usize::MAX));
        let origin = part.origin();
        let result = me.inner.poll_read(cx, &mut part);
        origin.expect_same(&part);
        let (filled, initialized) = (part.filled().len(), part.initialized().len());
        // SAFETY: `part` is the start of the unfilled part of `buf` and no other buffer, and so much of it is initialized.
        unsafe { buf.assume_init(initialized) };
        ready!(result)?;
        buf.advance(filled);
        *me.limit -= filled as u64;
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncBufRead> AsyncBufRead for Take<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let me = self.project();
        if *me.limit == 0 {
            return Poll::Ready(Ok(&[]));
        }
        let bytes = ready!(me.inner.poll_fill_buf(cx))?;
        let n = usize::try_from(*me.limit).map_or(bytes.len(), |limit| limit.min(bytes.len()));
        Poll::Ready(Ok(&bytes[..n]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let me = self.project();
        // Never more than was shown, whatever the caller says: the limit must not wrap.
        let n = usize::try_from(*me.limit).map_or(amt, |limit| limit.min(amt));
        *me.limit -= n as u64;
        me.inner.consume(n);
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{LIES, Lie, Source, Step, cancel_after};
    use crate::{AsyncBufReadExt, AsyncReadExt, BufReader};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn no_more_than_the_limit_is_taken() {
        let script = [Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"cdef"), Step::Fail(ErrorKind::Other)];
        let mut take = Source::new(script).take(4);
        let mut vec = Vec::new();
        assert_eq!(block_on(take.read_to_end(&mut vec)).unwrap(), 4);
        assert_eq!((&vec[..], take.limit(), take.get_ref().polls), (&b"abcd"[..], 0, 3));
        take.set_limit(3);
        assert_eq!(block_on(take.read_to_end(&mut vec)).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!((&vec[..], take.limit()), (&b"abcdef"[..], 1));
        assert_eq!(block_on(take.get_mut().read(&mut [0; 1])).unwrap(), 0);
        assert_eq!(take.into_inner().polls, 6);
    }

    #[test]
    fn what_is_shown_is_limited_too() {
        let mut take = BufReader::new(Source::new([Step::Bytes(b"abcdef")])).take(4);
        assert_eq!(block_on(take.fill_buf()).unwrap(), b"abcd");
        AsyncBufReadExt::consume(&mut take, 1);
        assert_eq!(block_on(take.fill_buf()).unwrap(), b"bcd");
        AsyncBufReadExt::consume(&mut take, 100);
        assert_eq!(take.limit(), 0);
        assert_eq!(block_on(take.fill_buf()).unwrap(), b"");
        assert_eq!(block_on(take.get_mut().fill_buf()).unwrap(), b"ef");
        take.set_limit(u64::MAX);
        assert_eq!(block_on(take.fill_buf()).unwrap(), b"ef");
    }

    #[test]
    fn a_lying_reader_shows_nothing_unwritten() {
        for lie in LIES {
            let mut take = lie.take(8);
            let mut vec = Vec::with_capacity(64);
            let result = catch_unwind(AssertUnwindSafe(|| cancel_after(1, take.read_buf(&mut vec))));
            assert_eq!(result.is_err(), lie == Lie::Swap, "{lie:?}");
            assert!(vec.iter().all(|&byte| lie.may_show(byte)), "{lie:?}");
            assert_eq!(take.limit(), 8 - vec.len() as u64);
        }
    }

    #[test]
    fn what_the_reader_initialized_is_known_outside() {
        let mut memory = [std::mem::MaybeUninit::uninit(); 16];
        let mut buf = ReadBuf::uninit(&mut memory);
        let mut take = Lie::Zero.take(8);
        let result = crate::script::poll_once(|cx| Pin::new(&mut take).poll_read(cx, &mut buf));
        assert!(result.is_ready());
        assert_eq!((buf.filled().len(), buf.initialized().len()), (1, 8));
    }
}
