//! Datagrams: each is a message of its own, and may be lost.
//!
//! cargo run -p examples --example udp

use nezumi::net::UdpSocket;
use nezumi::time::{Duration, timeout};
use std::io;

#[nezumi::main]
async fn main() -> io::Result<()> {
    let server = UdpSocket::bind("127.0.0.1:0").await?;
    let address = server.local_addr()?;
    nezumi::spawn(async move {
        let mut datagram = [0; 1500];
        loop {
            let (len, from) = server.recv_from(&mut datagram).await?;
            println!("{len} bytes came");
            server.send_to(&datagram[..len], from).await?;
        }
        #[allow(unreachable_code)]
        Ok::<(), io::Error>(())
    });

    let client = UdpSocket::bind("127.0.0.1:0").await?;
    client.connect(address).await?;
    let mut answer = [0; 1500];
    for attempt in 1..=3 {
        client.send(b"squeak").await?;
        match timeout(Duration::from_secs(1), client.recv(&mut answer)).await {
            Ok(len) => {
                println!("the answer is {:?}", String::from_utf8_lossy(&answer[..len?]));
                return Ok(());
            }
            Err(_) => println!("attempt {attempt} was lost"),
        }
    }
    Ok(())
}
