//! What does a connection cost that lives for one exchange?
//!
//! How the answer could mislead: opening and closing sockets is the kernel's work, nearly all of it; the runtime's share is
//! registering them, and getting rid of them. Client and server share the workers. The client resets the connection rather
//! than have it linger: the ports would not last.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::io::{AsyncReadExt, AsyncWriteExt};
use rt::net::{TcpListener, TcpSocket, TcpStream};

const LOOPS: u64 = 512;
const MESSAGE: [u8; 64] = [7; 64];

pub(crate) fn cases() -> Vec<Case> {
    let what = "512 loops at once that connect, exchange 64 bytes once and close";
    vec![Case::new(23, "churn", what, 1.0, prepare)]
}

fn prepare(setup: &Setup) -> Round {
    let runtime = start::runtime(setup);
    let loops = setup.size(LOOPS, LOOPS, 16);
    let laps = setup.size(16, 2, 2);
    let served = Arc::new(AtomicU64::new(0));
    let listener = runtime.block_on(async { listen() }).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(accept(listener, served.clone()));
    Box::new(move || {
        let before = served.load(Ordering::Relaxed);
        start::on_worker(&runtime, async move {
            let clients: Vec<_> = (0..loops).map(|_| rt::spawn(visit(address, laps))).collect();
            for client in clients {
                client.await.unwrap();
            }
        });
        let ops = loops * laps;
        assert_eq!(served.load(Ordering::Relaxed) - before, ops, "an exchange was lost");
        Done::ops(ops)
    })
}

/// With room for all that knock at once: who finds none tries again a second later, and a second is what would be measured.
fn listen() -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(2 * LOOPS as u32)
}

async fn accept(listener: TcpListener, served: Arc<AtomicU64>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        rt::spawn(answer(stream, served.clone()));
    }
}

/// One exchange, then until the client goes.
async fn answer(mut stream: TcpStream, served: Arc<AtomicU64>) {
    let mut buffer = [0; MESSAGE.len()];
    if stream.read_exact(&mut buffer).await.is_err() {
        return;
    }
    served.fetch_add(1, Ordering::Relaxed);
    if stream.write_all(&buffer).await.is_ok() {
        let _ = stream.read(&mut buffer).await;
    }
}

async fn visit(address: SocketAddr, laps: u64) {
    let mut answer = [0; MESSAGE.len()];
    for _ in 0..laps {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_zero_linger().unwrap();
        stream.write_all(&MESSAGE).await.unwrap();
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, MESSAGE);
    }
}
