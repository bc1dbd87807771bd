//! Each refusal has its status, and says what is the matter.

use crate::harness::{Answer, Client, Place, Proxy, Server, exchange, get, group, post, raw, soon, text, to};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// A gateway before a server that is always well.
async fn fine(listener: &str, route: &str) -> (Proxy, Server) {
    let server = Server::named("a").await;
    let proxy = Proxy::start(listener, &to(&[&server], route));
    (proxy, server)
}

/// A server that reads, and says nothing.
async fn silent() -> Server {
    Server::raw(
        |mut stream| async move { while stream.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {} },
    )
    .await
}

async fn status(address: SocketAddr, request: &str) -> u16 {
    let answer = raw(address, request).await;
    let code = answer.split(' ').nth(1).unwrap_or_else(|| panic!("no status for {request:?}: {answer:?}"));
    code.parse().expect("a status")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_request_is_400() {
    let (proxy, server) = fine("", "").await;
    for request in [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nbroken header\r\n\r\n",
        "GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n",
        "GET /a/../b HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nnot a chunk\r\n",
    ] {
        assert_eq!(status(proxy.address, request).await, 400, "{request:?}");
    }
    proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 0.0).await;
    assert!(server.accepted() <= 1, "only the body that turned out to be broken got as far as the server");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_is_too_large_is_431() {
    let (proxy, _server) = fine("", "").await;
    let request = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(100 << 10));
    assert_eq!(status(proxy.address, &request).await, 431);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn methods_that_stop_here() {
    let (proxy, server) = fine("", "").await;
    let connect = "CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\nconnection: close\r\n\r\n";
    assert_eq!(status(proxy.address, connect).await, 501);
    let trace = "TRACE / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    assert_eq!(status(proxy.address, trace).await, 405);
    let options = "OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    assert!(raw(proxy.address, options).await.ends_with("a *"));
    assert_eq!(server.accepted(), 1);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_comes_too_slowly_is_408() {
    let (proxy, _server) = fine("header_timeout = \"500ms\"", "").await;
    for request in ["G", "PRI * HT", "GET / HTTP/1.1\r\nhost: a\r\nx-slow: "] {
        let answer = raw(proxy.address, request).await;
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{request:?}: {answer}");
    }
    assert_eq!(raw(proxy.address, "").await, "", "who says nothing is let go without a word");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_stops_coming_is_408() {
    let server = Server::echo().await;
    let proxy = Proxy::start("body_timeout = \"50ms\"", &to(&[&server], ""));
    let request = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf";
    // The echo may have begun by then: either the status or a response that breaks off.
    let answer = raw(proxy.address, request).await;
    assert!(answer.starts_with("HTTP/1.1 408") || !answer.contains("\r\n0\r\n\r\n"), "{answer}");
    server.until_open(0).await;

    let silent = silent().await;
    let proxy = Proxy::start("body_timeout = \"50ms\"", &to(&[&silent], ""));
    let answer = raw(proxy.address, request).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.ends_with("no more of the request body came for 50ms\n"), "{answer}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_says_it_is_too_large_is_413_at_once() {
    let (proxy, server) = fine("", "max_body = \"10 B\"").await;
    let answer = post(proxy.address, "/", "eleven bytes").await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(
        answer.body,
        "413 Payload Too Large: the request body is larger than the 10 bytes that route \"r\" takes\n"
    );
    assert_eq!(answer.headers["connection"], "close");
    assert_eq!(server.accepted(), 0);
    assert_eq!(post(proxy.address, "/", "ten bytes.").await.status, StatusCode::OK);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_turns_out_too_large_is_413_and_reaches_a_client_that_still_sends() {
    let silent =
        Server::raw(
            |mut stream| async move { while stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {} },
        )
        .await;
    let proxy = Proxy::to(&[&silent], "max_body = \"10 B\"");
    let chunks = "400\r\n".to_owned() + &"x".repeat(1024) + "\r\n";
    let request =
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n".to_owned() + &chunks.repeat(500);
    let answer = raw(proxy.address, request).await;
    assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{answer}");
    silent.until_open(0).await;
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_at_its_limit_is_503_and_says_so() {
    let release = Arc::new(Notify::new());
    let server = Server::http1({
        let release = Arc::clone(&release);
        move |_: Request<Incoming>| {
            let release = Arc::clone(&release);
            async move {
                release.notified().await;
                text("released")
            }
        }
    })
    .await;
    let proxy = Proxy::to(&[&server], "max_concurrency = 2");
    let held = [(); 2].map(|()| {
        tokio::spawn({
            let address = proxy.address;
            async move { get(address, "/").await.body }
        })
    });
    proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 2.0).await;
    let answer = get(proxy.address, "/").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(
        answer.body,
        "503 Service Unavailable: route \"r\" already serves its limit of 2 requests; try again shortly\n"
    );
    for held in held {
        release.notify_one();
        release.notify_one();
        assert_eq!(soon("a held request", held).await.expect("no panic"), "released");
    }
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_speak_http_is_502() {
    let server = Server::raw(|mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"220 smtp.example ESMTP\r\n").await;
        let _ = stream.read(&mut [0; 1024]).await;
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    assert_eq!(get(proxy.address, "/").await.status, StatusCode::BAD_GATEWAY);
    server.until_open(0).await;
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_gives_no_response_is_504() {
    let server = Server::http1(|_: Request<Incoming>| std::future::pending()).await;
    for (limits, body) in [
        ("header_timeout = \"50ms\"", "the server of route \"r\" gave no response in 50ms"),
        ("total_timeout = \"50ms\"", "route \"r\" did not finish in its time"),
    ] {
        let proxy = Proxy::to(&[&server], limits);
        let answer = get(proxy.address, "/").await;
        assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(answer.body, format!("504 Gateway Timeout: {body}\n"));
        server.until_open(0).await;
        proxy.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_connected_to_in_time_is_504() {
    // Nobody accepts, and the queue for that is full: the kernel drops what would be one too many.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().expect("an address").into()).expect("a port");
    socket.listen(0).expect("it listens");
    let address = socket.local_addr().expect("an address").as_socket().expect("an address");
    let mut fill = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(50), TcpStream::connect(address)).await
    {
        fill.push(stream);
    }
    let config = group(&[&address], "connect_timeout = \"50ms\"") + "[[route]]\nupstream = \"g\"";
    let proxy = Proxy::start("", &config);
    let answer = get(proxy.address, "/").await;
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(answer.body, "504 Gateway Timeout: no server of route \"/\" could be connected to in time\n");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_that_leads_back_to_the_gateway_is_508() {
    // A gateway that has itself as its server.
    let port = Place::reserve();
    let proxy = Proxy::with(&format!(
        "[[listener]]\naddress = \"{port}\"\n[[upstream]]\nname = \"g\"\nmembers = [\"{port}\"]\n[[route]]\nupstream = \"g\"\n"
    ));
    assert_eq!(get(proxy.address, "/").await.status, StatusCode::LOOP_DETECTED);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_body_that_was_small_does_not_disturb_the_next_connection() {
    let (proxy, _server) = fine("", "host = \"only.example\"").await;
    for _ in 0..20 {
        let mut client = Client::http1(proxy.address).await;
        let request =
            exchange(Method::POST, "/").body(Full::new(Bytes::from_static(b"a body"))).expect("a request");
        let response = client.head(request).await.expect("a response");
        assert_eq!(Answer::read(response).await.expect("whole").status, StatusCode::NOT_FOUND);
    }
    proxy.stop().await;
}
