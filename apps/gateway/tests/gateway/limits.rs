//! Clients that take their time, and as much as they can get.

use crate::harness::{Proxy, Server, get, group, raw, soon, text, to, until};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// A server whose responses never end.
async fn endless() -> Server {
    Server::http1(|_: Request<Incoming>| async {
        let chunk = || Some(Ok::<_, hyper::Error>(Frame::data(Bytes::from_static(&[b'x'; 16 << 10]))));
        Response::new(StreamBody::new(Endless(chunk)).boxed_unsync())
    })
    .await
}

/// A stream of what a function makes.
struct Endless<F>(F);

impl<T, F: FnMut() -> Option<T> + Unpin> tokio_stream::Stream for Endless<F> {
    type Item = T;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<T>> {
        std::task::Poll::Ready((self.0)())
    }
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_stops_reading_is_cut_off() {
    let server = endless().await;
    let proxy = Proxy::to(&[&server], "total_timeout = \"1s\"\nmax_concurrency = 1");
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(GET).await.expect("sent");
    proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 1.0).await;
    let busy = get(proxy.address, "/");
    assert_eq!(busy.await.status, StatusCode::SERVICE_UNAVAILABLE, "the slot is taken");
    server.until_open(0).await;
    proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 0.0).await;
    let stuck = format!("gateway_connection_errors_total{{listener=\"{}\",reason=\"stuck\"}}", proxy.address);
    assert_eq!(proxy.metric(&stuck).await, 1.0);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_takes_too_long_is_broken_off_and_not_taken_for_whole() {
    let server = Server::http1(|_: Request<Incoming>| async {
        let first = std::sync::atomic::AtomicBool::new(true);
        let next = move || first.swap(false, std::sync::atomic::Ordering::Relaxed);
        Response::new(StreamBody::new(Drip(next)).boxed_unsync())
    })
    .await;
    let proxy = Proxy::to(&[&server], "total_timeout = \"1s\"");
    let answer = raw(proxy.address, GET).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("drop") && !answer.ends_with("0\r\n\r\n"), "{answer}");
    server.until_open(0).await;
    proxy.stop().await;
}

/// A stream of one piece that never ends.
struct Drip<F>(F);

impl<F: FnMut() -> bool + Unpin> tokio_stream::Stream for Drip<F> {
    type Item = Result<Frame<Bytes>, hyper::Error>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        if (self.0)() {
            std::task::Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"drop")))))
        } else {
            std::task::Poll::Pending
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_too_many_waits_its_turn() {
    let server = Server::named("a").await;
    let config = format!(
        "[server]\nmax_connections = 1\n[[listener]]\naddress = \"127.0.0.1:0\"\n{}",
        to(&[&server], "")
    );
    let proxy = Proxy::with(&config);
    let mut first = TcpStream::connect(proxy.address).await.expect("it listens");
    first.write_all(GET).await.expect("sent");
    let mut answer = [0; 1024];
    assert!(soon("a response", first.read(&mut answer)).await.expect("no reset") > 0);

    let mut second = TcpStream::connect(proxy.address).await.expect("the backlog takes it");
    second.write_all(GET).await.expect("sent");
    let waited = timeout(Duration::from_millis(100), second.read(&mut answer)).await;
    assert!(waited.is_err(), "served although there was no room");
    drop(first);
    assert!(soon("its turn", second.read(&mut answer)).await.expect("no reset") > 0);
    drop(second);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_client_is_let_go() {
    let server = Server::named("a").await;
    let proxy = Proxy::start("header_timeout = \"500ms\"", &to(&[&server], ""));
    let start = Instant::now();
    let answer = raw(proxy.address, GET).await;
    assert!(answer.ends_with("a /"), "closed without another word: {answer}");
    assert!(start.elapsed() >= Duration::from_millis(500));
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_for_a_response_does_not_run_while_the_client_sends() {
    let server = Server::http1(|request: Request<Incoming>| async {
        let body = request.into_body().collect().await.expect("whole").to_bytes();
        text(format!("{} bytes", body.len()))
    })
    .await;
    let proxy = Proxy::to(&[&server], "header_timeout = \"600ms\"");
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    let head = b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 6\r\n\r\n";
    client.write_all(head).await.expect("sent");
    for byte in b"slowly" {
        tokio::time::sleep(Duration::from_millis(150)).await;
        client.write_all(&[*byte]).await.expect("sent");
    }
    let mut answer = String::new();
    soon("a response", client.read_to_string(&mut answer)).await.expect("no reset");
    assert!(answer.ends_with("6 bytes"), "{answer}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_so_many_unused_connections_are_kept() {
    let server = Server::http1(|_: Request<Incoming>| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        text("ok")
    })
    .await;
    let proxy = Proxy::start("", &(group(&[&server], "max_idle = 2") + "[[route]]\nupstream = \"g\""));
    let all = (0..8).map(|_| {
        let address = proxy.address;
        tokio::spawn(async move { assert_eq!(get(address, "/").await.status, StatusCode::OK) })
    });
    for one in all.collect::<Vec<_>>() {
        soon("a response", one).await.expect("no panic");
    }
    server.until_open(2).await;
    until("the figures to say so", async || {
        let idle = format!("gateway_member_connections_idle{{upstream=\"g\",member=\"{server}\"}}");
        proxy.metric(&idle).await == 2.0
    })
    .await;
    proxy.stop().await;
}
