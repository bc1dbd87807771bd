//! Connections to members: made, lent to one exchange, kept for the next.
//!
//! Called by `forward`. A [`Lease`] is the right to use a link; [`Lease::give_back`] after a whole exchange keeps the
//! link, dropping it closes it.
//!
//! Promise: a link goes back only after a response that was read to its end, so no exchange sees bytes of another.
//! Every link has one task that owns its socket and ends with it: a closed link holds no descriptor, pooled or not.
//!
//! Tests: `tests/gateway/balancing.rs` (reuse, links that died while pooled, expiry).

use super::group::Member;
use super::upload::RequestBody;
use crate::config::{self, Protocol};
use crate::metrics::MemberFigures;
use crate::rank;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// A request that may come back unsent.
type Sent = Result<Response<Incoming>, TrySendError<Request<RequestBody>>>;

/// Silence after which the kernel asks whether the other side still exists.
const KEEP_ALIVE_PROBE: Duration = Duration::from_secs(60);

/// The sending end of a connection.
#[derive(Debug)]
enum Link {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

/// A link while one exchange uses it.
#[derive(Debug)]
pub(super) struct Lease {
    link: Link,
    member: Arc<Member>,
    /// Which of the pool's shared links it is, counted from 1; 0 for HTTP/1.
    number: u64,
    /// Whether it was there before this exchange.
    reused: bool,
}

impl Lease {
    pub(super) fn member(&self) -> &Arc<Member> {
        &self.member
    }

    /// Its number, if it was there before this exchange; none for a link made for it.
    pub(super) fn reused(&self) -> Option<u64> {
        self.reused.then_some(self.number)
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self.link, Link::Http2(_))
    }

    /// Sends `request`. Dropping the future gives up the exchange: an HTTP/1 link closes, an HTTP/2 stream is reset.
    pub(super) async fn send(&mut self, request: Request<RequestBody>) -> Sent {
        match &mut self.link {
            Link::Http1(link) => link.try_send_request(request).await,
            Link::Http2(link) => link.try_send_request(request).await,
        }
    }

    /// Keeps the link for the next exchange.
    pub(super) fn give_back(self) {
        if let Link::Http1(link) = self.link {
            self.member.pool.put(link);
        }
    }
}

/// Why no link to a member could be had.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// Not within the connect timeout.
    TimedOut,
    /// This process has no file descriptor left: no fault of the member.
    NoDescriptors,
    /// The member refused, its name is unknown, the network is down.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        if is_out_of_descriptors(&error) { Self::NoDescriptors } else { Self::Failed(error.into()) }
    }
}

impl From<hyper::Error> for ConnectError {
    fn from(error: hyper::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Whether `error` says that the process or the system has no file descriptor (or memory for one) left.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| scarce.contains(&errno))
}

/// The links of one member.
#[derive(Debug)]
pub(crate) struct Pool {
    protocol: Protocol,
    connect_timeout: Duration,
    idle_timeout: Duration,
    max_idle: usize,
    /// HTTP/1 links nobody uses, the longest unused first.
    idle: Mutex<VecDeque<Idle>>,
    /// The HTTP/2 link everybody uses, with its number. Held while it is made, so that it is made once.
    shared: tokio::sync::Mutex<Option<(http2::SendRequest<RequestBody>, u64)>>,
    /// Shared links made so far.
    made: AtomicU64,
    pooled: Arc<Notify>,
}

#[derive(Debug)]
struct Idle {
    link: http1::SendRequest<RequestBody>,
    since: Instant,
}

impl Pool {
    pub(super) fn new(settings: &config::Group, pooled: Arc<Notify>) -> Self {
        Self {
            protocol: settings.protocol,
            connect_timeout: settings.connect_timeout,
            idle_timeout: settings.idle_timeout,
            max_idle: settings.max_idle,
            idle: Mutex::default(),
            shared: tokio::sync::Mutex::default(),
            made: AtomicU64::new(0),
            pooled,
        }
    }

    /// A link to `member`, whose pool this is: one that is there, else a new one.
    ///
    /// `stale` is the number of a link that proved to be closed; then the answer is a link that is newer.
    pub(super) async fn lease(
        &self,
        member: &Arc<Member>,
        stale: Option<u64>,
    ) -> Result<Lease, ConnectError> {
        let lease = |link, number, reused| Lease { link, member: Arc::clone(member), number, reused };
        if self.protocol == Protocol::Http2 {
            let (link, number, reused) = self.in_time(self.share(member, stale)).await?;
            return Ok(lease(Link::Http2(link), number, reused));
        }
        if stale.is_none()
            && let Some(link) = self.take().await
        {
            return Ok(lease(Link::Http1(link), 0, true));
        }
        let link = self.in_time(open_http1(member)).await?;
        Ok(lease(Link::Http1(link), 0, false))
    }

    async fn in_time<T>(
        &self,
        open: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        timeout(self.connect_timeout, open).await.unwrap_or(Err(ConnectError::TimedOut))
    }

    /// The link that was unused for the shortest time and still works.
    async fn take(&self) -> Option<http1::SendRequest<RequestBody>> {
        loop {
            let Idle { mut link, since } = self.idle().pop_back()?;
            // A link is pooled when its response has been read; its task may have to note that first. If the server
            // has closed it meanwhile, this is where that shows.
            if since.elapsed() < self.idle_timeout && link.ready().await.is_ok() {
                return Some(link);
            }
        }
    }

    fn put(&self, link: http1::SendRequest<RequestBody>) {
        if self.max_idle == 0 || link.is_closed() {
            return;
        }
        let mut idle = self.idle();
        let was_empty = idle.is_empty();
        // Closing a link wakes its task: not under the lock.
        let surplus = if idle.len() < self.max_idle { None } else { idle.pop_front() };
        idle.push_back(Idle { link, since: Instant::now() });
        drop(idle);
        drop(surplus);
        if was_empty {
            self.pooled.notify_one();
        }
    }

    /// Closes what has been unused for too long by `now`; says since when the oldest of the rest is unused.
    pub(super) fn sweep(&self, now: Instant) -> Option<Instant> {
        let mut expired = Vec::new();
        let mut idle = self.idle();
        while let Some(oldest) = idle.front() {
            if now < oldest.since + self.idle_timeout {
                break;
            }
            expired.extend(idle.pop_front());
        }
        idle.front().map(|oldest| oldest.since)
    }

    /// Closes all that is unused.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.idle());
        drop(all);
        if let Ok(mut shared) = self.shared.try_lock() {
            *shared = None;
        }
    }

    /// How many links nobody uses.
    pub(crate) fn idle_len(&self) -> usize {
        self.idle().len()
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, VecDeque<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The link everybody uses, its number, and whether it was there.
    async fn share(
        &self,
        member: &Member,
        stale: Option<u64>,
    ) -> Result<(http2::SendRequest<RequestBody>, u64, bool), ConnectError> {
        let mut shared = self.shared.lock().await;
        if let Some((link, number)) =
            shared.as_ref().filter(|(link, number)| !link.is_closed() && Some(*number) != stale)
        {
            return Ok((link.clone(), *number, true));
        }
        let link = open_http2(member).await?;
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        *shared = Some((link.clone(), number));
        Ok((link, number, false))
    }
}

async fn open_http1(member: &Member) -> Result<http1::SendRequest<RequestBody>, ConnectError> {
    let (link, connection) = http1::handshake(TokioIo::new(connect(member).await?)).await?;
    keep(member, connection.with_upgrades());
    Ok(link)
}

async fn open_http2(member: &Member) -> Result<http2::SendRequest<RequestBody>, ConnectError> {
    let priority = member.priority;
    let mut builder = http2::Builder::new(rank::Executor { of: move || priority });
    builder.timer(TokioTimer::new()).adaptive_window(true).keep_alive_interval(KEEP_ALIVE_PROBE);
    let (link, connection) = builder.handshake(TokioIo::new(connect(member).await?)).await?;
    keep(member, connection);
    Ok(link)
}

async fn connect(member: &Member) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(member.authority.as_str()).await?;
    set_options(&stream);
    Ok(stream)
}

/// What every connection wants: small writes at once, and the kernel to notice a peer that vanished in silence.
pub(crate) fn set_options(stream: &TcpStream) {
    // Neither is needed for correctness, and both fail only on a connection that is already gone.
    let _ = stream.set_nodelay(true);
    let probes = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE_PROBE).with_interval(KEEP_ALIVE_PROBE / 4);
    let _ = socket2::SockRef::from(stream).set_tcp_keepalive(&probes);
}

/// Gives the connection to a task of its own, which ends when the link is closed from either side.
fn keep<C>(member: &Member, connection: C)
where
    C: Future<Output = hyper::Result<()>> + Send + 'static,
{
    let open = Open::new(&member.figures);
    let task = rank::spawn(member.priority, async move {
        let _open = open;
        // Whoever uses the link is told of the error as well, and knows more about it.
        if let Err(error) = connection.await {
            tracing::debug!(%error, "upstream connection ended");
        }
    });
    drop(task);
}

/// Counts a link as open while it lives.
struct Open(Arc<MemberFigures>);

impl Open {
    fn new(figures: &Arc<MemberFigures>) -> Self {
        figures.connects.add(1);
        figures.links.add(1);
        Self(Arc::clone(figures))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.links.sub(1);
    }
}
