//! Clients and servers that are gone in the middle of something.

use crate::harness::{Proxy, Server, get, raw, soon, text, until};
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server that counts the requests it is at, and answers only whole ones.
async fn counting() -> (Server, Arc<AtomicUsize>) {
    struct At(Arc<AtomicUsize>);
    impl Drop for At {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let at = Arc::new(AtomicUsize::new(0));
    let server = Server::http1({
        let at = Arc::clone(&at);
        move |request: Request<Incoming>| {
            at.fetch_add(1, Ordering::SeqCst);
            let at = At(Arc::clone(&at));
            async move {
                let _at = at;
                match request.uri().path() {
                    "/never" => std::future::pending().await,
                    _ => text(format!(
                        "{} bytes",
                        request.into_body().collect().await.map_or(0, |all| all.to_bytes().len())
                    )),
                }
            }
        }
    })
    .await;
    (server, at)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_vanishes_leaves_nothing_behind() {
    let (server, at) = counting().await;
    let proxy = Proxy::to(&[&server], "max_concurrency = 1");
    for request in [
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\nthe beginning",
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nthe b\r\n",
        "GET /never HTTP/1.1\r\nhost: a\r\n\r\n",
    ] {
        for reset in [false, true] {
            let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
            client.write_all(request.as_bytes()).await.expect("sent");
            until("the server to have the request", async || at.load(Ordering::SeqCst) == 1).await;
            if reset {
                socket2::SockRef::from(&client)
                    .set_linger(Some(std::time::Duration::ZERO))
                    .expect("an option");
            }
            drop(client);
            until("the server to be rid of it", async || at.load(Ordering::SeqCst) == 0).await;
            server.until_open(0).await;
            // And the only slot of the route is free again.
            proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 0.0).await;
            assert_eq!(get(proxy.address, "/").await.status, StatusCode::OK, "{request:?}");
            proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 0.0).await;
            // The link of the last request, so that the next round starts as this one did.
            let idle = format!("gateway_member_connections_idle{{upstream=\"g\",member=\"{server}\"}}");
            assert_eq!(proxy.metric(&idle).await, 1.0);
        }
    }
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_vanishes_breaks_the_response_off() {
    for head in ["content-length: 100\r\n\r\nhalf", "transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"] {
        let server = Server::raw(move |mut stream| async move {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}").as_bytes()).await;
        })
        .await;
        let proxy = Proxy::to(&[&server], "");
        let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("sent");
        let mut answer = Vec::new();
        // Closed or reset, but not ended as if it were whole.
        let _ = soon("the end", client.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.contains("half") && !answer.contains("\r\n0\r\n\r\n"), "{answer}");
        proxy.until_metric("gateway_requests_total{route=\"r\",status=\"200\"}", 1.0).await;
        proxy.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_closes_its_half_is_taken_to_be_gone() {
    let (server, at) = counting().await;
    let proxy = Proxy::to(&[&server], "");
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(b"GET /never HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("sent");
    until("the server to have the request", async || at.load(Ordering::SeqCst) == 1).await;
    client.shutdown().await.expect("closed");
    until("the server to be rid of it", async || at.load(Ordering::SeqCst) == 0).await;
    assert!(raw(proxy.address, "GET / HTTP/1.0\r\n\r\n").await.ends_with("0 bytes"));
    proxy.stop().await;
}
