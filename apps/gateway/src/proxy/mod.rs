//! From a request to its response.
//!
//! - `target`: which host and path is meant; refuses what is ambiguous.
//! - `route`: which route takes it, within which limits.
//! - `group`, `link`: whom to ask, and over which connection.
//! - `forward`: asking, once, within the limits.
//! - `upload`, `response_body`: the bodies on their way, limited and watched.
//! - `headers`: what goes on, what ends here, what is added.
//! - `failure`: what the client is told if there is no response.
//! - `exchange`: what ties all of it together, and is counted and logged at its end.
//! - `tunnel`: what comes after `101 Switching Protocols`.
//!
//! Called by `serve::connection` for each request. Knows nothing of sockets to clients.

mod exchange;
mod failure;
mod forward;
mod group;
mod headers;
mod link;
mod response_body;
mod route;
mod target;
mod tunnel;
mod upload;

pub(crate) use exchange::Exchange;
pub(crate) use group::{Group, Member};
pub(crate) use link::{is_out_of_descriptors, set_options};
pub(crate) use response_body::ResponseBody;
pub(crate) use route::Routes;

use crate::config::{Config, MetricsFor, Protocol};
use crate::life::Life;
use crate::listener::Listener;
use crate::metrics::{self, RouteFigures};
use crate::session::Session;
use bytes::Bytes;
use failure::Failure;
use http::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::body::Incoming;
use link::Lease;
use std::convert::Infallible;
use std::sync::Arc;
use target::Target;
use tokio::time::Instant;
use tunnel::Tunnel;
use upload::RequestBody;

/// Paths below this are the gateway's own.
const OWN: &str = "/_gateway/";

/// All that requests need.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) listeners: Vec<Arc<Listener>>,
    pub(crate) groups: Vec<Arc<Group>>,
    pub(crate) routes: Routes,
    /// Requests that no route took.
    pub(crate) unrouted: RouteFigures,
    pub(crate) logs_access: bool,
    pub(crate) life: Life,
}

/// Where a response comes from.
enum Answer {
    /// The gateway itself.
    Page(Response<Bytes>),
    /// An upstream server; whole by the deadline.
    Relay(Response<Incoming>, Lease, Option<Instant>),
    /// An upstream server, which goes on with another protocol.
    Switch(Response<()>, Tunnel),
}

impl Proxy {
    pub(crate) fn new(config: &Config, listeners: Vec<Arc<Listener>>) -> Arc<Self> {
        let groups = config.groups.iter().map(|group| Arc::new(Group::new(group))).collect::<Vec<_>>();
        Arc::new(Self {
            listeners,
            routes: Routes::new(&config.routes, &groups),
            groups,
            unrouted: RouteFigures::default(),
            logs_access: config.log.access,
            life: Life::default(),
        })
    }

    /// Starts what runs beside the exchanges, until the drain.
    pub(crate) fn start(&self) {
        for group in &self.groups {
            self.life.tasks.spawn(Arc::clone(group).sweep(self.life.drain.clone()));
        }
    }
}

/// Answers one request of `session`.
pub(crate) async fn answer(
    session: Arc<Session>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let mut exchange = Exchange::begin(session, &request);
    let answer = match find_answer(&mut exchange, request).await {
        Ok(answer) => answer,
        Err(failure) => Answer::Page(failure.page(exchange.route_name())),
    };
    Ok(respond(exchange, answer))
}

/// Hands the exchange over to the body of its response.
fn respond(mut exchange: Exchange, answer: Answer) -> Response<ResponseBody> {
    match answer {
        Answer::Page(page) => {
            let (mut head, page) = page.into_parts();
            exchange.status = Some(head.status);
            if !exchange.is_request_whole() && exchange.version < Version::HTTP_2 {
                // The rest of the body is not wanted, and HTTP/1 has no other way to say so.
                head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
                exchange.session.set_unread();
            }
            Response::from_parts(head, ResponseBody::page(page, exchange))
        }
        Answer::Relay(response, lease, deadline) => {
            let (mut head, incoming) = response.into_parts();
            exchange.status = Some(head.status);
            headers::to_client(&mut head.headers, head.version);
            head.version = Version::HTTP_11;
            Response::from_parts(head, ResponseBody::relay(incoming, lease, deadline, exchange))
        }
        Answer::Switch(response, tunnel) => {
            exchange.status = Some(response.status());
            tunnel.start(exchange);
            response.map(|()| ResponseBody::none())
        }
    }
}

async fn find_answer(exchange: &mut Exchange, request: Request<Incoming>) -> Result<Answer, Failure> {
    let target = Target::read(&request)?;
    exchange.host.clone_from(&target.host);
    let path = request.uri().path();
    if path.starts_with(OWN) {
        return own_page(exchange, path).map(Answer::Page);
    }
    if *request.method() == Method::CONNECT {
        return Err(Failure::NotSupported("this is not a forward proxy; ask for a path"));
    }
    if *request.method() == Method::TRACE {
        return Err(Failure::Method);
    }
    if headers::goes_in_circles(request.headers()) {
        return Err(Failure::Circle);
    }
    // `OPTIONS *` asks about the server as a whole, which is what serves its root.
    let path = if path == "*" { "/" } else { path };
    let route = exchange.session.proxy.routes.find(target.name(), path).cloned();
    let route = route.ok_or(Failure::NotFound("no route takes this host and path"))?;
    exchange.take_route(Arc::clone(&route));
    let limits = &route.settings;

    let slot = Arc::clone(&route.slots).try_acquire_owned();
    let slot = slot.map_err(|_| Failure::Busy(limits.max_concurrency))?;
    let deadline = limits.total_timeout.map(|limit| exchange.started + limit);
    exchange.take_slot(slot, deadline);
    if request.body().size_hint().lower() > limits.max_body {
        return Err(Failure::TooLarge(limits.max_body));
    }
    pass_on(exchange, &route, request, deadline).await
}

/// Sends the request to the servers of `route`.
async fn pass_on(
    exchange: &mut Exchange,
    route: &route::Route,
    mut request: Request<Incoming>,
    deadline: Option<Instant>,
) -> Result<Answer, Failure> {
    let wanted = headers::wanted_upgrade(request.method(), request.version(), request.headers());
    let protocol = route.group.settings.protocol;
    if wanted.is_some() && protocol == Protocol::Http2 {
        return Err(Failure::NotSupported("this route goes on over HTTP/2, which takes no upgrades"));
    }
    let client_upgrade = wanted.is_some().then(|| hyper::upgrade::on(&mut request));
    let (mut head, incoming) = request.into_parts();
    let listener = &exchange.session.listener.settings;
    let client = headers::Client {
        address: exchange.session.peer.ip(),
        host: exchange.host.as_ref(),
        version: head.version,
        trusted: listener.trust_forwarded,
    };
    headers::to_upstream(&mut head.headers, &client, protocol);
    if let Some(wanted) = wanted {
        headers::set_upgrade(&mut head.headers, wanted);
    }
    if head.uri.path() != "*"
        && let Some(target) = head.uri.path_and_query()
    {
        head.uri = route.rewrite(target).into();
    }
    let body = RequestBody::new(incoming, route.settings.max_body, listener.body_timeout);
    exchange.watch_upload(body.upload());
    let request = Request::from_parts(head, body);
    let (response, lease) = forward::forward(exchange, route, request, deadline).await?;
    match (response.status(), client_upgrade) {
        (StatusCode::SWITCHING_PROTOCOLS, Some(client)) => Ok(switch(response, client)),
        // Nobody asked for that.
        (StatusCode::SWITCHING_PROTOCOLS, None) => Err(Failure::BadResponse),
        _ => Ok(Answer::Relay(response, lease, deadline)),
    }
}

/// The server agreed to go on with another protocol.
fn switch(mut response: Response<Incoming>, client: hyper::upgrade::OnUpgrade) -> Answer {
    let upstream = hyper::upgrade::on(&mut response);
    let (mut head, _) = response.into_parts();
    let protocol = head.headers.get(UPGRADE).cloned();
    headers::to_client(&mut head.headers, head.version);
    if let Some(protocol) = protocol {
        headers::set_upgrade(&mut head.headers, protocol);
    }
    head.version = Version::HTTP_11;
    Answer::Switch(Response::from_parts(head, ()), Tunnel { client, upstream })
}

/// A page below `/_gateway/`.
fn own_page(exchange: &Exchange, path: &str) -> Result<Response<Bytes>, Failure> {
    let session = &exchange.session;
    let allowed = match session.listener.settings.metrics {
        MetricsFor::Anyone => true,
        MetricsFor::Local => session.peer.ip().to_canonical().is_loopback(),
        MetricsFor::Nobody => false,
    };
    match &path[OWN.len()..] {
        "metrics" if !allowed => Err(Failure::Forbidden),
        "metrics" => Ok(text_page(StatusCode::OK, metrics::CONTENT_TYPE, metrics::page(&session.proxy))),
        "health" if session.proxy.life.drain.is_cancelled() => {
            Ok(text_page(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "draining\n".to_owned()))
        }
        "health" => Ok(text_page(StatusCode::OK, "text/plain", "ok\n".to_owned())),
        _ => Err(Failure::NotFound("below /_gateway/ there are metrics and health only")),
    }
}

fn text_page(status: StatusCode, content_type: &'static str, text: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
