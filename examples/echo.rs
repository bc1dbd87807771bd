//! A server: one task for each connection, and a client that talks to it.
//!
//! cargo run -p examples --example echo

use nezumi::io::{AsyncReadExt, AsyncWriteExt, copy};
use nezumi::net::{AcceptBackoff, TcpListener, TcpStream};
use std::io;

async fn serve(listener: TcpListener) -> io::Result<()> {
    // When the process has too many files open this waits, and goes on when it has fewer.
    let mut backoff = AcceptBackoff::new();
    loop {
        let (mut stream, peer) = backoff.accept(|| listener.accept()).await?;
        nezumi::spawn(async move {
            let (mut from, mut to) = stream.split();
            match copy(&mut from, &mut to).await {
                Ok(bytes) => println!("{bytes} bytes echoed to a client at {}", peer.ip()),
                Err(error) => println!("a client went away: {error}"),
            }
        });
    }
}

#[nezumi::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    nezumi::spawn(serve(listener));

    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"squeak").await?;
    // Says that no more will come: the server's `copy` ends.
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    println!("the server answered {answer:?}");
    Ok(())
}
