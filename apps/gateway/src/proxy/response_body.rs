//! The body of a response, on its way to the client.
//!
//! Either a page of the gateway's own or a relay of what the upstream server sends; carries the exchange until the last
//! frame is handed over.
//!
//! Promise: what comes in goes out frame by frame, trailers included, never gathered. When the relay is whole the link
//! goes back to its pool, at once and once. When it breaks or runs out of time, the link is closed and the client's
//! response is broken off, so that no client takes half a response for a whole one.
//!
//! Tests: `tests/gateway/balancing.rs`, `tests/gateway/limits.rs`, `tests/gateway/vanishing.rs`.

use super::exchange::{Ending, Exchange};
use super::link::Lease;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::time::{Instant, Sleep, sleep_until};

/// The body of a response.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    source: Source,
    /// None after `101 Switching Protocols`: the exchange lives on in the tunnel.
    exchange: Option<Exchange>,
}

#[derive(Debug)]
enum Source {
    Page(Bytes),
    Relay(Relay),
}

#[derive(Debug)]
struct Relay {
    incoming: Incoming,
    /// Until the response is whole.
    lease: Option<Lease>,
    deadline: Option<Instant>,
    /// Armed when the upstream server has to be waited for.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// Why a response was broken off.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The upstream server's doing.
    Upstream(hyper::Error),
    /// Out of time.
    TimedOut,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Upstream(_) => "the upstream server broke off its response",
            Self::TimedOut => "the response was not whole in time",
        })
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Upstream(error) => Some(error),
            Self::TimedOut => None,
        }
    }
}

impl ResponseBody {
    /// Nothing at all, and nobody's.
    pub(super) fn none() -> Self {
        Self { source: Source::Page(Bytes::new()), exchange: None }
    }

    /// A page of the gateway's own.
    pub(super) fn page(page: Bytes, mut exchange: Exchange) -> Self {
        exchange.ending = Ending::Done;
        Self { source: Source::Page(page), exchange: Some(exchange) }
    }

    /// What `lease` delivers, whole by `deadline`.
    pub(super) fn relay(
        incoming: Incoming,
        lease: Lease,
        deadline: Option<Instant>,
        exchange: Exchange,
    ) -> Self {
        let whole = incoming.is_end_stream();
        let relay = Relay { incoming, lease: Some(lease), deadline, alarm: None };
        let mut body = Self { source: Source::Relay(relay), exchange: Some(exchange) };
        if whole {
            body.finish();
        }
        body
    }

    /// The response is whole. The link can serve the next exchange if it does not still carry this request.
    fn finish(&mut self) {
        let Some(exchange) = &mut self.exchange else { return };
        exchange.ending = Ending::Done;
        if !exchange.is_request_whole() {
            exchange.session.set_unread();
        } else if let Source::Relay(relay) = &mut self.source
            && let Some(lease) = relay.lease.take()
        {
            lease.give_back();
        }
    }

    fn fail(&mut self, ending: Ending, broken: Broken) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(exchange) = &mut self.exchange {
            exchange.ending = ending;
        }
        if let Source::Relay(relay) = &mut self.source {
            relay.lease = None;
        }
        Poll::Ready(Some(Err(broken)))
    }
}

impl Relay {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Broken::Upstream)));
        }
        let Some(deadline) = self.deadline else { return Poll::Pending };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        alarm.as_mut().poll(cx).map(|()| Some(Err(Broken::TimedOut)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = match &mut self.source {
            Source::Page(page) if page.is_empty() => return Poll::Ready(None),
            Source::Page(page) => Frame::data(std::mem::take(page)),
            Source::Relay(relay) => match std::task::ready!(relay.poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(broken)) => {
                    let timed_out = matches!(broken, Broken::TimedOut);
                    return self
                        .fail(if timed_out { Ending::TimedOut } else { Ending::UpstreamGone }, broken);
                }
                None => {
                    self.finish();
                    return Poll::Ready(None);
                }
            },
        };
        if let (Some(data), Some(exchange)) = (frame.data_ref(), &mut self.exchange) {
            exchange.bytes_out += data.len() as u64;
        }
        if frame.is_trailers() || self.is_end_stream() {
            self.finish();
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Page(page) => page.is_empty(),
            Source::Relay(relay) => relay.incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Page(page) => SizeHint::with_exact(page.len() as u64),
            Source::Relay(relay) => relay.incoming.size_hint(),
        }
    }
}
