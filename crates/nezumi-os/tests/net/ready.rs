use crate::support::*;
use nezumi_core::runtime::{Builder, is_rt_shutdown_err};
use nezumi_core::spawn::spawn;
use nezumi_io::{Interest, Ready};
use nezumi_os::net::{TcpListener, TcpStream, UnixStream};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Closed reading is told to those who want to read, and not to those who want to write.
#[test]
fn nobody_is_told_of_what_he_did_not_ask() {
    on_each(|| async {
        let (a, mut b) = UnixStream::pair().unwrap();
        shutdown(&mut b).await.unwrap();
        let ready = a.ready(Interest::READABLE).await.unwrap();
        assert!(ready.is_read_closed() && ready.is_readable() && !ready.is_write_closed());
        assert_eq!(a.ready(Interest::WRITABLE).await.unwrap(), Ready::WRITABLE);
        let both = a.ready(Interest::READABLE | Interest::WRITABLE).await.unwrap();
        assert!(both.is_read_closed() && both.is_writable());
        assert!(poll_once(pin!(a.ready(Interest::PRIORITY))).is_ready(), "the end concerns urgent data, too");
        drop(b);
        a.try_read(&mut [0; 8]).unwrap();
        loop {
            let ready = a.ready(Interest::WRITABLE).await.unwrap();
            if ready.is_write_closed() {
                break;
            }
            yield_now().await;
        }
    });
}

#[test]
fn every_waiter_of_64_gets_its_turn() {
    on_each(|| async {
        let (a, mut b) = UnixStream::pair().unwrap();
        let a = Arc::new(a);
        let waiters: Vec<_> = (0..64)
            .map(|_| {
                let a = a.clone();
                spawn(async move {
                    loop {
                        a.readable().await.unwrap();
                        match a.try_read(&mut [0; 1]) {
                            Ok(n) => break n,
                            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
                        }
                    }
                })
            })
            .collect();
        for _ in 0..64 {
            yield_now().await;
            write_all(&mut b, b"x").await.unwrap();
        }
        for waiter in waiters {
            assert_eq!(waiter.await.unwrap(), 1);
        }
    });
}

/// Waiters of one direction are not held up, nor woken for nothing, by those of the other.
#[test]
fn directions_wait_on_their_own() {
    let runtime = current_thread();
    let _guard = runtime.enter();
    let (a, b) = UnixStream::pair().unwrap();
    while a.try_write(&[0; 4096]).is_ok() {}
    let ((reads, read_waker), (writes, write_waker)) = (Wakeups::new(), Wakeups::new());
    let (mut readable, mut writable) = (pin!(a.readable()), pin!(a.writable()));
    use std::future::Future;
    use std::task::Context;
    assert!(readable.as_mut().poll(&mut Context::from_waker(&read_waker)).is_pending());
    assert!(writable.as_mut().poll(&mut Context::from_waker(&write_waker)).is_pending());
    runtime.block_on(async {
        b.writable().await.unwrap();
        b.try_write(b"x").unwrap();
        a.readable().await.unwrap();
    });
    assert_eq!((reads.count(), writes.count()), (1, 0));
    runtime.block_on(async {
        let mut buf = vec![0; 1 << 20];
        while b.try_read(&mut buf).is_ok() {}
        a.writable().await.unwrap();
    });
    assert_eq!((reads.count(), writes.count()), (1, 1));
    assert!(poll_once(readable).is_ready() && poll_once(writable).is_ready());
}

/// A socket whose runtime has gone ends every wait with an error that programs can tell, on whatever runtime the task is.
#[test]
fn waits_end_with_the_runtime() {
    let (other, runtime) = (multi_thread(1), multi_thread(1));
    let (listener, stream, peer) = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (peer, _) = listener.accept().await.unwrap();
        (listener, stream, peer)
    });
    let mut peer = peer;
    let waits = [
        other.spawn(async move { listener.accept().await.map(drop).unwrap_err() }),
        other.spawn(async move { stream.readable().await.unwrap_err() }),
        other.spawn(async move { read(&mut peer, &mut [0; 8]).await.map(drop).unwrap_err() }),
    ];
    // Until they wait.
    other.block_on(async {
        for _ in 0..10 {
            yield_now().await;
        }
    });
    drop(runtime);
    for wait in waits {
        let error = other.block_on(wait).unwrap();
        assert!(is_rt_shutdown_err(&error), "{error:?}");
    }
}

#[test]
fn nothing_is_registered_after_the_end() {
    let runtime = current_thread();
    let handle = runtime.handle().clone();
    drop(runtime);
    let _guard = handle.enter();
    let error = UnixStream::pair().unwrap_err();
    assert!(is_rt_shutdown_err(&error), "{error:?}");
}

#[test]
fn counters_count() {
    let runtime = current_thread();
    let metrics = runtime.handle().metrics();
    runtime.block_on(async {
        let (mut a, mut b) = UnixStream::pair().unwrap();
        assert_eq!(metrics.io_driver_fd_registered_count(), 2);
        assert_eq!(metrics.io_driver_fd_deregistered_count(), 0);
        let before = metrics.io_driver_ready_count();
        write_all(&mut a, b"x").await.unwrap();
        read(&mut b, &mut [0; 8]).await.unwrap();
        assert!(metrics.io_driver_ready_count() > before);
        drop((a, b));
        assert_eq!(metrics.io_driver_fd_deregistered_count(), 2);
    });
}

/// Without the watch, which would see later that one worker has two tasks and another none.
#[test]
fn what_one_event_makes_runnable_is_shared_among_workers() {
    let mut builder = Builder::new_multi_thread();
    let rt = builder.worker_threads(2).watch(false).enable_all().build().unwrap();
    for _ in 0..5 {
        let met = Arc::new(AtomicUsize::new(0));
        let (a, mut b) = {
            let _inside = rt.enter();
            UnixStream::pair().unwrap()
        };
        let a = Arc::new(a);
        let tasks = [(); 2].map(|()| {
            let (a, met) = (a.clone(), met.clone());
            rt.spawn(async move {
                a.readable().await.unwrap();
                met.fetch_add(1, Ordering::SeqCst);
                let begun = Instant::now();
                while met.load(Ordering::SeqCst) < 2 && begun.elapsed() < Duration::from_secs(5) {
                    std::hint::spin_loop();
                }
                met.load(Ordering::SeqCst) == 2
            })
        });
        // Until both wait, and both workers sleep, one of them in the driver. Should they come late, this shows nothing.
        std::thread::sleep(Duration::from_millis(20));
        rt.block_on(write_all(&mut b, b"x")).unwrap();
        for task in tasks {
            assert!(rt.block_on(task).unwrap(), "one waited for the other's poll to end");
        }
    }
}
