//! Lack of descriptors, and descriptors left behind: each in a process of its own, where nobody else opens any.

#![cfg(target_os = "linux")]

use crate::support::*;
use nezumi_core::spawn::spawn;
use nezumi_os::net::{AcceptBackoff, TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Sets how many descriptors there may be.
fn limit_fds(max: usize) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = (max as libc::rlim_t).min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
}

/// Takes every descriptor that is left.
fn use_up_fds() -> Vec<std::fs::File> {
    let mut taken = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        taken.push(file);
    }
    taken
}

#[test]
fn accept_goes_on_after_emfile() {
    alone("faults::accept_goes_on_after_emfile", || {
        on_each(|| async {
            limit_fds(64);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let dir = TempDir::new();
            let unix_listener = UnixListener::bind(dir.path("socket")).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let _unix_client = UnixStream::connect(dir.path("socket")).await.unwrap();
            let taken = use_up_fds();
            for _ in 0..3 {
                assert_eq!(listener.accept().await.unwrap_err().raw_os_error(), Some(libc::EMFILE));
                assert_eq!(unix_listener.accept().await.unwrap_err().raw_os_error(), Some(libc::EMFILE));
            }
            drop(taken);
            // The connection is the same: no new event was needed.
            let (_stream, peer) = listener.accept().await.unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
            unix_listener.accept().await.unwrap();
        });
    });
}

/// Processor time of this process so far.
fn cpu_time() -> Duration {
    // SAFETY: all zeroes is a value of it, and it has room for the answer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// By the loop as the documentation shows it: it costs next to nothing while it can do nothing, and then needs nobody to tell it.
#[test]
fn connections_in_the_backlog_are_accepted_when_descriptors_are_free_again() {
    const CLIENTS: usize = 8;
    alone("faults::connections_in_the_backlog_are_accepted_when_descriptors_are_free_again", || {
        limit_fds(64);
        on_each(|| async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let mut clients = Vec::new();
            for _ in 0..CLIENTS {
                clients.push(TcpStream::connect(addr).await.unwrap());
            }
            let taken = use_up_fds();
            let (tries, accepted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (tried, done) = (tries.clone(), accepted.clone());
            let server = spawn(async move {
                let (mut backoff, mut streams) = (AcceptBackoff::new(), Vec::new());
                loop {
                    let stream = backoff.accept(|| {
                        tried.fetch_add(1, Ordering::SeqCst);
                        listener.accept()
                    });
                    streams.push(stream.await.unwrap());
                    done.fetch_add(1, Ordering::SeqCst);
                }
            });
            let (start, before) = (Instant::now(), cpu_time());
            nezumi_core::time::sleep(Duration::from_secs(1)).await;
            let busy = (cpu_time() - before).as_secs_f64() / start.elapsed().as_secs_f64();
            assert!(busy < 0.05, "{:.1} % of a core", busy * 100.0);
            assert_eq!(accepted.load(Ordering::SeqCst), 0);
            let tries = tries.load(Ordering::SeqCst);
            assert!((2..50).contains(&tries), "{tries} tries");
            drop(taken);
            let accepts = nezumi_core::time::timeout(Duration::from_secs(10), async {
                while accepted.load(Ordering::SeqCst) < CLIENTS {
                    nezumi_core::time::sleep(Duration::from_millis(1)).await;
                }
            });
            accepts.await.expect("all that wait are accepted, though nobody new comes");
            server.abort();
        });
    });
}

#[test]
fn sockets_that_cannot_be_made_leave_nothing() {
    alone("faults::sockets_that_cannot_be_made_leave_nothing", || {
        on_each(|| async {
            limit_fds(64);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let addr = listener.local_addr().unwrap();
            let before = open_fds();
            let mut taken = use_up_fds();
            for _ in 0..100 {
                let error = TcpStream::connect(addr).await.unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
                UdpSocket::bind("127.0.0.1:0").await.unwrap_err();
                UnixStream::pair().unwrap_err();
            }
            // One is left: a pair fails half way.
            taken.pop();
            UnixStream::pair().unwrap_err();
            drop(taken);
            assert_eq!(open_fds(), before);
            TcpStream::connect(addr).await.unwrap();
        });
    });
}

/// Numbers of descriptors are used again at once, by sockets that must not hear of their predecessors.
#[test]
fn churn_leaves_nothing_behind() {
    alone("faults::churn_leaves_nothing_behind", || {
        let before = open_fds();
        for runtime in [current_thread(), multi_thread(2)] {
            let in_use = open_fds();
            let metrics = runtime.handle().metrics();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let addr = listener.local_addr().unwrap();
                let server = spawn(async move {
                    loop {
                        let (mut stream, _) = listener.accept().await.unwrap();
                        drop(spawn(async move {
                            let mut buf = [0; 16];
                            let n = read(&mut stream, &mut buf).await.unwrap();
                            write_all(&mut stream, &buf[..n]).await.unwrap();
                        }));
                    }
                });
                let clients: Vec<_> = (0..8_u8)
                    .map(|client| {
                        spawn(async move {
                            for round in 0..100_u8 {
                                let mut stream = TcpStream::connect(addr).await.unwrap();
                                write_all(&mut stream, &[client, round]).await.unwrap();
                                assert_eq!(read_to_end(&mut stream).await.unwrap(), [client, round]);
                                // Some leave while something is still to be read.
                                if round % 3 == 0 {
                                    let (mut a, b) = UnixStream::pair().unwrap();
                                    write_all(&mut a, b"unread").await.unwrap();
                                    drop(b);
                                }
                            }
                        })
                    })
                    .collect();
                for client in clients {
                    client.await.unwrap();
                }
                server.abort();
                let _ = server.await;
            });
            // Until the last server task has gone.
            let mut patience = 1000;
            while metrics.io_driver_fd_registered_count() != metrics.io_driver_fd_deregistered_count() {
                patience -= 1;
                assert!(patience > 0, "a registration was left behind");
                runtime.block_on(async { nezumi_core::time::sleep(Duration::from_millis(1)).await });
            }
            assert_eq!(open_fds(), in_use);
            drop(runtime);
        }
        assert_eq!(open_fds(), before);
    });
}

#[test]
fn runtimes_give_their_descriptors_back() {
    alone("faults::runtimes_give_their_descriptors_back", || {
        let before = open_fds();
        for _ in 0..100 {
            let runtime = multi_thread(1);
            let kept = runtime.block_on(async { UnixStream::pair().unwrap() });
            drop(runtime);
            drop(kept);
        }
        assert_eq!(open_fds(), before);
    });
}

/// A thousand connections that say nothing cost nothing.
#[test]
fn idle_connections_wake_nobody() {
    alone("faults::idle_connections_wake_nobody", || {
        let runtime = multi_thread(2);
        let metrics = runtime.handle().metrics();
        let pairs: Vec<_> = runtime.block_on(async {
            (0..300)
                .map(|_| {
                    let (a, mut b) = UnixStream::pair().unwrap();
                    drop(spawn(async move { read(&mut b, &mut [0; 8]).await }));
                    a
                })
                .collect()
        });
        let settle = || {
            let mut last = u64::MAX;
            loop {
                std::thread::sleep(Duration::from_millis(50));
                let now = metrics.io_driver_ready_count();
                if now == last {
                    return now;
                }
                last = now;
            }
        };
        let before = settle();
        let parks = |metrics: &nezumi_core::runtime::RuntimeMetrics| -> u64 {
            (0..metrics.num_workers()).map(|worker| metrics.worker_park_unpark_count(worker)).sum()
        };
        let parks_before = parks(&metrics);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(metrics.io_driver_ready_count(), before);
        assert_eq!(parks(&metrics), parks_before, "a worker woke up");
        drop(pairs);
    });
}

#[test]
fn limits_are_errors_of_the_kind_they_are() {
    let error = io::Error::from_raw_os_error(libc::EMFILE);
    assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "or `accept` would wait for ever");
}
