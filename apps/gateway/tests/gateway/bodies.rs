//! Bodies on their way, both ways.

use crate::harness::{Answer, Client, Proxy, Server, exchange, get, post, raw, soon, text};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

type Piece = Result<Frame<Bytes>, std::convert::Infallible>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_pass_whole_in_both_directions() {
    let server = Server::echo().await;
    let proxy = Proxy::to(&[&server], "max_body = \"16 MiB\"");
    let body = (0..8_000_000_u32)
        .map(|index| b"0123456789abcdef"[(index % 13) as usize] as char)
        .collect::<String>();
    let answer = post(proxy.address, "/", &body).await;
    assert!(answer.status == StatusCode::OK && answer.body == body);
    proxy.until_metric("gateway_request_bytes_total{route=\"r\"}", 8_000_000.0).await;
    proxy.until_metric("gateway_response_bytes_total{route=\"r\"}", 8_000_000.0).await;
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_stream_piece_by_piece() {
    let server = Server::echo().await;
    let proxy = Proxy::to(&[&server], "");
    let (send, pieces) = mpsc::unbounded_channel::<Piece>();
    let mut client = Client::http1(proxy.address).await;
    let body = StreamBody::new(UnboundedReceiverStream::new(pieces));
    let mut body = client
        .head(exchange(Method::POST, "/").body(body).expect("a request"))
        .await
        .expect("the response begins before the request has ended")
        .into_body();
    for piece in ["one", "two", "three"] {
        send.send(Ok(Frame::data(Bytes::from_static(piece.as_bytes())))).expect("somebody reads");
        let back = soon("the piece to come back", body.frame()).await.expect("a frame").expect("no error");
        assert_eq!(back.into_data().expect("data"), piece);
    }
    drop(send);
    assert!(soon("the end", body.frame()).await.is_none());
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_pass_in_both_directions() {
    // Sends the trailers of the request back as its own.
    let server = Server::http1(|request: Request<Incoming>| async {
        let body = request.into_body().collect().await.expect("whole");
        let trailers = body.trailers().cloned().unwrap_or_default();
        let pieces = [Ok(Frame::data(body.to_bytes())), Ok(Frame::trailers(trailers))];
        let mut response = Response::new(StreamBody::new(tokio_stream::iter(pieces)).boxed_unsync());
        response.headers_mut().insert("trailer", HeaderValue::from_static("x-sum"));
        response
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("42"));
    let pieces: [Piece; 2] = [Ok(Frame::data(Bytes::from_static(b"body"))), Ok(Frame::trailers(trailers))];
    let request = exchange(Method::POST, "/").header("te", "trailers").header("trailer", "x-sum");
    let mut client = Client::http1(proxy.address).await;
    let answer =
        client.ask(request.body(StreamBody::new(tokio_stream::iter(pieces))).expect("a request")).await;
    assert_eq!(answer.body, "body");
    assert_eq!(answer.trailers.expect("trailers")["x-sum"], "42");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_without_a_body_leave_the_connection_usable() {
    let server = Server::http1(|request: Request<Incoming>| async move {
        let status = match request.uri().path() {
            "/204" => StatusCode::NO_CONTENT,
            "/304" => StatusCode::NOT_MODIFIED,
            _ => StatusCode::OK,
        };
        let mut response = if status == StatusCode::OK { text("a body") } else { text("") };
        *response.status_mut() = status;
        response
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    let mut client = Client::http1(proxy.address).await;
    let mut ask = async |method, path| -> Answer {
        client.ask(exchange(method, path).body(Empty::<Bytes>::new()).expect("a request")).await
    };
    for _ in 0..3 {
        let head = ask(Method::HEAD, "/").await;
        assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""));
        assert_eq!(head.headers["content-length"], "6");
        assert_eq!(ask(Method::GET, "/204").await.status, StatusCode::NO_CONTENT);
        assert_eq!(ask(Method::GET, "/304").await.status, StatusCode::NOT_MODIFIED);
        assert_eq!(ask(Method::GET, "/").await.body, "a body");
    }
    assert_eq!(server.accepted(), 1, "nor was a connection to the server lost");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_waits_to_be_asked_for_its_body_is_asked() {
    let server = Server::echo().await;
    let proxy = Proxy::to(&[&server], "max_body = \"10 B\"");
    let head = |length| {
        format!(
            "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let mut client = TcpStream::connect(proxy.address).await.expect("it listens");
    client.write_all(head(4).as_bytes()).await.expect("sent");
    let mut answer = [0; 25];
    soon("to be asked", client.read_exact(&mut answer)).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"body").await.expect("sent");
    let mut answer = String::new();
    soon("a response", client.read_to_string(&mut answer)).await.expect("no reset");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("body"), "{answer}");

    let refused = raw(proxy.address, head(11)).await;
    assert!(refused.starts_with("HTTP/1.1 413"), "not asked for a body that is too large: {refused}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_client_is_served() {
    let server = Server::named("a").await;
    let proxy = Proxy::to(&[&server], "");
    let answer = raw(proxy.address, "GET /x HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 OK") && answer.ends_with("a /x"), "{answer}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_server_is_asked() {
    let server = Server::raw(|mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nuntil the end").await;
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    assert_eq!(get(proxy.address, "/").await.body, "until the end");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_sent_at_once_are_answered_in_order() {
    let server = Server::named("a").await;
    let proxy = Proxy::to(&[&server], "");
    let request = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nhost: a\r\n{more}\r\n");
    let all = request("/1", "") + &request("/2", "") + &request("/3", "connection: close\r\n");
    let answer = raw(proxy.address, all).await;
    let places = ["a /1", "a /2", "a /3"].map(|body| answer.find(body).unwrap_or_else(|| panic!("{answer}")));
    assert!(places.is_sorted(), "{answer}");
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_before_the_end_of_the_request_arrives() {
    // Refuses when it has the head, and only then reads the rest.
    let server = Server::raw(|mut stream| async move {
        let mut buffer = vec![0; 1024];
        let _ = stream.read(&mut buffer).await;
        let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 11\r\n\r\nnot for you").await;
        while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    })
    .await;
    let proxy = Proxy::to(&[&server], "");
    let request = exchange(Method::POST, "/").header("connection", "close");
    let body = Full::new(Bytes::from(vec![b'x'; 4 << 20]));
    let mut client = Client::http1(proxy.address).await;
    let answer = client.ask(request.body(body).expect("a request")).await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::FORBIDDEN, "not for you"));
    proxy.stop().await;
}
