//! Bytes that must arrive as they were sent, and peers that go away.

use super::{spawn, spawn_cancellable};
use crate::seed::Rand;
use nezumi::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use nezumi::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What stands at a place of the stream with this seed.
fn byte(seed: u64, place: usize) -> u8 {
    (seed as usize).wrapping_add(place.wrapping_mul(31)) as u8
}

async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut buffer = vec![0; 4096];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                if stream.write_all(&buffer[..read]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Sends pieces of random sizes and reads each of them back.
async fn converse(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), rand: &mut Rand) {
    let (seed, mut place) = (rand.next(), 0);
    for _ in 0..rand.between(1, 20) {
        // Some do not fit into the sockets' buffers, so that writer and reader wait for one another.
        let most = if rand.one_in(10) { 300_000 } else { 2000 };
        let size = rand.between(1, most) as usize;
        let piece: Vec<u8> = (place..place + size).map(|place| byte(seed, place)).collect();
        let mut back = vec![0; size];
        {
            let (mut reader, mut writer) = nezumi::io::split(&mut *stream);
            let (written, read) =
                nezumi::join!(writer.write_all(&piece), async { reader.read_exact(&mut back).await });
            written.unwrap();
            read.unwrap();
        }
        assert!(piece == back, "other bytes came back than were sent");
        place += size;
    }
}

pub(super) async fn tcp_echo(mut rand: Rand) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = rand.between(1, 10);
    let server = spawn(async move {
        let mut served = Vec::new();
        for _ in 0..count {
            let (stream, _) = listener.accept().await.unwrap();
            served.push(spawn(echo(stream)));
        }
        for task in served {
            task.await.unwrap();
        }
    });
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut rand = rand.fork();
        clients.push(spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            converse(&mut stream, &mut rand).await;
            if rand.one_in(2) {
                stream.shutdown().await.unwrap();
                assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0);
            } else {
                stream.set_zero_linger().unwrap();
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    server.await.unwrap();
}

/// Connections that one side drops while the other reads or writes.
pub(super) async fn tcp_broken_off(mut rand: Rand) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut pairs = Vec::new();
    for _ in 0..rand.between(1, 10) {
        let mut rand = rand.fork();
        let client = TcpStream::connect(address).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let server = spawn_cancellable(echo(server));
        pairs.push(spawn(async move {
            let (mut reader, mut writer) = client.into_split();
            let writes = spawn_cancellable(async move {
                // Ends when the other side is gone, or when it is aborted.
                while writer.write_all(&[7; 1000]).await.is_ok() {}
            });
            let reads = spawn_cancellable(async move {
                let mut buffer = [0; 500];
                while reader.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
            });
            nezumi::time::sleep(rand.micros(5000)).await;
            match rand.below(3) {
                0 => server.abort(),
                1 => writes.abort(),
                _ => reads.abort(),
            }
            nezumi::time::sleep(rand.micros(1000)).await;
            for task in [server, writes, reads] {
                task.abort();
                if let Err(error) = task.await {
                    assert!(error.is_cancelled(), "{error}");
                }
            }
        }));
    }
    for pair in pairs {
        pair.await.unwrap();
    }
}

pub(super) async fn unix_streams(mut rand: Rand) {
    if rand.one_in(2) {
        let (mut left, right) = UnixStream::pair().unwrap();
        let server = spawn(echo(right));
        converse(&mut left, &mut rand).await;
        drop(left);
        server.await.unwrap();
        return;
    }
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("nezumi-proof-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let listener = UnixListener::bind(&path).unwrap();
    let count = rand.between(1, 5);
    let server = spawn(async move {
        let mut served = Vec::new();
        for _ in 0..count {
            served.push(spawn(echo(listener.accept().await.unwrap().0)));
        }
        for task in served {
            task.await.unwrap();
        }
    });
    let mut clients = Vec::new();
    for _ in 0..count {
        let (mut rand, path) = (rand.fork(), path.clone());
        clients.push(spawn(async move {
            let mut stream = UnixStream::connect(path).await.unwrap();
            converse(&mut stream, &mut rand).await;
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    server.await.unwrap();
    nezumi::fs::remove_file(&path).await.unwrap();
}

pub(super) async fn datagrams(mut rand: Rand) {
    let (left, right) = UnixDatagram::pair().unwrap();
    let count = rand.between(1, 300);
    let sender = spawn(async move {
        for number in 0..count {
            left.send(&number.to_le_bytes()).await.unwrap();
        }
    });
    let mut buffer = [0; 4];
    for number in 0..count {
        assert_eq!(right.recv(&mut buffer).await.unwrap(), 4);
        assert_eq!(u32::from_le_bytes(buffer), number);
    }
    sender.await.unwrap();

    // These may be lost, but not one that is alone on its way.
    let here = UdpSocket::bind(("127.0.0.1", 0)).await.unwrap();
    let there = UdpSocket::bind(("127.0.0.1", 0)).await.unwrap();
    here.connect(there.local_addr().unwrap()).await.unwrap();
    for number in 0..rand.below(20) {
        here.send(&number.to_le_bytes()).await.unwrap();
        let arrival = there.recv_from(&mut buffer);
        if let Ok(arrived) = nezumi::time::timeout(Duration::from_secs(5), arrival).await {
            assert_eq!((arrived.unwrap().0, u32::from_le_bytes(buffer)), (4, number));
        }
    }
}
