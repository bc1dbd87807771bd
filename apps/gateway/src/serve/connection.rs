//! One client's connection, from its first byte to its close.
//!
//! Called by `accept`. Uses `sniff` for the protocol, hyper for HTTP, `session` for what may take how long.
//!
//! Promise: a connection is held open only by a client that is being served. A head that does not come is answered with
//! 408; a client that takes nothing, or that asks nothing, is let go; and a refusal reaches even a client that is still
//! sending what was refused.
//!
//! Tests: `tests/gateway/{limits,vanishing,drain}.rs`.

use super::sniff::{Sniffed, Spoken};
use crate::life::Life;
use crate::proxy;
use crate::session::{Session, Watch};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

/// How long a client may go on sending what nobody reads, before the connection is closed under it.
const LINGER: Duration = Duration::from_secs(2);

/// Silence after which an HTTP/2 client is asked whether it still exists, and how long it may take to answer.
const PING_AFTER: Duration = Duration::from_secs(20);

/// Streams an HTTP/2 client may have open at once.
const MAX_STREAMS: u32 = 200;

/// Bytes of header fields a request may have.
const MAX_HEADERS: u32 = 64 << 10;

type Stream = Sniffed<TcpStream>;

/// Serves one client until either side has had enough.
pub(super) async fn serve(stream: TcpStream, session: Arc<Session>) {
    proxy::set_options(&stream);
    let life = session.proxy.life.clone();
    let mut stream = Sniffed::new(stream);
    let spoken = tokio::select! {
        biased;
        spoken = timeout(session.listener.settings.header_timeout, stream.sniff()) => spoken,
        () = life.drain.cancelled() => return,
    };
    match spoken {
        Ok(Ok(Spoken::Http1)) => serve_http1(stream, &session, &life).await,
        Ok(Ok(Spoken::Http2)) => serve_http2(stream, &session, &life).await,
        Ok(Ok(Spoken::Nothing) | Err(_)) => {}
        Err(_) if stream.has_bytes() => refuse_late(stream, &session).await,
        Err(_) => {}
    }
}

async fn serve_http1(stream: Stream, session: &Arc<Session>, life: &Life) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(session.listener.settings.header_timeout);
    builder.max_buf_size(MAX_HEADERS as usize);
    let service = service_fn({
        let session = Arc::clone(session);
        move |request: Request<Incoming>| proxy::answer(Arc::clone(&session), request)
    });
    let mut connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let end =
        Guard::new(session, life, None).watch(Pin::new(&mut connection), |it| it.graceful_shutdown()).await;
    note(session, &end);
    // None if the connection has become a tunnel.
    let Some(parts) = connection.into_parts() else { return };
    let stream = parts.io.into_inner();
    match end {
        // An idle client is simply let go.
        End::Closed(Err(error)) if error.is_timeout() && !parts.read_buf.is_empty() => {
            refuse_late(stream, session).await;
        }
        End::Closed(Err(error)) if error.is_parse() => linger(stream).await,
        End::Closed(_) if session.is_unread() => linger(stream).await,
        End::Closed(_) | End::Stuck | End::Cut => {}
    }
}

async fn serve_http2(stream: Stream, session: &Arc<Session>, life: &Life) {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_AFTER)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADERS)
        .adaptive_window(true);
    let service = service_fn({
        let session = Arc::clone(session);
        move |request: Request<Incoming>| proxy::answer(Arc::clone(&session), request)
    });
    let connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let idle = session.listener.settings.idle_timeout;
    let end = Guard::new(session, life, Some(idle)).watch(connection, |it| it.graceful_shutdown()).await;
    note(session, &end);
}

/// How a connection ended.
enum End {
    /// By itself.
    Closed(hyper::Result<()>),
    /// An exchange could not end.
    Stuck,
    /// The drain has lasted long enough.
    Cut,
}

fn note(session: &Session, end: &End) {
    let figures = &session.listener.figures;
    let error = match end {
        End::Closed(Ok(())) | End::Cut => return,
        End::Stuck => {
            figures.stuck.add(1);
            tracing::debug!(peer = %session.peer, "client takes no response, connection cut");
            return;
        }
        End::Closed(Err(error)) => error,
    };
    if error.is_timeout() {
        figures.header_timeouts.add(1);
    } else if error.is_parse() {
        figures.malformed.add(1);
    } else {
        figures.broken.add(1);
    }
    tracing::debug!(peer = %session.peer, %error, "client connection ended badly");
}

/// Watches over a connection while hyper drives it.
struct Guard<'a> {
    session: &'a Session,
    life: &'a Life,
    /// How long it may be unused; none if hyper watches that itself.
    idle: Option<Duration>,
    /// When it looks at the session next.
    alarm: Pin<Box<Sleep>>,
    armed: bool,
}

impl<'a> Guard<'a> {
    fn new(session: &'a Session, life: &'a Life, idle: Option<Duration>) -> Self {
        Self { session, life, idle, alarm: Box::pin(sleep_until(Instant::now())), armed: false }
    }

    /// Drives `connection` to its end; `close` makes it take no more requests.
    async fn watch<C>(mut self, mut connection: Pin<&mut C>, close: impl Fn(Pin<&mut C>)) -> End
    where
        C: Future<Output = hyper::Result<()>>,
    {
        let session = self.session;
        let mut drain = pin!(self.life.drain.cancelled());
        let mut cut = pin!(self.life.cut.cancelled());
        let mut hurry = pin!(session.hurried());
        let mut closing = false;
        poll_fn(|cx| {
            loop {
                if cut.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(End::Cut);
                }
                // Before anything that closes it: a request that has arrived is answered.
                if let Poll::Ready(end) = connection.as_mut().poll(cx) {
                    return Poll::Ready(End::Closed(end));
                }
                // After the connection: an exchange that has just begun must be seen.
                while hurry.as_mut().poll(cx).is_ready() {
                    hurry.set(session.hurried());
                    self.armed = false;
                }
                let verdict = self.poll_alarm(cx);
                if verdict == Watch::Stuck {
                    return Poll::Ready(End::Stuck);
                }
                if closing || (verdict != Watch::Idle && drain.as_mut().poll(cx).is_pending()) {
                    return Poll::Pending;
                }
                closing = true;
                close(connection.as_mut());
            }
        })
        .await
    }

    /// What the session says, and the alarm set so that this is asked again in time.
    ///
    /// The alarm is moved only when it rings or is too late: exchanges that end in their time do not touch it.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Watch {
        loop {
            if self.armed && self.alarm.as_mut().poll(cx).is_pending() {
                return Watch::Asleep;
            }
            self.armed = false;
            match self.session.watch(Instant::now(), self.idle) {
                Watch::Until(at) => {
                    self.alarm.as_mut().reset(at);
                    self.armed = true;
                }
                verdict => return verdict,
            }
        }
    }
}

/// A request head that did not come in time.
async fn refuse_late(mut stream: Stream, session: &Session) {
    let page = "408 Request Timeout: the request head did not arrive in time\n";
    let response = format!(
        "HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{page}",
        page.len()
    );
    tracing::debug!(peer = %session.peer, "request head did not arrive in time");
    let send = async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    };
    if let Ok(Ok(())) = timeout(LINGER, send).await {
        linger(stream).await;
    }
}

/// Reads what still comes, so that the last response is not lost.
///
/// Closing a socket with unread bytes makes the kernel send a reset, which may overtake the response.
async fn linger(mut stream: Stream) {
    let mut buffer = [0; 4096];
    let discard = async { while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {} };
    tokio::select! {
        () = discard => {}
        () = sleep(LINGER) => {}
    }
}
