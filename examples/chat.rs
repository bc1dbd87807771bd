//! Who says what to whom: a broadcast channel hands each line to every client.
//!
//! cargo run -p examples --example chat

use nezumi::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use nezumi::net::{AcceptBackoff, TcpListener, TcpStream, tcp};
use nezumi::sync::broadcast::{self, error::RecvError};
use std::io;

/// One client: its lines go to all, and the lines of all go to it.
async fn client(stream: TcpStream, room: broadcast::Sender<String>) -> io::Result<()> {
    let mut heard = room.subscribe();
    let (reader, mut writer) = stream.into_split();
    let mut said = BufReader::new(reader).lines();
    writer.write_all(b"welcome\n").await?;
    loop {
        nezumi::select! {
            line = said.next_line() => match line? {
                // Nobody listens? Then there is nobody to miss it.
                Some(line) => _ = room.send(line),
                None => return Ok(()),
            },
            line = heard.recv() => match line {
                Ok(line) => writer.write_all(format!("{line}\n").as_bytes()).await?,
                Err(RecvError::Lagged(missed)) => println!("a slow client missed {missed} lines"),
                Err(RecvError::Closed) => return Ok(()),
            },
        }
    }
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    let (room, _) = broadcast::channel(100);
    let mut backoff = AcceptBackoff::new();
    loop {
        let (stream, _) = backoff.accept(|| listener.accept()).await?;
        let room = room.clone();
        nezumi::spawn(async move {
            if let Err(error) = client(stream, room).await {
                println!("a client went away: {error}");
            }
        });
    }
}

/// Joins the room, and returns when the server has greeted.
async fn join(
    address: std::net::SocketAddr,
) -> io::Result<(Lines<BufReader<tcp::OwnedReadHalf>>, tcp::OwnedWriteHalf)> {
    let (reader, writer) = TcpStream::connect(address).await?.into_split();
    let mut lines = BufReader::new(reader).lines();
    lines.next_line().await?;
    Ok((lines, writer))
}

#[nezumi::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    nezumi::spawn(serve(listener));

    let (_, mut ann) = join(address).await?;
    let (mut bob, _writer) = join(address).await?;
    ann.write_all(b"ann: is anybody here?\n").await?;
    match bob.next_line().await? {
        Some(line) => println!("bob hears {line:?}"),
        None => println!("the server is gone"),
    }
    Ok(())
}
