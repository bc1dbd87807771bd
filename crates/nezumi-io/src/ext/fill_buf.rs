//! Waiting until a buffered reader has something to show.

use crate::AsyncBufRead;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// The future of `fill_buf`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct FillBuf<'a, R: ?Sized> {
        // `None` once the future is ready: the slice it gave has borrowed the reader then.
        reader: Option<&'a mut R>,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn fill_buf<R: ?Sized>(reader: &mut R) -> FillBuf<'_, R> {
    FillBuf { reader: Some(reader), pinned: PhantomPinned }
}

impl<'a, R: AsyncBufRead + Unpin + ?Sized> Future for FillBuf<'a, R> {
    type Output = io::Result<&'a [u8]>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&'a [u8]>> {
        let me = self.project();
        let reader: *mut R = me.reader.take().expect("Polled after completion.");
        // SAFETY: made from the only reference, which was just given up, and good for `'a` as it was. In this branch only
        // the slice lives on. (Two lives of one borrow, ended in one branch and returned in the other, are more than the
        // borrow checker can follow yet.)
        match Pin::new(unsafe { &mut *reader }).poll_fill_buf(cx) {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => {
                // SAFETY: as above; in this branch nothing else made from the pointer lives on.
                *me.reader = Some(unsafe { &mut *reader });
                Poll::Pending
            }
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::{Source, Step, cancel_after, poll_once};
    use crate::{AsyncBufReadExt, BufReader};
    use nezumi_wake::block_on;
    use std::future::Future;
    use std::io::ErrorKind;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;

    #[test]
    fn shows_what_is_buffered_until_it_is_consumed() {
        let mut reader = BufReader::new(Source::new([
            Step::Pending,
            Step::Bytes(b"abc"),
            Step::Fail(ErrorKind::Interrupted),
        ]));
        assert!(cancel_after(1, reader.fill_buf()).is_none());
        for _ in 0..2 {
            assert_eq!(block_on(reader.fill_buf()).unwrap(), b"abc");
        }
        AsyncBufReadExt::consume(&mut reader, 2);
        assert_eq!(block_on(reader.fill_buf()).unwrap(), b"c");
        AsyncBufReadExt::consume(&mut reader, 1);
        assert_eq!(block_on(reader.fill_buf()).unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(block_on(reader.fill_buf()).unwrap(), b"");
    }

    #[test]
    fn polling_again_after_the_end_panics_and_does_no_harm() {
        let mut reader = BufReader::new(Source::new([Step::Pending, Step::Bytes(b"abc")]));
        let mut future = pin!(reader.fill_buf());
        let bytes = block_on(future.as_mut()).unwrap();
        catch_unwind(AssertUnwindSafe(|| poll_once(|cx| future.as_mut().poll(cx)).is_ready())).unwrap_err();
        assert_eq!(bytes, b"abc");
    }
}
