//! Clients before the gateway.

use super::soon;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::error::Error;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A response that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Answer {
    pub(crate) async fn read(response: Response<Incoming>) -> Result<Self, hyper::Error> {
        let (head, body) = response.into_parts();
        let body = body.collect().await?;
        let trailers = body.trailers().cloned();
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Ok(Self { status: head.status, headers: head.headers, body, trailers })
    }
}

/// A connection to the gateway.
pub(crate) enum Client<B> {
    Http1(http1::SendRequest<B>),
    Http2(http2::SendRequest<B>),
}

impl<B> Client<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    pub(crate) async fn http1(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the gateway listens");
        let (link, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection.with_upgrades());
        Self::Http1(link)
    }

    pub(crate) async fn http2(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the gateway listens");
        let io = TokioIo::new(stream);
        let (link, connection) = http2::handshake(TokioExecutor::new(), io).await.expect("a handshake");
        tokio::spawn(connection);
        Self::Http2(link)
    }

    /// Sends `request`, and reads the head of the response.
    pub(crate) async fn head(&mut self, request: Request<B>) -> Result<Response<Incoming>, hyper::Error> {
        match self {
            Self::Http1(link) => {
                link.ready().await?;
                link.send_request(request).await
            }
            Self::Http2(link) => link.send_request(request).await,
        }
    }

    /// Sends `request`, and reads the whole response.
    pub(crate) async fn ask(&mut self, request: Request<B>) -> Answer {
        soon("a response", async { Answer::read(self.head(request).await?).await }).await.expect("a response")
    }
}

/// One request on a connection of its own.
pub(crate) async fn ask(address: SocketAddr, request: http::request::Builder, body: &str) -> Answer {
    let mut client = Client::http1(address).await;
    let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).expect("a request");
    client.ask(request).await
}

pub(crate) fn exchange(method: Method, path: &str) -> http::request::Builder {
    Request::builder().method(method).uri(path).header("host", "any.example")
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, exchange(Method::GET, path), "").await
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &str) -> Answer {
    ask(address, exchange(Method::POST, path), body).await
}

/// Sends `bytes` as they are, and reads until the gateway closes.
pub(crate) async fn raw(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(address).await.expect("the gateway listens");
    // The gateway may answer and close before it has read everything.
    let _ = stream.write_all(bytes.as_ref()).await;
    let mut answer = Vec::new();
    soon("the connection to be closed", stream.read_to_end(&mut answer)).await.expect("no reset");
    String::from_utf8_lossy(&answer).into_owned()
}
