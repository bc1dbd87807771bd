//! A server that says hello, on whichever runtime the manifest makes of the name `tokio`.
//!
//! `hello-SIDE WORKERS` prints one line, its address and the full name of its runtime, and serves until its standard input
//! ends. To each line that it reads there it answers with what it has used so far: user and system time in µs, and
//! voluntary context switches.

use std::convert::Infallible;
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};

fn main() -> io::Result<()> {
    let workers = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1);
    let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = listen()?;
        println!("{} {}", listener.local_addr()?, std::any::type_name::<Runtime>());
        thread::spawn(report);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(hello));
            // It ends in an error if the client hangs up, as it does.
            tokio::spawn(async { _ = connection.await });
        }
    })
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(b"Hello, world!"))))
}

fn listen() -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    socket.listen(1024)
}

/// Ends the program when there is nobody left to ask.
fn report() {
    for _ in io::stdin().lock().lines().map_while(Result::ok) {
        let used = used();
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        let us = |t| time(t).as_micros();
        println!("{} {} {}", us(used.ru_utime), us(used.ru_stime), used.ru_nvcsw);
        let _ = io::stdout().flush();
    }
    std::process::exit(0);
}

fn used() -> libc::rusage {
    // SAFETY: `rusage` is plain integers, for which all zeroes is a value.
    let mut answer: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `answer` is a live `rusage`, which is all that the call writes to.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut answer) };
    assert_eq!(failed, 0, "the kernel did not tell what was used");
    answer
}
