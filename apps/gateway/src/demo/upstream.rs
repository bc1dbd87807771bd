//! A small server for the gateway to ask.
//!
//! `GET` is answered with a line of text, `POST` with its own body, piece by piece. Some paths ask for trouble (`hostile`).

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nezumi::net::AcceptBackoff;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a `GET` is answered with.
pub(super) const HELLO: &str = "hello from a server behind the gateway\n";

/// A server that runs.
#[derive(Debug)]
pub(super) struct Upstream {
    address: SocketAddr,
    drain: CancellationToken,
    tasks: TaskTracker,
}

impl Upstream {
    /// Starts one on a free port of the loopback interface.
    pub(super) async fn start() -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let upstream = Self {
            address: socket.local_addr()?,
            drain: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        upstream.tasks.spawn(accept(socket, upstream.drain.clone(), upstream.tasks.clone()));
        Ok(upstream)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it, and waits until its connections are closed.
    pub(super) async fn stop(self) {
        self.drain.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn accept(socket: TcpListener, drain: CancellationToken, tasks: TaskTracker) {
    let mut backoff = AcceptBackoff::new();
    loop {
        let accepted = tokio::select! {
            accepted = backoff.accept(|| socket.accept()) => accepted,
            () = drain.cancelled() => return,
        };
        let Ok((stream, _)) = accepted else { return };
        tasks.spawn(serve(stream, drain.clone()));
    }
}

async fn serve(stream: TcpStream, drain: CancellationToken) {
    // Only speed depends on it.
    let _ = stream.set_nodelay(true);
    let mut connection =
        pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
    // How a connection ends is for its client to judge.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = drain.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Either<Full<Bytes>, Incoming>>, Infallible> {
    super::hostile::misbehave(request.uri().path()).await;
    Ok(Response::new(match *request.method() {
        Method::POST => Either::Right(request.into_body()),
        _ => Either::Left(Full::new(Bytes::from_static(HELLO.as_bytes()))),
    }))
}
