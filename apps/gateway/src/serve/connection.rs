//! One client's connection, from its first byte to its close.
//!
//! Called by `accept`. Uses `sniff` for the protocol, hyper for HTTP, `session` for what may take how long.
//!
//! Promise: a connection is held open only by a client that is being served. A head that does not come is answered with
//! 408; a client that takes nothing, or that asks nothing, is let go; and a refusal reaches even a client that is still
//! sending what was refused.
//!
//! The priority of a task is for good, but what a client asks for changes. So a connection that is to be served with high
//! priority is driven by a task of that priority, for as long as it is (`session` says), and else by the client's own.
//!
//! Tests: `tests/gateway/limits.rs`, `tests/gateway/vanishing.rs`, `tests/gateway/drain.rs`, `tests/gateway/priority.rs`.

use super::sniff::{Sniffed, Spoken};
use crate::life::Life;
use crate::session::{Session, Watch};
use crate::{proxy, rank};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nezumi::task::Priority;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

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
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let guard = Guard::new(session, life, None);
    let Some((connection, end)) = guard.drive(Box::pin(connection), |it| it.graceful_shutdown()).await else {
        return;
    };
    note(session, &end);
    // None if the connection has become a tunnel.
    let Some(parts) = Pin::into_inner(connection).into_parts() else { return };
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
    // Each exchange has a task of its own, begun before it is known what is asked for.
    let of = {
        let session = Arc::clone(session);
        move || session.priority()
    };
    let mut builder = http2::Builder::new(rank::Executor { of });
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
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let guard = Guard::new(session, life, Some(session.listener.settings.idle_timeout));
    if let Some((_, end)) = guard.drive(Box::pin(connection), |it| it.graceful_shutdown()).await {
        note(session, &end);
    }
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
struct Guard {
    session: Arc<Session>,
    life: Life,
    /// How long it may be unused; none if hyper watches that itself.
    idle: Option<Duration>,
    /// When it looks at the session next.
    alarm: Pin<Box<Sleep>>,
    armed: bool,
    /// It has been told to take no more requests.
    closing: bool,
}

impl Guard {
    fn new(session: &Arc<Session>, life: &Life, idle: Option<Duration>) -> Self {
        Self {
            session: Arc::clone(session),
            life: life.clone(),
            idle,
            alarm: Box::pin(sleep_until(Instant::now())),
            armed: false,
            closing: false,
        }
    }

    /// Drives `connection` to its end, each part of the way with the priority it is to have; `close` makes it take no more
    /// requests. None if the runtime ends first.
    async fn drive<C>(
        mut self,
        mut connection: Pin<Box<C>>,
        close: fn(Pin<&mut C>),
    ) -> Option<(Pin<Box<C>>, End)>
    where
        C: Future<Output = hyper::Result<()>> + Send + 'static,
    {
        loop {
            let priority = self.session.priority();
            let part = async move {
                let end = self.watch(connection.as_mut(), close, priority).await;
                (self, connection, end)
            };
            let end;
            (self, connection, end) = if priority == Priority::Normal {
                part.await
            } else {
                match AbortOnDropHandle::new(rank::spawn(priority, part)).await {
                    Ok(done) => done,
                    Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                    Err(_) => return None,
                }
            };
            if let Some(end) = end {
                return Some((connection, end));
            }
        }
    }

    /// Drives `connection` to its end, or until it is to have another priority.
    async fn watch<C>(
        &mut self,
        mut connection: Pin<&mut C>,
        close: fn(Pin<&mut C>),
        priority: Priority,
    ) -> Option<End>
    where
        C: Future<Output = hyper::Result<()>>,
    {
        let (session, life) = (Arc::clone(&self.session), self.life.clone());
        let mut drain = pin!(life.drain.cancelled());
        let mut cut = pin!(life.cut.cancelled());
        let mut hurry = pin!(session.hurried());
        poll_fn(|cx| {
            loop {
                if cut.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Some(End::Cut));
                }
                // Before anything that closes it: a request that has arrived is answered.
                if let Poll::Ready(end) = connection.as_mut().poll(cx) {
                    return Poll::Ready(Some(End::Closed(end)));
                }
                // After the connection: an exchange that has just begun must be seen.
                while hurry.as_mut().poll(cx).is_ready() {
                    hurry.set(session.hurried());
                    self.armed = false;
                }
                if session.priority() != priority {
                    return Poll::Ready(None);
                }
                let verdict = self.poll_alarm(cx);
                if verdict == Watch::Stuck {
                    return Poll::Ready(Some(End::Stuck));
                }
                if self.closing || (verdict != Watch::Idle && drain.as_mut().poll(cx).is_pending()) {
                    return Poll::Pending;
                }
                self.closing = true;
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
