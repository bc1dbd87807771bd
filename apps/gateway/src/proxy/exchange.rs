//! One request and its response, from the first byte known to the last byte sent.
//!
//! Begun by `mod`, carried by the future that answers and then by the body of the response. Dropping it ends it, whoever
//! drops it: then its slot is free, its session knows, and it is counted and logged.
//!
//! Promise: every exchange is counted and logged exactly once, also when its client vanishes in the middle.

use super::group::Member;
use super::route::Route;
use super::upload::{End, Upload};
use crate::access_log;
use crate::session::{Session, Ticket};
use http::{HeaderValue, Method, Request, StatusCode, Uri, Version};
use http_body::Body;
use nezumi::task::Priority;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// An exchange under way.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) session: Arc<Session>,
    ticket: Ticket,
    pub(crate) started: Instant,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) host: Option<HeaderValue>,
    has_body: bool,
    pub(crate) route: Option<Arc<Route>>,
    slot: Option<OwnedSemaphorePermit>,
    /// The member asked last.
    pub(crate) member: Option<Arc<Member>>,
    upload: Option<Arc<Upload>>,
    /// None until there is a response.
    pub(crate) status: Option<StatusCode>,
    /// Bytes of response body handed to the client's connection.
    pub(crate) bytes_out: u64,
    pub(crate) ending: Ending,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The response is whole.
    Done,
    /// The client went away, or was cut off.
    ClientGone,
    /// The upstream server broke off within its response.
    UpstreamGone,
    /// Out of time within the response.
    TimedOut,
}

impl Ending {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::ClientGone => "client_gone",
            Self::UpstreamGone => "upstream_gone",
            Self::TimedOut => "timed_out",
        }
    }
}

impl Exchange {
    pub(super) fn begin<B: Body>(session: Arc<Session>, request: &Request<B>) -> Self {
        Self {
            ticket: session.enter(),
            session,
            started: Instant::now(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            host: None,
            has_body: !request.body().is_end_stream(),
            route: None,
            slot: None,
            member: None,
            upload: None,
            status: None,
            bytes_out: 0,
            ending: Ending::ClientGone,
        }
    }

    /// The exchange takes `route`.
    pub(super) fn take_route(&mut self, route: Arc<Route>) {
        route.figures.in_flight.add(1);
        self.session.rank(self.ticket, route.settings.priority);
        self.route = Some(route);
    }

    /// That of its route.
    pub(super) fn priority(&self) -> Priority {
        self.route.as_ref().map_or(Priority::Normal, |route| route.settings.priority)
    }

    /// Has a slot of its route, and should be over by `deadline`.
    pub(super) fn take_slot(&mut self, slot: OwnedSemaphorePermit, deadline: Option<Instant>) {
        self.slot = Some(slot);
        self.session.expect(self.ticket, deadline);
    }

    /// No time limit from here on: it became a tunnel.
    pub(super) fn expect_no_end(&self) {
        self.session.expect(self.ticket, None);
    }

    pub(super) fn ask(&mut self, member: &Arc<Member>) {
        member.figures.requests.add(1);
        self.member = Some(Arc::clone(member));
    }

    pub(super) fn watch_upload(&mut self, upload: Option<&Arc<Upload>>) {
        self.upload = upload.cloned();
    }

    /// Whether the request was read to its end (or has no body).
    pub(super) fn is_request_whole(&self) -> bool {
        match &self.upload {
            Some(upload) => upload.end() == Some(End::Whole),
            None => !self.has_body,
        }
    }

    /// Bytes of request body read.
    pub(crate) fn bytes_in(&self) -> u64 {
        self.upload.as_ref().map_or(0, |upload| upload.bytes())
    }

    /// What the route is called, for pages and logs; empty if there is none.
    pub(crate) fn route_name(&self) -> &str {
        self.route.as_ref().map_or("", |route| &route.settings.name)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.session.leave(self.ticket);
        let proxy = &self.session.proxy;
        let figures = self.route.as_ref().map_or(&proxy.unrouted, |route| {
            route.figures.in_flight.sub(1);
            &route.figures
        });
        figures.note(self.status, self.started.elapsed(), self.bytes_in(), self.bytes_out);
        if proxy.logs_access {
            access_log::write(self);
        }
    }
}
