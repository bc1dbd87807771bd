//! The body of a request, on its way to the upstream server.
//!
//! [`RequestBody`] is read by the link; [`Upload`] is what the exchange knows of it meanwhile.
//!
//! Promise: no more than the route's limit passes; a client that stops sending is noticed; and the exchange learns at
//! once how the body ended, even if the upstream server answers something else or nothing.
//!
//! ```text
//! link                               exchange
//! L1 store how it ended (release)    E1 load how it ended (acquire)
//! L2 notify `changed`                E2 wait for `changed`, then E1 again
//! ```
//!
//! If E1 misses L1, then L2 is still to come: it finds the exchange waiting, or leaves a notice that E2 takes at once.
//!
//! Tests: below, and `tests/gateway/limits.rs`.

use super::failure::Failure;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep};

/// How a request body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum End {
    /// It was read to its end.
    Whole = 1,
    /// It had more bytes than allowed.
    TooLarge,
    /// The client sent nothing for too long.
    Stalled,
    /// The client's connection broke.
    Broken,
    /// The link wanted no more of it.
    Unwanted,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "request body is whole",
            Self::TooLarge => "request body is too large",
            Self::Stalled => "request body stalled",
            Self::Broken => "request body broke off",
            Self::Unwanted => "request body is not wanted any more",
        })
    }
}

impl std::error::Error for End {}

/// What the exchange knows of a request body on its way.
#[derive(Debug)]
pub(super) struct Upload {
    limit: u64,
    stall: Duration,
    bytes: AtomicU64,
    /// 0 while it is on its way, else an [`End`].
    end: AtomicU8,
    changed: Notify,
}

impl Upload {
    fn new(limit: u64, stall: Duration) -> Self {
        Self { limit, stall, bytes: AtomicU64::new(0), end: AtomicU8::new(0), changed: Notify::new() }
    }

    /// Bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How it ended, if it has.
    pub(super) fn end(&self) -> Option<End> {
        // Acquire: pairs with the release in `finish`.
        match self.end.load(Ordering::Acquire) {
            0 => None,
            end if end == End::Whole as u8 => Some(End::Whole),
            end if end == End::TooLarge as u8 => Some(End::TooLarge),
            end if end == End::Stalled as u8 => Some(End::Stalled),
            end if end == End::Broken as u8 => Some(End::Broken),
            _ => Some(End::Unwanted),
        }
    }

    /// What the client is told if it ended badly.
    pub(super) fn failure(&self) -> Option<Failure> {
        match self.end()? {
            End::TooLarge => Some(Failure::TooLarge(self.limit)),
            End::Stalled => Some(Failure::Stalled(self.stall)),
            End::Broken => Some(Failure::BrokenBody),
            End::Whole | End::Unwanted => None,
        }
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> End {
        loop {
            if let Some(end) = self.end() {
                return end;
            }
            self.changed.notified().await;
        }
    }

    /// The first end counts.
    fn finish(&self, end: End) {
        // Release: pairs with the acquire in `end`; publishes the last count of bytes.
        if self.end.compare_exchange(0, end as u8, Ordering::Release, Ordering::Relaxed).is_ok() {
            self.changed.notify_one();
        }
    }
}

/// The body of a request, limited and watched.
#[derive(Debug)]
pub(super) struct RequestBody {
    incoming: Incoming,
    /// Armed while the client owes the next piece.
    alarm: Option<Pin<Box<Sleep>>>,
    /// None if there is no body.
    upload: Option<Arc<Upload>>,
}

impl RequestBody {
    /// `incoming`, at most `limit` bytes of it, with no pause longer than `stall`.
    pub(super) fn new(incoming: Incoming, limit: u64, stall: Duration) -> Self {
        let upload = (!incoming.is_end_stream()).then(|| Arc::new(Upload::new(limit, stall)));
        Self { incoming, alarm: None, upload }
    }

    /// Where to learn of its progress; none if there is no body.
    pub(super) fn upload(&self) -> Option<&Arc<Upload>> {
        self.upload.as_ref()
    }

    fn fail(&self, end: End) -> Poll<Option<Result<Frame<Bytes>, End>>> {
        self.finish(end);
        Poll::Ready(Some(Err(end)))
    }

    fn finish(&self, end: End) {
        if let Some(upload) = &self.upload {
            upload.finish(end);
        }
    }

    /// The next frame of the client; an error if none came for too long.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, End>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            self.alarm = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(|_| End::Broken)));
        }
        let Some(upload) = &self.upload else { return Poll::Pending };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(upload.stall)));
        ready!(alarm.as_mut().poll(cx));
        Poll::Ready(Some(Err(End::Stalled)))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = End;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(frame) = ready!(self.poll_client(cx)) else {
            self.finish(End::Whole);
            return Poll::Ready(None);
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(end) => return self.fail(end),
        };
        if let (Some(data), Some(upload)) = (frame.data_ref(), &self.upload) {
            let length = data.len() as u64;
            if upload.bytes.fetch_add(length, Ordering::Relaxed) + length > upload.limit {
                return self.fail(End::TooLarge);
            }
        }
        if frame.is_trailers() || self.incoming.is_end_stream() {
            self.finish(End::Whole);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.finish(End::Unwanted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload() -> Upload {
        Upload::new(1, Duration::from_secs(1))
    }

    #[test]
    fn the_first_end_counts() {
        let upload = upload();
        assert_eq!(upload.end(), None);
        upload.finish(End::TooLarge);
        upload.finish(End::Unwanted);
        assert_eq!(upload.end(), Some(End::TooLarge));
    }

    #[tokio::test]
    async fn an_end_before_the_wait_is_seen() {
        let upload = upload();
        upload.finish(End::Whole);
        assert_eq!(upload.ended().await, End::Whole);
    }

    #[tokio::test]
    async fn an_end_during_the_wait_is_seen() {
        let upload = Arc::new(upload());
        let waiter = tokio::spawn({
            let upload = Arc::clone(&upload);
            async move { upload.ended().await }
        });
        tokio::task::yield_now().await;
        upload.finish(End::Stalled);
        assert_eq!(waiter.await.expect("no panic"), End::Stalled);
    }
}
