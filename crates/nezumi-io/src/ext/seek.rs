//! Moving the cursor and waiting until it is there.

use crate::AsyncSeek;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io::{self, SeekFrom};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of `seek`, `rewind` and `stream_position`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Seek<'a, S: ?Sized> {
        target: &'a mut S,
        // `None` once the seek was started.
        to_start: Option<SeekFrom>,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn seek<S: ?Sized>(target: &mut S, position: SeekFrom) -> Seek<'_, S> {
    Seek { target, to_start: Some(position), pinned: PhantomPinned }
}

impl<S: AsyncSeek + Unpin + ?Sized> Future for Seek<'_, S> {
    type Output = io::Result<u64>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let me = self.project();
        let mut target = Pin::new(&mut **me.target);
        if let Some(position) = *me.to_start {
            // A seek that somebody started and gave up must end before the next.
            ready!(target.as_mut().poll_complete(cx))?;
            target.as_mut().start_seek(position)?;
            *me.to_start = None;
        }
        target.poll_complete(cx)
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::cancel_after;
    use crate::{AsyncSeek, AsyncSeekExt};
    use nezumi_wake::block_on;
    use std::io::{self, Cursor, ErrorKind, SeekFrom};
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// Is pending once for each seek, and takes no second one meanwhile.
    struct Slow {
        cursor: Cursor<[u8; 8]>,
        under_way: Option<SeekFrom>,
        waited: bool,
    }

    impl AsyncSeek for Slow {
        fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
            assert!(self.under_way.is_none(), "two seeks at once");
            self.under_way = Some(position);
            self.waited = false;
            Ok(())
        }

        fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
            if let Some(position) = self.under_way {
                if !std::mem::replace(&mut self.waited, true) {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                self.under_way = None;
                io::Seek::seek(&mut self.cursor, position)?;
            }
            Poll::Ready(Ok(self.cursor.position()))
        }
    }

    #[test]
    fn a_seek_waits_for_the_one_before_it() {
        let mut slow = Slow { cursor: Cursor::new([0; 8]), under_way: None, waited: false };
        assert!(cancel_after(1, slow.seek(SeekFrom::Start(3))).is_none());
        assert_eq!(block_on(slow.seek(SeekFrom::Current(2))).unwrap(), 5);
        assert_eq!(block_on(slow.stream_position()).unwrap(), 5);
        assert_eq!(block_on(slow.seek(SeekFrom::End(-9))).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(block_on(slow.rewind()).unwrap(), 0);
    }

    #[test]
    fn a_seek_that_cannot_start_fails() {
        let mut cursor = Cursor::new([0; 8]);
        let error = block_on(cursor.seek(SeekFrom::Current(-1))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
