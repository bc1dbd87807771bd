//! Bytes carried both ways between two connections.
//!
//! cargo run -p examples --example proxy

use nezumi::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use nezumi::net::{AcceptBackoff, TcpListener, TcpStream};
use std::io;
use std::net::SocketAddr;

/// Takes connections, and carries each to `target`.
async fn proxy(listener: TcpListener, target: SocketAddr) -> io::Result<()> {
    let mut backoff = AcceptBackoff::new();
    loop {
        let (mut client, _) = backoff.accept(|| listener.accept()).await?;
        nezumi::spawn(async move {
            let carried = async {
                let mut server = TcpStream::connect(target).await?;
                copy_bidirectional(&mut client, &mut server).await
            };
            match carried.await {
                Ok((there, back)) => println!("carried {there} bytes there and {back} back"),
                Err(error) => println!("could not carry: {error}"),
            }
        });
    }
}

/// Answers in capitals.
async fn shout(listener: TcpListener) -> io::Result<()> {
    let mut backoff = AcceptBackoff::new();
    loop {
        let (mut stream, _) = backoff.accept(|| listener.accept()).await?;
        nezumi::spawn(async move {
            let mut text = Vec::new();
            stream.read_to_end(&mut text).await?;
            stream.write_all(&text.to_ascii_uppercase()).await
        });
    }
}

#[nezumi::main]
async fn main() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let front = TcpListener::bind("127.0.0.1:0").await?;
    let (target, address) = (server.local_addr()?, front.local_addr()?);
    nezumi::spawn(shout(server));
    nezumi::spawn(proxy(front, target));

    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"squeak").await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    println!("through the proxy came {answer:?}");
    Ok(())
}
