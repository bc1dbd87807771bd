//! HTTP/2, before and behind the gateway.

use crate::harness::{Client, Place, Proxy, Server, get, group, soon, text, to, until};
use bytes::Bytes;
use gateway::serve::Drained;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

fn ask(path: &str) -> Request<Empty<Bytes>> {
    let uri = format!("http://any.example{path}");
    Request::builder().uri(uri).version(Version::HTTP_2).body(Empty::new()).expect("a request")
}

/// A server that speaks HTTP/2 and tells what it was asked; trailers come back.
async fn telling() -> Server {
    Server::http2(|request: Request<Incoming>| async {
        let told = format!("{} {} {:?}", request.method(), request.uri(), request.headers().get("host"));
        let body = request.into_body().collect().await.expect("whole");
        let trailers = body.trailers().cloned().unwrap_or_default();
        let pieces = [Ok(Frame::data(Bytes::from(told))), Ok(Frame::trailers(trailers))];
        Response::new(StreamBody::new(tokio_stream::iter(pieces)).boxed_unsync())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_protocols_are_served_on_one_address() {
    let server = Server::http1(|request: Request<Incoming>| async move {
        let header = |name| request.headers().get(name).map_or("-", |value| value.to_str().expect("text"));
        text(format!("{:?} {} {} {}", request.version(), header("host"), header("via"), header("cookie")))
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    let mut client = Client::http2(proxy.address).await;
    let mut request = ask("/");
    request.headers_mut().append("cookie", HeaderValue::from_static("a=1"));
    request.headers_mut().append("cookie", HeaderValue::from_static("b=2"));
    let answer = client.ask(request).await;
    assert_eq!(answer.body, "HTTP/1.1 any.example 2 gateway a=1; b=2");
    assert_eq!(get(proxy.address, "/").await.body, "HTTP/1.1 any.example 1.1 gateway -");
    drop(client);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_streams_share_one_connection_each_side() {
    let server = telling().await;
    let config = group(&[&server], "protocol = \"http2\"") + "[[route]]\nupstream = \"g\"";
    let proxy = Proxy::start("", &config);
    let Client::Http2(link) = Client::http2(proxy.address).await else { unreachable!("asked for HTTP/2") };
    let all = (0..100).map(|index| {
        let mut client = Client::Http2(link.clone());
        tokio::spawn(async move { (index, client.ask(ask(&format!("/{index}"))).await.body) })
    });
    for one in all.collect::<Vec<_>>() {
        let (index, body) = soon("a response", one).await.expect("no panic");
        assert_eq!(body, format!("GET http://any.example/{index} None"));
    }
    assert_eq!(server.accepted(), 1);
    drop(link);
    proxy.stop().await;
    server.until_open(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_pass_over_http2() {
    let server = telling().await;
    let config = group(&[&server], "protocol = \"http2\"") + "[[route]]\nupstream = \"g\"";
    let proxy = Proxy::start("", &config);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let pieces = [Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"x"))), Ok(Frame::trailers(trailers))];
    let request = Request::builder().method(Method::POST).uri("http://any.example/").header("te", "trailers");
    let mut client = Client::http2(proxy.address).await;
    let answer =
        client.ask(request.body(StreamBody::new(tokio_stream::iter(pieces))).expect("a request")).await;
    assert_eq!(answer.trailers.expect("trailers")["grpc-status"], "0");
    drop(client);
    proxy.stop().await;
}

/// Answers with `body`, over HTTP/2.
async fn serving(stream: TcpStream, body: &'static str) {
    let service = service_fn(move |_| async move { Ok::<_, Infallible>(text(body)) });
    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_http1_client_reaches_an_http2_server_that_comes_and_goes() {
    let place = Place::reserve();
    let server = Server::raw_at(place.address, |stream| serving(stream, "first")).await;
    let config =
        group(&[&place], "protocol = \"http2\"\nretry_after = \"20ms\"") + "[[route]]\nupstream = \"g\"";
    let proxy = Proxy::start("", &config);
    assert_eq!(get(proxy.address, "/").await.body, "first");
    drop(server);
    until("the gateway to notice", async || get(proxy.address, "/").await.status == StatusCode::BAD_GATEWAY)
        .await;
    let _back = Server::raw_at(place.address, |stream| serving(stream, "second")).await;
    until("the server to be found again", async || get(proxy.address, "/").await.body == "second").await;
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_stream_leaves_the_others_alone() {
    let release = Arc::new(Notify::new());
    let server = Server::http1({
        let release = Arc::clone(&release);
        move |request: Request<Incoming>| {
            let release = Arc::clone(&release);
            async move {
                if request.uri().path() == "/held" {
                    release.notified().await;
                }
                text("released")
            }
        }
    })
    .await;
    let proxy = Proxy::to(&[&server], "max_body = \"1 KiB\"");
    let Client::Http2(link) = Client::http2(proxy.address).await else { unreachable!("asked for HTTP/2") };
    let request = |path: &str, length| {
        let request = Request::builder().method(Method::POST).uri(format!("http://any.example{path}"));
        let request = request.body(Full::new(Bytes::from(vec![b'x'; length]))).expect("a request");
        let mut client = Client::Http2(link.clone());
        tokio::spawn(async move { client.ask(request).await })
    };
    let held = request("/held", 10);
    proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 1.0).await;
    assert_eq!(request("/", 100_000).await.expect("no panic").status, StatusCode::PAYLOAD_TOO_LARGE);
    release.notify_one();
    assert_eq!(soon("the held one", held).await.expect("no panic").body, "released");
    drop(link);
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_without_a_request_is_closed() {
    let server = Server::named("a").await;
    let proxy = Proxy::start("idle_timeout = \"50ms\"", &to(&[&server], ""));
    let mut stream = TcpStream::connect(proxy.address).await.expect("it listens");
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("sent");
    let mut frames = Vec::new();
    let pong = b"\0\0\x08\x06\x01\0\0\0\0";
    soon("it to be closed", async {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            frames.extend_from_slice(&buffer[..count]);
            // Closing in good order begins with a ping that wants its answer.
            if let Some(at) = frames.windows(5).position(|head| head == b"\0\0\x08\x06\0")
                && let Some(data) = frames.get(at + 9..at + 17)
            {
                let _ = stream.write_all(&[&pong[..], data].concat()).await;
                frames.truncate(at);
            }
        }
    })
    .await;
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_finishes_the_streams_under_way() {
    let server = Server::http1(|_: Request<Incoming>| async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        text("finished")
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    let mut client = Client::http2(proxy.address).await;
    let under_way = tokio::spawn(async move { client.ask(ask("/")).await });
    proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 1.0).await;
    assert_eq!(proxy.stop().await, Drained::Clean);
    assert_eq!(soon("the response", under_way).await.expect("no panic").body, "finished");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_stops_reading_is_cut_off() {
    let server = Server::http1(|_: Request<Incoming>| async { text(vec![b'x'; 8 << 20]) }).await;
    let proxy = Proxy::to(&[&server], "total_timeout = \"1s\"\nmax_concurrency = 1");
    let mut client = Client::http2(proxy.address).await;
    let response = client.head(ask("/")).await.expect("a head");
    assert_eq!(response.status(), StatusCode::OK);
    proxy.until_metric("gateway_requests_in_flight{route=\"r\"}", 0.0).await;
    server.until_open(0).await;
    let end = soon("the end", response.into_body().collect()).await;
    assert!(end.is_err(), "taken for whole with {} bytes", end.map_or(0, |body| body.to_bytes().len()));
    proxy.stop().await;
}
