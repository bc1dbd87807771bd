//! What does an exchange over loopback cost?
//!
//! How the answer could mislead: most of the time is the kernel's, so the ratio is near 1 whatever a runtime does; its own
//! share is the user CPU. Client and server share the workers. With one connection it is a matter of latency, with many of
//! how many events one look at the driver finds.

use std::sync::Arc;

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::io::{AsyncReadExt, AsyncWriteExt};
use rt::net::{TcpListener, TcpStream};

pub(crate) fn cases() -> Vec<Case> {
    let case = |variant, bytes, connections| {
        let what = "an exchange over each loopback connection, again and again";
        Case::new(21, "tcp_echo", what, 1.0, move |setup| prepare(setup, bytes, connections))
            .variant(variant)
            .at(if bytes == 64 { "connections, 64 B" } else { "connections, 64 KiB" }, connections)
            .must_user_cpu(0.8)
    };
    vec![
        case("64 B, 1 connection", 64, 1),
        case("64 B, 64 connections", 64, 64),
        case("64 B, 1024 connections", 64, 1024),
        case("64 KiB, 1 connection", 65_536, 1),
        case("64 KiB, 64 connections", 65_536, 64),
        case("64 KiB, 1024 connections", 65_536, 1024),
    ]
}

fn prepare(setup: &Setup, bytes: usize, connections: u64) -> Round {
    let exchanges = setup.size(8192, 1024, 64).max(connections);
    let laps = exchanges / connections;
    let runtime = start::runtime(setup);
    let message: Arc<[u8]> = vec![7; bytes].into();
    let mut clients = runtime.block_on(connect(connections, bytes));
    Box::new(move || {
        let (message, streams) = (message.clone(), std::mem::take(&mut clients));
        clients = start::on_worker(&runtime, async move {
            let running: Vec<_> = streams
                .into_iter()
                .map(|stream| rt::spawn(exchange(stream, message.clone(), laps)))
                .collect();
            let mut streams = Vec::new();
            for client in running {
                streams.push(client.await.unwrap());
            }
            streams
        });
        Done::ops(laps * connections)
    })
}

/// A client and its buffer, kept from round to round.
struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
}

async fn connect(connections: u64, bytes: usize) -> Vec<Client> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut clients = Vec::new();
    for _ in 0..connections {
        let (stream, accepted) =
            (TcpStream::connect(address).await.unwrap(), listener.accept().await.unwrap().0);
        for end in [&stream, &accepted] {
            end.set_nodelay(true).unwrap();
            // Thousands are opened and closed; none should linger and keep its port.
            end.set_zero_linger().unwrap();
        }
        rt::spawn(echo(accepted, bytes));
        clients.push(Client { stream, answer: vec![0; bytes] });
    }
    clients
}

/// Sends back what comes, until the other end is closed.
async fn echo(mut stream: TcpStream, bytes: usize) {
    let mut buffer = vec![0; bytes];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if stream.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

async fn exchange(mut client: Client, message: Arc<[u8]>, laps: u64) -> Client {
    for _ in 0..laps {
        client.stream.write_all(&message).await.unwrap();
        client.stream.read_exact(&mut client.answer).await.unwrap();
    }
    client
}
