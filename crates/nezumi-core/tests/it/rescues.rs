//! Workers that are blocked, and what others do for them meanwhile: with sockets, many times over, and without leaving anything behind.

use crate::support::{Census, eventually, threads_called};
use nezumi::io::{AsyncReadExt, AsyncWriteExt};
use nezumi::net::TcpListener;
use nezumi_core::runtime::{Builder, Runtime};
use nezumi_core::spawn::{JoinSet, spawn, yield_now};
use nezumi_core::time::sleep;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

const FOR_EVER: Duration = Duration::from_secs(30);

/// Its threads have a name of their own, and go soon when they have nothing to do.
fn runtime(workers: usize, name: &str) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name(name)
        .thread_keep_alive(Duration::from_millis(10))
        .enable_all()
        .build()
        .unwrap()
}

/// Sends back what it gets, a connection at a time and all at once.
fn echo(rt: &Runtime) -> SocketAddr {
    let listener = rt.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    rt.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            spawn(async move {
                let mut buf = [0; 64];
                while let Ok(count @ 1..) = stream.read(&mut buf).await {
                    stream.write_all(&buf[..count]).await.unwrap();
                }
            });
        }
    });
    address
}

/// From outside of any runtime.
fn is_echoed(stream: &mut TcpStream, text: &[u8]) {
    stream.write_all(text).unwrap();
    let mut back = vec![0; text.len()];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, text);
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(FOR_EVER)).unwrap();
    stream
}

#[test]
fn tasks_timers_and_sockets_are_served_while_all_workers_sleep_in_a_call() {
    for workers in [1, 2, 4] {
        let name = format!("asleep-{workers}");
        let rt = runtime(workers, &name);
        let address = echo(&rt);
        // One connection is there before.
        let mut old = connect(address);
        is_echoed(&mut old, b"before");

        let (asleep, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for _ in 0..workers {
            let (asleep, end) = (asleep.clone(), end.clone());
            rt.spawn(async move {
                asleep.fetch_add(1, Ordering::SeqCst);
                while !end.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        eventually("all workers sleep", || asleep.load(Ordering::SeqCst) == workers);

        let mut new = connect(address);
        for round in 0..20 {
            is_echoed(&mut old, format!("old {round}").as_bytes());
            is_echoed(&mut new, format!("new {round}").as_bytes());
        }
        let served = rt.spawn(async {
            let mut set = JoinSet::new();
            for i in 0..50 {
                set.spawn(async move {
                    sleep(Duration::from_millis(i % 7)).await;
                    yield_now().await;
                });
            }
            while set.join_next().await.is_some() {}
        });
        rt.block_on(async { nezumi_core::time::timeout(FOR_EVER, served).await }).unwrap().unwrap();
        assert!(!end.swap(true, Ordering::SeqCst), "all of it while they slept");
        assert!(rt.metrics().spare_workers_begun_count() > 0);

        eventually("the spares have left", || rt.metrics().num_spare_workers() == 0);
        if let Some(threads) = threads_called(&name) {
            assert!(threads >= workers);
            eventually("and so have their threads", || threads_called(&name) == Some(workers));
        }
        is_echoed(&mut old, b"after");
        drop(rt);
        if threads_called(&name).is_some() {
            eventually("no thread is left", || threads_called(&name) == Some(0));
        }
    }
}

#[test]
fn ten_thousand_rescues_leave_neither_threads_nor_tasks_behind() {
    const WORKERS: usize = 8;
    const WANTED: usize = 10_000;
    let rt = runtime(WORKERS, "rescued");
    let (census, left) = (Census::default(), Arc::new(AtomicUsize::new(WANTED)));
    // One worker is left over, to do it.
    let blocking: Vec<_> = (1..WORKERS)
        .map(|_| {
            let (census, left) = (census.clone(), left.clone());
            rt.spawn(async move {
                let take = |left: usize| left.checked_sub(1);
                let mut in_a_row = 0;
                while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
                    let (ran, has_run) = mpsc::channel();
                    let alive = census.enter();
                    spawn(async move {
                        drop(alive);
                        ran.send(()).unwrap();
                    });
                    // Its own worker does not come to it before.
                    has_run.recv_timeout(FOR_EVER).expect("another worker runs it");
                    in_a_row += 1;
                    if in_a_row % 8 == 0 {
                        yield_now().await;
                    }
                }
            })
        })
        .collect();
    rt.block_on(async {
        for task in blocking {
            task.await.unwrap();
        }
    });
    let rescues: u64 = (0..WORKERS).map(|worker| rt.metrics().worker_rescue_count(worker)).sum();
    // Several may be taken at once.
    assert!(rescues > WANTED as u64 / 8, "{rescues} rescues");
    assert_eq!(census.alive(), 0);
    eventually("all tasks have ended", || rt.metrics().num_alive_tasks() == 0);
    eventually("the spares have left", || rt.metrics().num_spare_workers() == 0);
    if threads_called("rescued").is_some() {
        eventually("their threads have ended", || threads_called("rescued") == Some(WORKERS));
    }
    assert_eq!(rt.block_on(rt.spawn(async { 7 })).unwrap(), 7);
}
