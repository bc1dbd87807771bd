//! Calls that fail one at a time, or now and then, where no limit of the system would make them: by way of `shim`.

use super::{builder, expect_works, runtime};
use crate::load;
use crate::seed::Seed;
use crate::shim::{Call, Failing};
use crate::task::tracked;
use nezumi::io::{AsyncReadExt, AsyncWriteExt};
use nezumi::net::{TcpListener, TcpStream, UnixStream};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// The first, the second, the third… call of each kind fails while a runtime is built. Nothing of it is left, and the next one is built.
pub(super) fn no_step_of_building_succeeds(_: Seed) {
    let calls = [
        (Call::EpollCreate, libc::ENFILE),
        (Call::EpollCreate, libc::ENOMEM),
        (Call::EpollAdd, libc::ENOSPC),
        (Call::EventFd, libc::ENFILE),
        (Call::Dup, libc::EMFILE),
        (Call::ThreadCreate, libc::EAGAIN),
    ];
    let mut refused = 0;
    for workers in [0, 1, 3] {
        for (call, errno) in calls {
            for others in 0.. {
                let failing = Failing::after(call, errno, others);
                let built = builder(workers).build();
                let hits = failing.hits();
                drop(failing);
                match built {
                    Ok(rt) => expect_works(&rt),
                    Err(error) => {
                        refused += 1;
                        assert_eq!((hits, error.raw_os_error()), (1, Some(errno)), "{call:?} after {others}");
                    }
                }
                if hits == 0 {
                    break;
                }
            }
        }
    }
    println!("  {refused} runtimes were refused");
    assert!(refused >= 10, "hardly a call failed");
}

/// The system has no room for one more registration. Who asked for it hears of that; what is there goes on.
pub(super) fn registrations_are_refused(_: Seed) {
    for workers in [0, 2] {
        let rt = runtime(workers);
        for errno in [libc::ENOMEM, libc::ENOSPC] {
            let (mut made, mut refused) = (0, 0);
            rt.block_on(async {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                let address = listener.local_addr().unwrap();
                let failing = Failing::one_in(Call::EpollAdd, errno, 3);
                while refused < 50 || made < 50 {
                    let client = TcpStream::connect(address).await;
                    let server = match client {
                        Ok(_) => listener.accept().await.map(|_| ()),
                        Err(_) => Ok(()),
                    };
                    for result in [client.map(|_| ()), server] {
                        match result {
                            Ok(()) => made += 1,
                            Err(error) => {
                                refused += 1;
                                assert_eq!(error.raw_os_error(), Some(errno));
                            }
                        }
                    }
                }
                drop(failing);
            });
            expect_works(&rt);
        }
    }
}

/// Each client is accepted in the end, though half of the attempts fail: a failure does not take the edge that said that somebody is there.
pub(super) fn accepts_fail(_: Seed) {
    const CLIENTS: usize = 60;
    for workers in [0, 2] {
        let rt = runtime(workers);
        for errno in
            [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOBUFS, libc::ECONNABORTED, libc::EPROTO]
        {
            let failures = rt.block_on(async {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                let address = listener.local_addr().unwrap();
                let failing = Failing::one_in(Call::Accept, errno, 2);
                let clients: Vec<_> = (0..CLIENTS)
                    .map(|_| {
                        nezumi::spawn(tracked(async move {
                            let mut client = TcpStream::connect(address).await.unwrap();
                            client.write_all(b"?").await.unwrap();
                            assert_eq!(client.read_u8().await.unwrap(), b'!');
                        }))
                    })
                    .collect();
                let (mut accepted, mut failures) = (0, 0);
                while accepted < CLIENTS {
                    let next = nezumi::time::timeout(Duration::from_secs(10), listener.accept()).await;
                    match next.expect("somebody is there, and is not accepted") {
                        Ok((mut stream, _)) => {
                            accepted += 1;
                            assert_eq!(stream.read_u8().await.unwrap(), b'?');
                            stream.write_all(b"!").await.unwrap();
                        }
                        Err(error) => {
                            failures += 1;
                            assert_eq!(error.raw_os_error(), Some(errno));
                        }
                    }
                }
                drop(failing);
                for client in clients {
                    client.await.unwrap().get();
                }
                failures
            });
            assert!(failures > 0, "no attempt failed");
            expect_works(&rt);
        }
    }
}

/// Every second wait of a driver is interrupted, while scenes are played.
pub(super) fn waits_are_interrupted(seed: Seed) {
    for workers in [0, 1, 2] {
        let rt = runtime(workers);
        let failing = Failing::one_in(Call::EpollWait, libc::EINTR, 2);
        let (mut rand, begin) = (seed.rand(), Instant::now());
        let mut number = 0;
        while begin.elapsed() < Duration::from_secs(2) {
            let scene = load::choose(&mut rand, "").expect("there are scenes");
            number += 1;
            rt.block_on(load::play(scene, seed.part(number)));
        }
        assert!(failing.hits() > 0, "no wait was interrupted");
        drop(failing);
        expect_works(&rt);
    }
}

/// Every second thread is refused: runtimes are not built, or are; and jobs wait for the threads that there are.
pub(super) fn every_second_thread_is_refused(_: Seed) {
    for workers in [1, 2, 4] {
        let failing = Failing::one_in(Call::ThreadCreate, libc::EAGAIN, 2);
        let (mut built, mut refused) = (0, 0);
        let begin = Instant::now();
        while (built < 5 || refused < 5) && begin.elapsed() < Duration::from_secs(15) {
            match builder(workers).build() {
                Ok(rt) => {
                    built += 1;
                    // One thread at least is there: what is refused later waits for it.
                    super::refusals::spawn_until_accepted(&rt, 0);
                    let jobs: Vec<_> =
                        (0..20).map(|number| super::refusals::spawn_until_accepted(&rt, number)).collect();
                    rt.block_on(async {
                        for (number, job) in (0..).zip(jobs) {
                            assert_eq!(job.await.unwrap(), number);
                        }
                    });
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
                }
            }
        }
        assert!(built > 0 && refused > 0, "{built} built, {refused} refused");
        drop(failing);
        expect_works(&runtime(workers));
    }
}

/// All workers are blocked, and there is no thread for a spare, however often the watch asks for one. What waits is served when the workers are
/// free, and the runtime ends as if there had been no spares: all of it, down to the driver.
pub(super) fn spares_are_refused(_: Seed) {
    for workers in [1, 2] {
        let rt = runtime(workers);
        let begin = Instant::now();
        let wait_until = |what: &str, done: &dyn Fn() -> bool| {
            while !done() {
                assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        // Or its thread would be the one that is refused.
        wait_until("there is a watch", &|| format!("{:#?}", rt.handle()).contains("watch_looks: true"));
        let failing = Failing::one_in(Call::ThreadCreate, libc::EAGAIN, 1);
        let meet = Arc::new(Barrier::new(workers + 1));
        let blocked: Vec<_> = (0..workers)
            .map(|_| {
                let meet = meet.clone();
                rt.spawn(tracked(async move {
                    meet.wait();
                    meet.wait();
                }))
            })
            .collect();
        meet.wait();
        let waits = rt.spawn(tracked(async { 7 }));
        wait_until("a spare is refused twice", &|| failing.hits() >= 2);
        assert!(!waits.is_finished());
        drop(failing);
        meet.wait();
        rt.block_on(async {
            assert_eq!(waits.await.unwrap().get(), 7);
            for task in blocked {
                task.await.unwrap();
            }
        });
        expect_works(&rt);
        // Whoever leaves last ends the driver, also for a task of another runtime.
        let (stream, _other_end) = {
            let _inside = rt.enter();
            UnixStream::pair().unwrap()
        };
        let other = runtime(1);
        let waits = other.spawn(tracked(async move { stream.readable().await.is_err() }));
        drop(rt);
        let outcome = other.block_on(async { nezumi::time::timeout(Duration::from_secs(10), waits).await });
        assert!(outcome.expect("nobody has ended the driver").unwrap().get());
    }
}

/// Each read and write of a file moves a few bytes, and one in four is interrupted before it has moved any.
pub(super) fn files_come_in_pieces(seed: Seed) {
    let mut rand = seed.rand();
    let bytes: Vec<u8> = (0..20_000).map(|_| rand.next() as u8).collect();
    let path = std::env::temp_dir().join(format!("nezumi-proof-{}-{seed}", std::process::id()));
    for workers in [0, 2] {
        let rt = runtime(workers);
        let failing = Failing::one_in(Call::FileIo, libc::EINTR, 4);
        rt.block_on(async {
            nezumi::fs::write(&path, &bytes).await.unwrap();
            assert!(nezumi::fs::read(&path).await.unwrap() == bytes, "read at once");

            let mut file = nezumi::fs::File::create(&path).await.unwrap();
            for piece in bytes.chunks(777) {
                file.write_all(piece).await.unwrap();
            }
            file.flush().await.unwrap();
            let (mut file, mut read) = (nezumi::fs::File::open(&path).await.unwrap(), Vec::new());
            file.read_to_end(&mut read).await.unwrap();
            assert!(read == bytes, "read through a file");
        });
        assert!(failing.hits() > 0, "no call was interrupted");
        drop(failing);
        expect_works(&rt);
    }
    std::fs::remove_file(&path).unwrap();
}

/// One look at the clock in eight sees it up to 50 ms earlier than the look before. Timers fire all the same, and nothing panics.
pub(super) fn the_clock_steps_back(_: Seed) {
    for workers in [0, 1, 2] {
        let rt = runtime(workers);
        let failing = Failing::one_in(Call::Clock, libc::EINVAL, 8);
        rt.block_on(async {
            let sleeps: Vec<_> = (0..200)
                .map(|number| {
                    nezumi::spawn(tracked(async move {
                        for _ in 0..5 {
                            nezumi::time::sleep(Duration::from_millis(number % 20)).await;
                        }
                    }))
                })
                .collect();
            let mut interval = nezumi::time::interval(Duration::from_millis(2));
            for _ in 0..50 {
                interval.tick().await;
            }
            let never = nezumi::time::timeout(Duration::from_millis(5), std::future::pending::<()>());
            assert!(never.await.is_err());
            for sleep in sleeps {
                sleep.await.unwrap().get();
            }
        });
        for _ in 0..10 {
            expect_works(&rt);
        }
        assert!(failing.hits() > 0, "the clock never stepped back");
    }
}
