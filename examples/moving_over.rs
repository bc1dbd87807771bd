//! A program that was written for Tokio, as it is: only the manifest says that it runs on Nezumi. See docs/moving-over.md.
//!
//! cargo run -p examples --example moving_over

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        stream.write_all(line.trim_end().chars().rev().collect::<String>().as_bytes()).await?;
        stream.write_all(b"\n").await
    });
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    stream.write_all(b"stressed\n").await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    println!("backwards: {}", answer.trim_end());
    server.await??;

    // The type is Nezumi's own, whatever the path says.
    println!("spawned through {}", std::any::type_name::<tokio::task::JoinHandle<()>>());
    Ok(())
}
