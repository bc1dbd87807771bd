use crate::support::*;
use nezumi_io::{Interest, Ready};
use nezumi_os::async_fd::AsyncFd;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::task::Context;

fn pair() -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    a.set_nonblocking(true).unwrap();
    b.set_nonblocking(true).unwrap();
    (a, b)
}

fn register(socket: UnixStream) -> AsyncFd<UnixStream> {
    // SAFETY: the stream keeps its descriptor until it is dropped.
    unsafe { AsyncFd::register(socket) }.unwrap()
}

#[test]
fn a_guard_clears_what_its_operation_refutes() {
    on_each(|| async {
        let (a, mut b) = pair();
        let a = register(a);
        assert!(poll_once(pin!(a.readable())).is_pending());
        b.write_all(b"abc").unwrap();
        let mut guard = a.readable().await.unwrap();
        assert!(guard.ready().is_readable());
        let mut buf = [0; 8];
        assert_eq!(guard.try_io(|a| a.get_ref().read(&mut buf)).unwrap().unwrap(), 3);
        // Still taken for ready, until somebody finds out.
        guard.retain_ready();
        drop(guard);
        let mut guard = a.readable().await.unwrap();
        assert!(guard.try_io(|a| a.get_ref().read(&mut buf)).is_err());
        assert_eq!(guard.ready(), Ready::EMPTY);
        assert!(poll_once(pin!(a.readable())).is_pending());
    });
}

#[test]
fn an_old_guard_does_not_clear_a_newer_event() {
    on_each(|| async {
        let (a, mut b) = pair();
        let a = register(a);
        b.write_all(b"a").unwrap();
        let mut old = a.readable().await.unwrap();
        let mut newer = a.readable().await.unwrap();
        newer.clear_ready();
        b.write_all(b"b").unwrap();
        drop(a.readable().await.unwrap());
        old.clear_ready();
        assert!(poll_once(pin!(a.readable())).is_ready(), "what came after the guard was made stays known");
    });
}

#[test]
fn directions_are_cleared_one_by_one() {
    on_each(|| async {
        let (a, mut b) = pair();
        let a = register(a);
        b.write_all(b"a").unwrap();
        drop(a.readable().await.unwrap());
        let mut guard = a.ready(Interest::READABLE | Interest::WRITABLE).await.unwrap();
        assert_eq!(guard.ready(), Ready::READABLE | Ready::WRITABLE);
        guard.clear_ready_matching(Ready::READABLE);
        assert_eq!(guard.ready(), Ready::WRITABLE);
        assert!(poll_once(pin!(a.readable())).is_pending());
        assert!(poll_once(pin!(a.writable())).is_ready());
        guard.clear_ready();
        assert!(poll_once(pin!(a.writable())).is_pending());
    });
}

#[test]
fn closed_stays_known_through_every_clearing() {
    on_each(|| async {
        let (a, b) = pair();
        let a = register(a);
        drop(b);
        for _ in 0..3 {
            let mut guard = a.readable().await.unwrap();
            assert!(guard.ready().is_read_closed());
            guard.clear_ready();
        }
    });
}

#[test]
fn mutable_guards_lend_mutably() {
    on_each(|| async {
        let (a, mut b) = pair();
        let mut a = register(a);
        b.write_all(b"abcdef").unwrap();
        let mut buf = [0; 2];
        {
            let mut guard = a.readable_mut().await.unwrap();
            assert_eq!(guard.get_inner_mut().read(&mut buf).unwrap(), 2);
            assert_eq!(guard.try_io(|a| a.get_mut().read(&mut buf)).unwrap().unwrap(), 2);
            assert!(
                format!("{guard:?}")
                    .starts_with("MutReadyGuard { async_fd: AsyncFd { inner: Some(UnixStream")
            );
        }
        assert_eq!(a.async_io_mut(Interest::READABLE, |a| a.read(&mut buf)).await.unwrap(), 2);
        let result = a.try_io_mut(Interest::READABLE, |a| a.read(&mut buf));
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(a.async_io(Interest::WRITABLE, |mut a| a.write(b"x")).await.unwrap(), 1);
        assert_eq!(a.try_io(Interest::WRITABLE, |mut a| a.write(b"y")).unwrap(), 1);
        assert_eq!(b.read(&mut buf).unwrap(), 2);
        drop(a.writable_mut().await.unwrap());
        drop(a.into_inner());
    });
}

#[test]
fn poll_forms_wake_the_last_task() {
    let runtime = current_thread();
    let (a, mut b) = pair();
    let mut a = {
        let _guard = runtime.enter();
        register(a)
    };
    let (wakeups, waker) = Wakeups::new();
    let mut cx = Context::from_waker(&waker);
    assert!(a.poll_read_ready(&mut cx).is_pending());
    assert!(a.poll_read_ready_mut(&mut cx).is_pending());
    b.write_all(b"a").unwrap();
    runtime.block_on(async { drop(a.readable().await.unwrap()) });
    assert_eq!(wakeups.count(), 1);
    assert!(a.poll_read_ready(&mut cx).is_ready());
    assert!(a.poll_write_ready(&mut cx).is_ready());
    assert!(a.poll_write_ready_mut(&mut cx).is_ready());
}

#[test]
fn a_descriptor_that_cannot_be_registered_comes_back() {
    current_thread().block_on(async {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        // SAFETY: a file keeps its descriptor until it is dropped.
        let error = unsafe { AsyncFd::register(file) }.unwrap_err();
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), error.to_string());
        let (file, cause) = error.into_parts();
        assert_eq!(cause.raw_os_error(), Some(libc::EPERM));
        file.metadata().unwrap();

        let (a, _b) = pair();
        let twice = a.as_fd_again();
        let _a = register(a);
        // SAFETY: `a` is there until the end.
        let error = unsafe { AsyncFd::register_with_interest(twice, Interest::READABLE) }.unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::AlreadyExists);
    });
}

trait Again {
    fn as_fd_again(&self) -> std::os::fd::RawFd;
}

impl Again for UnixStream {
    fn as_fd_again(&self) -> std::os::fd::RawFd {
        std::os::fd::AsRawFd::as_raw_fd(self)
    }
}

#[test]
fn what_is_taken_out_can_be_registered_again() {
    current_thread().block_on(async {
        let (mut a, mut b) = pair();
        for _ in 0..10 {
            let fd = register(a);
            b.write_all(b"a").unwrap();
            drop(fd.readable().await.unwrap());
            a = fd.into_inner();
            assert_eq!(a.read(&mut [0; 8]).unwrap(), 1);
        }
    });
}

#[test]
#[cfg(target_os = "linux")]
fn urgent_data_is_a_readiness_of_its_own() {
    use std::os::fd::AsRawFd;
    on_each(|| async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        // SAFETY: the stream keeps its descriptor until it is dropped.
        let server = unsafe { AsyncFd::register_with_interest(server, Interest::PRIORITY) }.unwrap();
        assert!(poll_once(pin!(server.ready(Interest::PRIORITY))).is_pending());
        // SAFETY: one byte is read from the pointer.
        assert_eq!(unsafe { libc::send(client.as_raw_fd(), b"!".as_ptr().cast(), 1, libc::MSG_OOB) }, 1);
        let guard = server.ready(Interest::PRIORITY).await.unwrap();
        assert!(guard.ready().is_priority());
    });
}

#[test]
#[allow(deprecated)]
fn the_former_constructors_still_serve() {
    current_thread().block_on(async {
        let (a, b) = pair();
        let (c, d) = pair();
        drop(AsyncFd::new(a).unwrap().writable().await.unwrap());
        drop(AsyncFd::with_interest(b, Interest::READABLE).unwrap().readable().await.unwrap());
        drop(AsyncFd::try_new(c).unwrap().into_inner());
        drop(AsyncFd::try_with_interest(d, Interest::WRITABLE).unwrap());
    });
}
