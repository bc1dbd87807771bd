//! Why an exchange got no response from upstream, and the page that says so.
//!
//! Promise: every refusal has its own status and one sentence a person can act on; none gives away addresses of
//! upstream servers, which stand in the log only.
//!
//! Tests: each status is provoked in `tests/gateway/statuses.rs`.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use std::time::Duration;

/// Why the gateway answers for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The request makes no sense.
    Malformed(&'static str),
    /// No route takes it, or nothing of that name is below `/_gateway/`.
    NotFound(&'static str),
    /// The metrics are not for this client.
    Forbidden,
    /// A method that a gateway must not pass on.
    Method,
    /// `CONNECT`, or an upgrade that cannot be tunnelled.
    NotSupported(&'static str),
    /// It has passed through here too often.
    Circle,
    /// The client stopped sending its body.
    Stalled(Duration),
    /// The client's connection broke within the body.
    BrokenBody,
    /// The body is larger than the route allows.
    TooLarge(u64),
    /// The route is at its limit.
    Busy(usize),
    /// The gateway itself has no file descriptor left.
    NoDescriptors,
    /// No member of the group could be reached.
    Unreachable,
    /// A member closed the connection, or sent what is not HTTP.
    BadResponse,
    /// No connection to a member in time.
    ConnectTimeout,
    /// No response head in time.
    HeaderTimeout(Duration),
    /// Not done within the total limit.
    TotalTimeout,
}

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_) | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotSupported(_) => StatusCode::NOT_IMPLEMENTED,
            Self::Circle => StatusCode::LOOP_DETECTED,
            Self::Stalled(_) => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Busy(_) | Self::NoDescriptors => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable | Self::BadResponse => StatusCode::BAD_GATEWAY,
            Self::ConnectTimeout | Self::HeaderTimeout(_) | Self::TotalTimeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// What happened, for the client; `route` is the name of the route if one was found.
    fn sentence(&self, route: &str) -> String {
        match self {
            Self::Malformed(what) | Self::NotFound(what) | Self::NotSupported(what) => (*what).to_owned(),
            Self::Forbidden => {
                "the metrics are for loopback clients only (key `metrics` of the listener)".to_owned()
            }
            Self::Method => "this method is not passed on".to_owned(),
            Self::Circle => {
                "the request goes round in a circle: a route leads back to the gateway".to_owned()
            }
            Self::Stalled(limit) => format!("no more of the request body came for {limit:?}"),
            Self::BrokenBody => "the request body broke off".to_owned(),
            Self::TooLarge(limit) => {
                format!("the request body is larger than the {limit} bytes that route \"{route}\" takes")
            }
            Self::Busy(limit) => {
                format!("route \"{route}\" already serves its limit of {limit} requests; try again shortly")
            }
            Self::NoDescriptors => "the gateway has no file descriptor left; try again shortly".to_owned(),
            Self::Unreachable => format!("no server of route \"{route}\" can be reached"),
            Self::BadResponse => format!("a server of route \"{route}\" gave no valid response"),
            Self::ConnectTimeout => format!("no server of route \"{route}\" could be connected to in time"),
            Self::HeaderTimeout(limit) => {
                format!("the server of route \"{route}\" gave no response in {limit:?}")
            }
            Self::TotalTimeout => format!("route \"{route}\" did not finish in its time"),
        }
    }

    /// The response that tells the client.
    pub(super) fn page(&self, route: &str) -> Response<Bytes> {
        let status = self.status();
        let mut response = Response::new(Bytes::from(format!("{status}: {}\n", self.sentence(route))));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self {
            Self::Busy(_) | Self::NoDescriptors => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Self::Method => {
                let allowed = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
                headers.insert(ALLOW, allowed);
            }
            _ => {}
        }
        response
    }
}
