//! Whom the gateway asks, and over which connection.

use crate::harness::{Client, Place, Proxy, Server, exchange, get, group, until};
use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::Empty;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn route(group: String) -> String {
    group + "[[route]]\nupstream = \"g\"\n"
}

async fn counts(proxy: &Proxy, requests: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..requests {
        let answer = get(proxy.address, "/").await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        *counts.entry(answer.body.split(' ').next().expect("a name").to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_are_asked_in_turn() {
    let (a, b, c) = (Server::named("a").await, Server::named("b").await, Server::named("c").await);
    let proxy = Proxy::to(&[&a, &b, &c], "");
    let expected = ["a", "b", "c"].map(|name| (name.to_owned(), 10));
    assert_eq!(counts(&proxy, 30).await, BTreeMap::from(expected));
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_serves_one_exchange_after_the_other() {
    let server = Server::named("a").await;
    let proxy = Proxy::to(&[&server], "");
    let mut client = Client::<Empty<Bytes>>::http1(proxy.address).await;
    for _ in 0..50 {
        let request = exchange(Method::GET, "/").body(Empty::new()).expect("a request");
        assert_eq!(client.ask(request).await.body, "a /");
    }
    assert_eq!(server.accepted(), 1);
    drop(client);
    assert_eq!(proxy.metric("gateway_member_connections_idle{upstream=\"g\",member=\"").await, 0.0);
    proxy.stop().await;
    server.until_open(0).await;
}

async fn answering_b(mut stream: TcpStream) {
    let mut request = [0; 1024];
    while stream.read(&mut request).await.is_ok_and(|count| count > 0) {
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nb / ").await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_is_passed_over_and_found_again() {
    let (a, place) = (Server::named("a").await, Place::reserve());
    let b = Server::raw_at(place.address, answering_b).await;
    let proxy = Proxy::start("", &route(group(&[&a, &place], "retry_after = \"50ms\"")));
    assert_eq!(counts(&proxy, 4).await.len(), 2);
    drop(b);
    let member = format!("{{upstream=\"g\",member=\"{place}\"}}");
    proxy.until_metric(&format!("gateway_member_connections{member}"), 0.0).await;
    // Not one request fails: none was sent to the server that is gone.
    assert_eq!(counts(&proxy, 20).await, BTreeMap::from([("a".to_owned(), 20)]));
    let up = format!("gateway_member_up{member}");
    assert_eq!(proxy.metric(&up).await, 0.0);

    let _b = Server::raw_at(place.address, answering_b).await;
    until("the server to be found again", async || counts(&proxy, 2).await.len() == 2).await;
    assert_eq!(proxy.metric(&up).await, 1.0);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn if_no_member_is_there_the_answer_is_502_until_one_is() {
    let (first, second) = (Place::reserve(), Place::reserve());
    let proxy = Proxy::start("", &route(group(&[&first, &second], "retry_after = \"1h\"")));
    for _ in 0..3 {
        let answer = get(proxy.address, "/").await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
        assert_eq!(answer.body, "502 Bad Gateway: no server of route \"/\" can be reached\n");
    }
    let _back = Server::raw_at(second.address, |mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
        let _ = stream.read(&mut [0; 1024]).await;
    })
    .await;
    assert_eq!(
        get(proxy.address, "/").await.status,
        StatusCode::NO_CONTENT,
        "all are left out, so all are tried"
    );
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_died_unused_costs_no_request() {
    // Closes after each response without having said so.
    let server = Server::raw(|mut stream| async move {
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    for _ in 0..20 {
        assert_eq!(get(proxy.address, "/").await.status, StatusCode::OK);
        server.until_open(0).await;
    }
    assert_eq!(server.accepted(), 20);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unused_connection_is_closed_after_a_while() {
    let server = Server::named("a").await;
    let proxy = Proxy::start("", &route(group(&[&server], "idle_timeout = \"30ms\"")));
    for round in 1..=2 {
        assert_eq!(get(proxy.address, "/").await.status, StatusCode::OK);
        server.until_open(0).await;
        assert_eq!(server.accepted(), round);
    }
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_was_sent_is_never_sent_again() {
    // Takes the request and closes.
    let broken = Server::raw(|mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
    })
    .await;
    let good = Server::named("good").await;
    let proxy = Proxy::to(&[&broken, &good], "");
    let answer = get(proxy.address, "/").await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(answer.body, "502 Bad Gateway: a server of route \"r\" gave no valid response\n");
    assert_eq!((broken.accepted(), good.accepted()), (1, 0));
    assert_eq!(get(proxy.address, "/").await.body, "good /");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_may_have_a_name() {
    let server = Server::named("a").await;
    let member = format!("localhost:{}", server.address.port());
    let proxy = Proxy::start("", &route(group(&[&member], "connect_timeout = \"5s\"")));
    assert_eq!(get(proxy.address, "/").await.body, "a /");
    tokio::time::sleep(Duration::ZERO).await;
    proxy.stop().await;
}
