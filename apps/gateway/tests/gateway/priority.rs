//! Routes of high priority.

use crate::harness::{Client, Proxy, Server, exchange, group, soon, until};
use bytes::Bytes;
use gateway::config::Config;
use gateway::serve::{Drained, Gateway};
use http::{Method, Request, StatusCode, Version};
use http_body_util::Full;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// A route of high priority beside one of normal priority, to the same servers.
fn two_routes(server: &Server, keys: &str) -> String {
    group(&[server], keys)
        + "[[route]]\nname = \"normal\"\nupstream = \"g\"\n\
           [[route]]\nname = \"high\"\nupstream = \"g\"\npath = \"/high\"\npriority = \"high\"\n"
}

fn request(version: Version, path: &str, body: &str) -> Request<Full<Bytes>> {
    let path = match version {
        Version::HTTP_2 => format!("http://any.example{path}"),
        _ => path.to_owned(),
    };
    let request = exchange(Method::POST, &path).version(version);
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).expect("a request")
}

/// The path of the request with this number: the priority changes now and then, and sometimes each time.
fn path(number: usize) -> &'static str {
    if number.is_multiple_of(3) || number % 8 > 4 { "/high/x" } else { "/x" }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_may_ask_for_one_priority_after_the_other() {
    let server = Server::echo().await;
    let proxy = Proxy::start("", &two_routes(&server, ""));
    let mut client = Client::http1(proxy.address).await;
    for number in 0..60 {
        let body = format!("{number} ").repeat(1 + number * 50);
        let answer = client.ask(request(Version::HTTP_11, path(number), &body)).await;
        assert_eq!((answer.status, answer.body), (StatusCode::OK, body));
    }
    let high = (0..60).filter(|number| path(*number) == "/high/x").count();
    assert_eq!(proxy.metric("gateway_requests_total{route=\"high\",status=\"200\"}").await, high as f64);
    drop(client);
    assert_eq!(proxy.stop().await, Drained::Clean);
    server.until_open(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_one_connection_may_have_different_priorities() {
    let server = Server::http2(|request| async move {
        use http_body_util::BodyExt;
        http::Response::new(request.into_body().boxed_unsync())
    })
    .await;
    let proxy = Proxy::start("", &two_routes(&server, "protocol = \"http2\""));
    let Client::Http2(link) = Client::http2(proxy.address).await else { unreachable!("asked for HTTP/2") };
    // All bodies together fit into the connection's first window. Where they do not, they are cut up small among so many streams, which
    // h2 takes for a flood, and closes the connection (`too_many_data_frames`).
    let all = (0..100).map(|number| {
        let mut client = Client::Http2(link.clone());
        tokio::spawn(async move {
            let body = format!("{number} ").repeat(100);
            let answer = client.ask(request(Version::HTTP_2, path(number), &body)).await;
            assert_eq!((answer.status, answer.body), (StatusCode::OK, body));
        })
    });
    for one in all.collect::<Vec<_>>() {
        soon("a response", one).await.expect("no panic");
    }
    drop(link);
    assert_eq!(proxy.stop().await, Drained::Clean);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_and_a_client_that_leaves_end_a_connection_of_high_priority() {
    let server = Server::echo().await;
    let proxy = Proxy::start("", &two_routes(&server, ""));
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let mut clients = Vec::new();
        for _ in 0..2 {
            let mut client = match version {
                Version::HTTP_2 => Client::http2(proxy.address).await,
                _ => Client::http1(proxy.address).await,
            };
            assert_eq!(client.ask(request(version, "/high", "a")).await.body, "a");
            clients.push(client);
        }
        let open = format!("gateway_connections{{listener=\"{}\"}}", proxy.address);
        // The one that asks is counted, too.
        until("both to be counted", async || proxy.metric(&open).await >= 3.0).await;
        drop(clients);
        proxy.until_metric(&open, 1.0).await;
    }
    let mut idle = Client::http1(proxy.address).await;
    assert_eq!(idle.ask(request(Version::HTTP_11, "/high", "a")).await.body, "a");
    assert_eq!(proxy.stop().await, Drained::Clean);
}

/// A runtime with one worker, whose tasks always have something to do: `busy` of them, a millisecond each.
fn busy_runtime(busy: usize) -> Runtime {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_spare_workers(0)
        .event_interval(1)
        .enable_all()
        .build()
        .expect("a runtime");
    for _ in 0..busy {
        runtime.spawn(async {
            loop {
                let start = Instant::now();
                while start.elapsed() < Duration::from_millis(1) {
                    std::hint::spin_loop();
                }
                tokio::task::yield_now().await;
            }
        });
    }
    runtime
}

/// The median of how long `path` takes on a connection that asks for nothing else.
async fn median(address: SocketAddr, path: &str) -> Duration {
    let mut client = Client::http1(address).await;
    let mut times = Vec::new();
    for _ in 0..7 {
        let start = Instant::now();
        assert_eq!(client.ask(request(Version::HTTP_11, path, "a")).await.body, "a");
        times.push(start.elapsed());
    }
    times.sort();
    times[3]
}

/// The gateway shares its runtime with tasks that keep it busy; the servers and the client have another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_of_high_priority_does_not_wait_behind_what_keeps_the_runtime_busy() {
    let (for_normal, for_high) = (Server::echo().await, Server::echo().await);
    let text = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\n\
         [[upstream]]\nname = \"normal\"\nmembers = [\"{for_normal}\"]\n[[route]]\nupstream = \"normal\"\n\
         [[upstream]]\nname = \"high\"\nmembers = [\"{for_high}\"]\n\
         [[route]]\nupstream = \"high\"\npath = \"/high\"\npriority = \"high\"\n"
    );
    let config = Config::parse(&text, "test.toml").expect("valid");
    let runtime = busy_runtime(40);
    let gateway = {
        let _inside = runtime.enter();
        Gateway::bind(&config).expect("a free port")
    };
    let address = gateway.addresses()[0];
    runtime.spawn(gateway.run(std::future::pending(), std::future::pending()));
    let (high, normal) = (median(address, "/high").await, median(address, "/").await);
    // Each time a task of the normal route is woken it waits for the forty to have had their turn.
    assert!(normal > 4 * high, "high {high:?}, normal {normal:?}");
    runtime.shutdown_background();
}
