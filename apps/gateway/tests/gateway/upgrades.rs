//! `101 Switching Protocols`, and what comes after it.

use crate::harness::{Proxy, Server, group, raw, soon, text};
use gateway::serve::Drained;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const UPGRADE: &str = "GET /chat HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n";

/// A server that agrees to go on with bytes that it sends back.
async fn agreeing() -> Server {
    Server::http1(|mut request: Request<Incoming>| async move {
        if request.headers().get("upgrade").is_none() {
            return text("no upgrade wanted");
        }
        tokio::spawn(async move {
            let stream = hyper::upgrade::on(&mut request).await.expect("an upgrade");
            let (mut read, mut write) = tokio::io::split(TokioIo::new(stream));
            let _ = tokio::io::copy(&mut read, &mut write).await;
            let _ = write.shutdown().await;
        });
        let mut response = text("");
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().insert("upgrade", "echo".parse().expect("a header"));
        response.headers_mut().insert("connection", "upgrade".parse().expect("a header"));
        response
    })
    .await
}

/// A client in a tunnel.
async fn tunnel(proxy: &Proxy) -> TcpStream {
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(UPGRADE.as_bytes()).await.expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(soon("the head", client.read_u8()).await.expect("a byte"));
    }
    let head = String::from_utf8(head).expect("text");
    assert!(
        head.starts_with("HTTP/1.1 101 Switching Protocols\r\n") && head.contains("upgrade: echo\r\n"),
        "{head}"
    );
    client
}

async fn send_back(client: &mut TcpStream, bytes: &[u8]) {
    client.write_all(bytes).await.expect("sent");
    let mut back = vec![0; bytes.len()];
    soon("the bytes to come back", client.read_exact(&mut back)).await.expect("all of them");
    assert_eq!(back, bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_pass_both_ways_until_the_client_closes() {
    let server = agreeing().await;
    let proxy = Proxy::to(&[&server], "");
    let mut client = tunnel(&proxy).await;
    for round in 0..10_u8 {
        send_back(&mut client, &[round; 1000]).await;
    }
    assert_eq!(proxy.metric("gateway_requests_in_flight{route=\"r\"}").await, 1.0, "it holds its slot");
    client.shutdown().await.expect("closed");
    let mut rest = Vec::new();
    soon("the end", client.read_to_end(&mut rest)).await.expect("no reset");
    assert_eq!(rest, b"");
    proxy.until_metric("gateway_requests_total{route=\"r\",status=\"101\"}", 1.0).await;
    proxy.until_metric("gateway_response_bytes_total{route=\"r\"}", 10_000.0).await;
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_ends_tunnels() {
    let server = agreeing().await;
    let proxy = Proxy::to(&[&server], "");
    let mut client = tunnel(&proxy).await;
    send_back(&mut client, b"hello").await;
    assert_eq!(proxy.stop().await, Drained::Clean);
    assert_eq!(soon("the end", client.read(&mut [0; 16])).await.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_by_upgrade_is_ignored() {
    let server = agreeing().await;
    let proxy = Proxy::to(&[&server], "");
    let request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\n\
                   http2-settings: AAMAAABkAAQAAP__\r\n\r\n";
    let answer = raw(proxy.address, request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("no upgrade wanted"), "{answer}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_tunnelled_is_501() {
    let server = agreeing().await;
    let config = group(&[&server], "protocol = \"http2\"") + "[[route]]\nupstream = \"g\"";
    let proxy = Proxy::start("", &config);
    let answer = raw(proxy.address, UPGRADE.replace("Upgrade\r\n", "Upgrade, close\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 501 Not Implemented"), "{answer}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_nobody_asked_for_is_502() {
    let server = Server::raw(|mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream
            .write_all(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\n")
            .await;
        let _ = stream.read(&mut [0; 1024]).await;
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    let answer = raw(proxy.address, "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway"), "{answer}");
    proxy.stop().await;
}
