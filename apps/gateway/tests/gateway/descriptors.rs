//! A process with few file descriptors.

use crate::harness::{Process, Server, get, soon, to, until};
use http::StatusCode;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn descriptors_run_out_and_come_back() {
    let server = Server::named("a").await;
    let config = format!("[[listener]]\naddress = \"127.0.0.1:0\"\n{}", to(&[&server], ""));
    let process = Process::start(&config, Some(64)).await;
    assert_eq!(get(process.address, "/").await.status, StatusCode::OK);

    // The kernel takes them all in; the gateway cannot.
    let mut clients = Vec::new();
    for _ in 0..100 {
        clients.push(TcpStream::connect(process.address).await.expect("the backlog takes it"));
    }
    sleep(Duration::from_millis(200)).await;
    let (start, before) = (Instant::now(), process.busy());
    sleep(Duration::from_millis(1000)).await;
    let busy = (process.busy() - before).as_secs_f64() / start.elapsed().as_secs_f64();
    assert!(busy < 0.05, "it used {:.0} % of a core while it could do nothing", busy * 100.0);

    // Those that were taken in are served, as far as it goes: upstream connections need descriptors as well.
    clients[0].write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("sent");
    let mut answer = [0; 1024];
    let count = soon("a response", clients[0].read(&mut answer)).await.expect("no reset");
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 503"), "{answer}");

    drop(clients);
    until("it to serve again", async || get(process.address, "/").await.status == StatusCode::OK).await;
    let page = get(process.address, "/_gateway/metrics").await.body;
    let sample = format!("gateway_accept_errors_total{{listener=\"{}\"}} ", process.address);
    let errors = page.lines().find_map(|line| line.strip_prefix(&sample)).expect("the sample");
    assert!(errors.parse::<u64>().expect("a number") > 0, "descriptors never ran out");
}
