//! Servers behind the gateway.

use super::until;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) type Body = UnsyncBoxBody<Bytes, hyper::Error>;

/// A response with `text` as its body.
pub(crate) fn text(text: impl Into<Bytes>) -> Response<Body> {
    Response::new(Full::new(text.into()).map_err(|never| match never {}).boxed_unsync())
}

/// A server; dropping it closes its port and all its connections.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    counts: Arc<Counts>,
    _stop: DropGuard,
}

#[derive(Default)]
struct Counts {
    accepted: AtomicUsize,
    open: AtomicUsize,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl Server {
    /// Speaks HTTP/1.1, and answers as `answer` says.
    pub(crate) async fn http1<F, A>(answer: A) -> Self
    where
        A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::raw(move |stream| {
            let answer = answer.clone();
            async move {
                let service = service_fn(move |request| {
                    let response = answer(request);
                    async move { Ok::<_, Infallible>(response.await) }
                });
                let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                let _ = connection.with_upgrades().await;
            }
        })
        .await
    }

    /// Speaks HTTP/2 by prior knowledge, and answers as `answer` says.
    pub(crate) async fn http2<F, A>(answer: A) -> Self
    where
        A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::raw(move |stream| {
            let answer = answer.clone();
            async move {
                let service = service_fn(move |request| {
                    let response = answer(request);
                    async move { Ok::<_, Infallible>(response.await) }
                });
                let builder = http2::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            }
        })
        .await
    }

    /// Answers every request with `name` and its path.
    pub(crate) async fn named(name: &'static str) -> Self {
        Self::http1(move |request: Request<Incoming>| async move {
            text(format!("{name} {}", request.uri().path_and_query().expect("a path")))
        })
        .await
    }

    /// Sends every body back.
    pub(crate) async fn echo() -> Self {
        Self::http1(
            |request: Request<Incoming>| async move { Response::new(request.into_body().boxed_unsync()) },
        )
        .await
    }

    /// Does with every connection what `serve` says.
    pub(crate) async fn raw<F, S>(serve: S) -> Self
    where
        S: Fn(TcpStream) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        Self::raw_at((Ipv4Addr::LOCALHOST, 0).into(), serve).await
    }

    pub(crate) async fn raw_at<F, S>(address: SocketAddr, serve: S) -> Self
    where
        S: Fn(TcpStream) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let socket = TcpListener::bind(address).await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let counts = Arc::new(Counts::default());
        let stop = CancellationToken::new();
        tokio::spawn({
            let (counts, stop) = (Arc::clone(&counts), stop.clone());
            async move {
                let mut connections = JoinSet::new();
                let accepting = async {
                    loop {
                        let (stream, _) = socket.accept().await.expect("a connection");
                        counts.accepted.fetch_add(1, Ordering::SeqCst);
                        counts.open.fetch_add(1, Ordering::SeqCst);
                        let (work, counts) = (serve(stream), Arc::clone(&counts));
                        connections.spawn(async move {
                            work.await;
                            counts.open.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                };
                tokio::select! {
                    () = accepting => {}
                    () = stop.cancelled() => {}
                }
            }
        });
        Self { address, counts, _stop: stop.drop_guard() }
    }

    /// Connections ever accepted.
    pub(crate) fn accepted(&self) -> usize {
        self.counts.accepted.load(Ordering::SeqCst)
    }

    /// Waits until so many connections are open.
    pub(crate) async fn until_open(&self, count: usize) {
        until(&format!("{count} connections to the server"), async || {
            self.counts.open.load(Ordering::SeqCst) == count
        })
        .await;
    }
}
