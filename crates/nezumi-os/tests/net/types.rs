//! What of threads and panics the types allow: the same as programs know it.

use nezumi_io::Interest;
use nezumi_os::async_fd::*;
use nezumi_os::net::unix::{self, pipe};
use nezumi_os::net::*;
use std::cell::Cell;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

fn send_sync_unpin<T: Send + Sync + Unpin>() {}
fn unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
fn send_sync<T: Send + Sync>(_: &T) {}

#[test]
fn sockets_go_to_any_thread_and_survive_a_panic() {
    macro_rules! check {
        ($($Type:ty),* $(,)?) => {$(
            send_sync_unpin::<$Type>();
            unwind_safe::<$Type>();
        )*};
    }
    check!(
        TcpListener,
        TcpStream,
        TcpSocket,
        UdpSocket,
        UnixListener,
        UnixStream,
        UnixDatagram,
        UnixSocket,
        tcp::ReadHalf<'static>,
        tcp::WriteHalf<'static>,
        tcp::OwnedReadHalf,
        tcp::OwnedWriteHalf,
        tcp::ReuniteError,
        unix::ReadHalf<'static>,
        unix::WriteHalf<'static>,
        unix::OwnedReadHalf,
        unix::OwnedWriteHalf,
        unix::ReuniteError,
        unix::SocketAddr,
        unix::UCred,
        pipe::OpenOptions,
        pipe::Sender,
        pipe::Receiver,
    );
}

#[test]
fn futures_go_to_any_thread() {
    // Never called: only its types matter.
    struct Given<'a> {
        tcp: TcpStream,
        listener: TcpListener,
        udp: UdpSocket,
        unix: UnixStream,
        datagram: UnixDatagram,
        addr: SocketAddr,
        buf: &'a mut [u8],
    }
    fn check(Given { tcp, listener, udp, unix, datagram, addr, buf }: Given<'_>) {
        send_sync(&TcpStream::connect(addr));
        send_sync(&TcpStream::connect("localhost:1"));
        send_sync(&TcpListener::bind(addr));
        send_sync(&lookup_host(("localhost".to_owned(), 1)));
        send_sync(&listener.accept());
        send_sync(&tcp.ready(Interest::READABLE));
        send_sync(&tcp.readable());
        send_sync(&tcp.peek(buf));
        send_sync(&tcp.async_io(Interest::READABLE, || Ok(())));
        send_sync(&udp.recv_from(buf));
        send_sync(&udp.send_to(buf, addr));
        send_sync(&udp.peek_sender());
        send_sync(&unix.writable());
        send_sync(&UnixStream::connect("path"));
        send_sync(&datagram.recv(buf));
        send_sync(&datagram.send_to(buf, "path"));
    }
    let _: fn(Given<'_>) = check;
}

/// A descriptor that goes where its marker may.
struct Fd<M>(M);

impl<M> AsRawFd for Fd<M> {
    fn as_raw_fd(&self) -> RawFd {
        let _ = &self.0;
        unreachable!()
    }
}

/// Fails to compile where a type has a trait that it must not have: there are two answers then.
macro_rules! lacks {
    ($Type:ty: $Trait:path) => {{
        trait Either<A> {
            fn answer() {}
        }
        impl<T: ?Sized> Either<()> for T {}
        struct Has;
        impl<T: ?Sized + $Trait> Either<Has> for T {}
        <$Type as Either<_>>::answer();
    }};
}

#[test]
fn async_fd_goes_where_its_descriptor_may() {
    type Both = Fd<()>;
    type SendOnly = Fd<Cell<()>>;
    type Neither = Fd<Rc<()>>;
    send_sync_unpin::<AsyncFd<Both>>();
    send_sync_unpin::<AsyncFdReadyGuard<'static, Both>>();
    send_sync_unpin::<AsyncFdReadyMutGuard<'static, Both>>();
    send_sync_unpin::<AsyncFdRegisterError<Both>>();
    fn send<T: Send>() {}
    send::<AsyncFd<SendOnly>>();
    send::<AsyncFdReadyMutGuard<'static, SendOnly>>();
    lacks!(AsyncFd<SendOnly>: Sync);
    lacks!(AsyncFdReadyGuard<'static, SendOnly>: Send);
    lacks!(AsyncFdReadyGuard<'static, SendOnly>: Sync);
    lacks!(AsyncFd<Neither>: Send);
    lacks!(AsyncFdReadyMutGuard<'static, Neither>: Send);
}
