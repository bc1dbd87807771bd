//! One request to the upstream servers of its route, and the head of the response back.
//!
//! Called by `mod`. Uses `group` for whom to ask, `link` for the connection, `upload` to know how the body fares.
//!
//! Promise: a request is sent at most once. It moves on to the next member only while it is certain that nobody has seen
//! any of it: no connection could be made, or the link handed the request back unsent. Everything that waits here has
//! a limit, and dropping the future gives all of it up.
//!
//! Tests: `tests/gateway/balancing.rs`, `tests/gateway/statuses.rs`, `tests/gateway/limits.rs`.

use super::exchange::Exchange;
use super::failure::Failure;
use super::group::Member;
use super::link::{ConnectError, Lease};
use super::route::Route;
use super::upload::{RequestBody, Upload};
use crate::config::HostHeader;
use http::header::HOST;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri, Version};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Why one attempt gave no response.
enum Missed {
    /// Nothing of the request was sent, and here it is.
    Unsent(Box<Request<RequestBody>>, String),
    Failed(Failure),
}

/// Asks the members of the route's group in turn until one takes the request.
pub(super) async fn forward(
    exchange: &mut Exchange,
    route: &Route,
    mut request: Request<RequestBody>,
    deadline: Option<Instant>,
) -> Result<(Response<Incoming>, Lease), Failure> {
    let target = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let client_host = exchange.host.clone();
    let mut failure = Failure::Unreachable;
    for member in route.group.candidates() {
        let mut stale = None;
        loop {
            let mut lease = match in_time(deadline, connect(route, member, stale)).await? {
                Ok(lease) => lease,
                Err(Failure::NoDescriptors) => return Err(Failure::NoDescriptors),
                Err(reason) => {
                    failure = reason;
                    break;
                }
            };
            exchange.ask(member);
            address(&mut request, &lease, &route.settings.host_header, client_host.as_ref(), &target);
            match send(&mut lease, request, route.settings.header_timeout, deadline).await {
                Ok(response) => return Ok((response, lease)),
                Err(Missed::Failed(failure)) => return Err(failure),
                Err(Missed::Unsent(back, error)) => {
                    request = *back;
                    if stale.is_none() && lease.reused().is_some() {
                        // It closed while nobody used it, which says nothing about the server: a new link, then.
                        stale = lease.reused();
                        continue;
                    }
                    member.missed(route.group.settings.retry_after, &error);
                    break;
                }
            }
        }
    }
    Err(failure)
}

/// `work`, unless the whole exchange runs out of time.
async fn in_time<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Result<T, Failure> {
    match deadline {
        Some(deadline) => timeout_at(deadline, work).await.map_err(|_| Failure::TotalTimeout),
        None => Ok(work.await),
    }
}

/// A link to `member`; else why there is none, and the member left out for a while if that is its fault.
async fn connect(route: &Route, member: &Arc<Member>, stale: Option<u64>) -> Result<Lease, Failure> {
    let settings = &route.group.settings;
    match member.pool.lease(member, stale).await {
        Ok(lease) => {
            member.reached();
            Ok(lease)
        }
        Err(ConnectError::NoDescriptors) => {
            // Unused links hold some; the next exchange finds them free.
            route.group.shed();
            tracing::warn!(route = route.settings.name, "no file descriptor left for an upstream connection");
            Err(Failure::NoDescriptors)
        }
        Err(ConnectError::TimedOut) => {
            member.missed(settings.retry_after, &"no connection in time");
            Err(Failure::ConnectTimeout)
        }
        Err(ConnectError::Failed(error)) => {
            member.missed(settings.retry_after, &error);
            Err(Failure::Unreachable)
        }
    }
}

/// Makes `request` one to the server at the other end of `lease`.
fn address(
    request: &mut Request<RequestBody>,
    lease: &Lease,
    rule: &HostHeader,
    client: Option<&HeaderValue>,
    target: &PathAndQuery,
) {
    let member = &lease.member().host;
    let host = match rule {
        HostHeader::Preserve => client.unwrap_or(member),
        HostHeader::Upstream => member,
        HostHeader::Literal(host) => host,
    };
    let mut uri = http::uri::Parts::default();
    uri.path_and_query = Some(target.clone());
    if lease.is_http2() {
        uri.scheme = Some(Scheme::HTTP);
        // It was parsed as one before it became a header.
        uri.authority = Authority::try_from(host.as_bytes()).ok();
        request.headers_mut().remove(HOST);
        *request.version_mut() = Version::HTTP_2;
    } else {
        request.headers_mut().insert(HOST, host.clone());
        *request.version_mut() = Version::HTTP_11;
    }
    if let Ok(uri) = Uri::from_parts(uri) {
        *request.uri_mut() = uri;
    }
}

/// Sends `request` and waits for the head of the response.
///
/// The time for that runs from the moment the request is on its way as a whole; until then the client's own limits hold.
async fn send(
    lease: &mut Lease,
    request: Request<RequestBody>,
    header_timeout: Duration,
    deadline: Option<Instant>,
) -> Result<Response<Incoming>, Missed> {
    let upload = request.body().upload().cloned();
    let mut sent = pin!(lease.send(request));
    let mut awaited = upload.is_none().then(|| Instant::now() + header_timeout);
    loop {
        let limit = [awaited, deadline].into_iter().flatten().min();
        tokio::select! {
            biased;
            sent = &mut sent => return sent.map_err(|mut error| match error.take_message() {
                Some(request) => Missed::Unsent(Box::new(request), error.error().to_string()),
                None => Missed::Failed(broken(upload.as_deref(), error.error())),
            }),
            failure = ended(upload.as_deref()), if awaited.is_none() => match failure {
                None => awaited = Some(Instant::now() + header_timeout),
                Some(failure) => return Err(Missed::Failed(failure)),
            },
            () = until(limit) => return Err(Missed::Failed(
                if awaited.is_some() && awaited == limit { Failure::HeaderTimeout(header_timeout) } else { Failure::TotalTimeout }
            )),
        }
    }
}

/// Waits for the end of `upload`; says what is wrong if that was a bad one.
async fn ended(upload: Option<&Upload>) -> Option<Failure> {
    let Some(upload) = upload else { return std::future::pending().await };
    upload.ended().await;
    upload.failure()
}

async fn until(limit: Option<Instant>) {
    match limit {
        Some(limit) => sleep_until(limit).await,
        None => std::future::pending().await,
    }
}

/// Whose fault it is that the link gave no response: the body's, or the server's.
fn broken(upload: Option<&Upload>, error: &hyper::Error) -> Failure {
    upload.and_then(Upload::failure).unwrap_or_else(|| {
        tracing::debug!(%error, source = std::error::Error::source(error), "no valid response");
        Failure::BadResponse
    })
}
