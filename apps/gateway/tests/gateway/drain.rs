//! SIGTERM and SIGINT.

use crate::harness::{Process, Server, soon, text, to, until};
use http::Request;
use hyper::body::Incoming;
use rustix::process::Signal;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

/// A server that answers when told to, and tells when it was asked.
async fn held() -> (Server, Arc<Semaphore>, Arc<Notify>) {
    let (asked, release) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let server = Server::http1({
        let (asked, release) = (Arc::clone(&asked), Arc::clone(&release));
        move |_: Request<Incoming>| {
            let (asked, release) = (Arc::clone(&asked), Arc::clone(&release));
            async move {
                asked.add_permits(1);
                release.notified().await;
                text("finished")
            }
        }
    })
    .await;
    (server, asked, release)
}

async fn process(server: &Server, drain_timeout: &str) -> Process {
    let config = format!(
        "[server]\ndrain_timeout = \"{drain_timeout}\"\n[[listener]]\naddress = \"127.0.0.1:0\"\n{}",
        to(&[server], "")
    );
    Process::start(&config, None).await
}

/// A client whose request has reached the server.
async fn under_way(process: &Process, asked: &Semaphore) -> TcpStream {
    let mut client = TcpStream::connect(process.address).await.expect("it listens");
    client.write_all(GET).await.expect("sent");
    soon("the server to be asked", asked.acquire()).await.expect("not closed").forget();
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_is_finished_and_nothing_new_is_taken() {
    for signal in [Signal::TERM, Signal::INT] {
        let (server, asked, release) = held().await;
        let process = process(&server, "10s").await;
        let idle = TcpStream::connect(process.address).await.expect("it listens");
        let mut client = under_way(&process, &asked).await;
        process.signal(signal);
        until("nobody to be taken in", async || TcpStream::connect(process.address).await.is_err()).await;
        release.notify_one();
        let mut answer = String::new();
        soon("the response", client.read_to_string(&mut answer)).await.expect("no reset");
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("finished"), "{answer}");
        assert_eq!(process.exit_code().await, Some(0));
        drop(idle);
        server.until_open(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_finish_in_time_is_cut_and_the_exit_code_says_so() {
    let (server, asked, _release) = held().await;
    let process = process(&server, "100ms").await;
    let mut client = under_way(&process, &asked).await;
    process.signal(Signal::TERM);
    assert_eq!(process.exit_code().await, Some(3));
    assert_eq!(client.read(&mut [0; 16]).await.unwrap_or(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_cuts_at_once() {
    let (server, asked, _release) = held().await;
    let process = process(&server, "1h").await;
    let _client = under_way(&process, &asked).await;
    process.signal(Signal::TERM);
    until("the first to be heard", async || TcpStream::connect(process.address).await.is_err()).await;
    process.signal(Signal::TERM);
    assert_eq!(process.exit_code().await, Some(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_clients_do_not_hold_it_up() {
    let server = Server::named("a").await;
    let process = process(&server, "1h").await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        let mut client = TcpStream::connect(process.address).await.expect("it listens");
        client.write_all(GET).await.expect("sent");
        assert!(soon("a response", client.read(&mut [0; 1024])).await.expect("no reset") > 0);
        idle.push(client);
    }
    process.signal(Signal::TERM);
    assert_eq!(process.exit_code().await, Some(0));
    for mut client in idle {
        assert_eq!(client.read(&mut [0; 16]).await.expect("closed in good order"), 0);
    }
}
