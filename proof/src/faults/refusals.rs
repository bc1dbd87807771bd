//! A system that has no more of something, or refuses.

use super::{builder, expect_works, runtime};
use crate::seed::Seed;
use crate::task::tracked;
use nezumi::io::unix::AsyncFd;
use nezumi::io::{AsyncReadExt, AsyncWriteExt};
use nezumi::net::{TcpListener, TcpSocket, TcpStream};
use nezumi::runtime::Runtime;
use nezumi::task::{JoinHandle, block_in_place};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Sets the soft limit, and returns what it was.
pub(crate) fn limit(resource: libc::__rlimit_resource_t, to: u64) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is ours, and has room for the answer.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &raw mut limit), 0);
        let before = limit.rlim_cur;
        limit.rlim_cur = to.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(resource, &raw const limit), 0);
        before
    }
}

/// Connections, listeners, processes and whole runtimes fail then with the system's error; what was there goes on, and all is well once there are
/// descriptors again.
pub(super) fn descriptors_run_out(_: Seed) {
    for workers in [0, 1, 2] {
        let rt = runtime(workers);
        rt.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut old = (TcpStream::connect(address).await.unwrap(), listener.accept().await.unwrap().0);
            let before = limit(libc::RLIMIT_NOFILE, 64);
            let mut open = Vec::new();
            let error = loop {
                match TcpStream::connect(address).await {
                    Ok(stream) => open.push(stream),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
            for _ in 0..20 {
                assert!(TcpListener::bind(("127.0.0.1", 0)).await.is_err());
                assert!(
                    super::builder(workers).build().is_err(),
                    "a runtime without a descriptor for its driver"
                );
                assert!(nezumi::process::Command::new("true").status().await.is_err());
                assert!(nezumi::fs::File::open("/proc/self/stat").await.is_err());
                // Nothing can be accepted, which is no reason to stop.
                let accepted = nezumi::time::timeout(Duration::from_millis(2), listener.accept()).await;
                assert!(accepted.is_err() || accepted.is_ok_and(|accepted| accepted.is_err()));
            }
            old.0.write_all(b"still").await.unwrap();
            let mut buffer = [0; 5];
            old.1.read_exact(&mut buffer).await.unwrap();
            drop(open);
            limit(libc::RLIMIT_NOFILE, before);
            // Children that were started, but could not be waited for, are reaped with the next one at the latest.
            assert!(nezumi::process::Command::new("true").status().await.unwrap().success());
            let (client, server) = nezumi::join!(TcpStream::connect(address), listener.accept());
            drop((client.unwrap(), server.unwrap()));
        });
        expect_works(&rt);
    }
}

/// No thread has room for a stack of this size.
pub(super) fn threads_are_refused_at_first(_: Seed) {
    for workers in [1, 2, 8] {
        for _ in 0..20 {
            assert!(builder(workers).thread_stack_size(1 << 46).build().is_err());
        }
    }
    let rt = builder(0).thread_stack_size(1 << 46).build().unwrap();
    for _ in 0..20 {
        rt.block_on(async { nezumi::spawn(tracked(nezumi::task::yield_now())).await.unwrap() });
    }
}

/// The runtime is there already when the system has no more threads: jobs wait for those that there are, and blocked workers for their own end.
pub(super) fn threads_are_refused_later(_: Seed) {
    for workers in [1, 2] {
        let rt = builder(workers).thread_stack_size(64 << 20).build().unwrap();
        // One thread of the pool is there.
        rt.block_on(rt.spawn_blocking(|| {})).unwrap();
        let size = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = size.split_whitespace().next().unwrap().parse().unwrap();
        let before = limit(libc::RLIMIT_AS, pages * 4096 + (16 << 20));
        for _ in 0..10 {
            let jobs: Vec<_> = (0..50).map(|number| spawn_until_accepted(&rt, number)).collect();
            let sum: u32 = rt.block_on(async {
                let mut sum = 0;
                for job in jobs {
                    sum += job.await.unwrap();
                }
                sum
            });
            assert_eq!(sum, 50 * 49 / 2);
            let tasks: Vec<_> = (0..8)
                .map(|_| {
                    rt.spawn(tracked(async {
                        block_in_place(|| std::thread::sleep(Duration::from_millis(1)));
                        nezumi::task::yield_now().await;
                    }))
                })
                .collect();
            for task in tasks {
                rt.block_on(task).unwrap();
            }
            // All workers blocked: a spare would be wanted.
            let blocked: Vec<_> = (0..workers)
                .map(|_| rt.spawn(tracked(async { std::thread::sleep(Duration::from_millis(10)) })))
                .collect();
            for task in blocked {
                rt.block_on(task).unwrap();
            }
        }
        limit(libc::RLIMIT_AS, before);
        expect_works(&rt);
    }
}

/// When the last thread of the pool has just become a worker, for one that is blocked, there is none that a job could wait for: then to spawn one
/// is a panic, as documented. The thread comes back.
pub(super) fn spawn_until_accepted(rt: &Runtime, number: u32) -> JoinHandle<u32> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let job = loop {
        match catch_unwind(AssertUnwindSafe(|| rt.spawn_blocking(move || number))) {
            Ok(job) => break job,
            Err(_) => assert!(Instant::now() < deadline, "the thread does not come back"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    std::panic::set_hook(report);
    job
}

/// Of files that the system cannot wait for. Nothing of the attempt is left, and who owned the file has it back.
#[expect(deprecated, reason = "each file stays open for as long as it is looked at")]
pub(super) fn registrations_fail(_: Seed) {
    for workers in [0, 2] {
        let rt = runtime(workers);
        let before =
            (rt.metrics().io_driver_fd_registered_count(), rt.metrics().io_driver_fd_deregistered_count());
        rt.block_on(async {
            for _ in 0..2000 {
                let file = std::fs::File::open("/proc/self/exe").unwrap();
                assert!(AsyncFd::new(file).is_err());
            }
        });
        let after =
            (rt.metrics().io_driver_fd_registered_count(), rt.metrics().io_driver_fd_deregistered_count());
        assert_eq!(after.0 - before.0, after.1 - before.1, "a registration is left");
        expect_works(&rt);
    }
}

/// The smallest buffers that the system allows: nearly every write is short, and each clears the readiness.
pub(super) fn writes_are_short(seed: Seed) {
    let rt = runtime(2);
    let mut rand = seed.rand();
    rt.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(16).unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..4 {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_send_buffer_size(1).unwrap();
            let (client, server) = nezumi::join!(socket.connect(address), listener.accept());
            let (mut client, (mut server, _)) = (client.unwrap(), server.unwrap());
            let bytes: Vec<u8> = (0..200_000).map(|_| rand.next() as u8).collect();
            let sent = bytes.clone();
            let writer = nezumi::spawn(tracked(async move {
                client.write_all(&sent).await.unwrap();
                client.shutdown().await.unwrap();
            }));
            let mut received = Vec::new();
            let mut buffer = [0; 777];
            loop {
                match server.read(&mut buffer[..1 + rand.below(776) as usize]).await.unwrap() {
                    0 => break,
                    read => received.extend_from_slice(&buffer[..read]),
                }
            }
            writer.await.unwrap();
            assert!(bytes == received, "other bytes arrived than were sent");
        }
    });
}
