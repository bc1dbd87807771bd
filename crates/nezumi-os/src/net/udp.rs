use crate::evented::{PollEvented, into_buf, into_read_buf};
use crate::net::forward::{poll_readable, poll_writable, ready_methods, socket_traits};
use crate::net::options::ip_options;
use crate::net::{ToSocketAddrs, addr, check_nonblocking, each_addr};
use bytes::BufMut;
use nezumi_io::{Interest, ReadBuf, Ready};
use socket2::{SockAddr, SockRef};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::task::{Context, Poll};

/// What a task that receives waits for: a datagram, or an error that the OS has kept, such as that the peer's port is
/// closed.
const RECEIVE: Interest = Interest::READABLE.add(Interest::ERROR);

/// A socket for datagrams over UDP.
///
/// Two ways to use it:
///
/// - one to many: [`bind`](Self::bind) it, then [`send_to`](Self::send_to) and [`recv_from`](Self::recv_from);
/// - one to one: [`connect`](Self::connect) it as well, then [`send`](Self::send) and [`recv`](Self::recv), which meet that
///   peer only.
///
/// All methods take `&self`, so several tasks can share it in an `Arc` without splitting it.
///
/// # Examples
///
/// ```no_run
/// use nezumi::net::UdpSocket;
///
/// #[nezumi::main]
/// async fn main() -> std::io::Result<()> {
///     let socket = UdpSocket::bind("0.0.0.0:8080").await?;
///     let mut buf = [0; 1500];
///     loop {
///         let (len, peer) = socket.recv_from(&mut buf).await?;
///         socket.send_to(&buf[..len], peer).await?;
///     }
/// }
/// ```
pub struct UdpSocket {
    io: PollEvented<mio::net::UdpSocket>,
}

impl UdpSocket {
    /// A socket with the address `addr`, a port of 0 standing for any that is free.
    ///
    /// If `addr` stands for several addresses, the first that can be bound is taken.
    ///
    /// # Errors
    ///
    /// The last address's, when none can be bound; `InvalidInput` when there is none.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it leaves no socket behind.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        each_addr(addr, |addr| UdpSocket::new(mio::net::UdpSocket::bind(addr)?)).await
    }

    #[track_caller]
    fn new(socket: mio::net::UdpSocket) -> io::Result<UdpSocket> {
        Ok(UdpSocket { io: PollEvented::new(socket)? })
    }

    /// Takes a socket of the standard library over. It must not block: call `set_nonblocking(true)` on it first.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver; in builds with debug assertions, if the socket blocks.
    #[track_caller]
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<UdpSocket> {
        check_nonblocking(&socket)?;
        UdpSocket::new(mio::net::UdpSocket::from_std(socket))
    }

    /// Gives the socket to the standard library. It does not block; call `set_nonblocking(false)` on it if it is to.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
        self.io.into_inner().map(Into::into)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The address that the socket is connected to.
    ///
    /// # Errors
    ///
    /// Those of the OS: `NotConnected` if it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
    }

    /// Connects the socket: [`send`](Self::send) sends to `addr` from now on, and only what comes from there is received.
    ///
    /// If `addr` stands for several addresses, the first that the OS takes is used. Nothing is sent, so nobody need be there.
    ///
    /// # Errors
    ///
    /// The last address's, when none is taken; `InvalidInput` when there is none.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has not connected the socket.
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        each_addr(addr, |addr| self.io.connect(addr)).await
    }

    /// The error that the OS keeps for the socket (`SO_ERROR`), which it then forgets.
    ///
    /// # Errors
    ///
    /// When the OS does not even say that.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    ready_methods!();
    poll_readable!(poll_recv_ready);
    poll_writable!(poll_send_ready);

    fn sock_ref(&self) -> SockRef<'_> {
        SockRef::from(self)
    }
}

/// Sending. A datagram goes as a whole or not at all.
impl UdpSocket {
    /// Sends `buf` to the peer that the socket is connected to. Returns how many bytes that was.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has sent nothing.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.async_io(Interest::WRITABLE, |io| io.send(buf)).await
    }

    /// The `poll` form of [`send`](Self::send). Of the tasks that send in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io.poll_write_io(cx, |io| io.send(buf))
    }

    /// Sends without waiting. As [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room, without a system call if that is known; those of the OS.
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |io| io.send(buf))
    }

    /// Sends `buf` to `addr`, or, if that stands for several addresses, to the first of them. Returns how many bytes that was.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down; `InvalidInput` when there is no address.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has sent nothing.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let target = addr::resolve(addr).await?.next();
        let target = target
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no addresses to send data to"))?;
        self.io.async_io(Interest::WRITABLE, |io| io.send_to(buf, target)).await
    }

    /// The `poll` form of [`send_to`](Self::send_to). Of the tasks that send in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// Those of the OS, and when the runtime has been shut down.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_io(cx, |io| io.send_to(buf, target))
    }

    /// Sends without waiting. As [`send_to`](Self::send_to).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room, without a system call if that is known; those of the OS.
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |io| io.send_to(buf, target))
    }
}

/// How one receives into memory that need not be initialised: each of the forms below is one of these.
type Receive<A> = fn(SockRef<'_>, &mut [MaybeUninit<u8>]) -> io::Result<(usize, A)>;

const RECV: Receive<()> = |socket, buf| Ok((socket.recv(buf)?, ()));
const PEEK: Receive<()> = |socket, buf| Ok((socket.peek(buf)?, ()));
const RECV_FROM: Receive<SocketAddr> = |socket, buf| with_sender(socket.recv_from(buf)?);
const PEEK_FROM: Receive<SocketAddr> = |socket, buf| with_sender(socket.peek_from(buf)?);

fn with_sender((len, addr): (usize, SockAddr)) -> io::Result<(usize, SocketAddr)> {
    Ok((len, sender(&addr)?))
}

fn sender(addr: &SockAddr) -> io::Result<SocketAddr> {
    addr.as_socket().ok_or_else(|| io::Error::other("sender not available"))
}

/// Receiving. A datagram that is longer than the buffer is cut off: what does not fit is lost.
impl UdpSocket {
    fn poll_receive<A>(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        receive: Receive<A>,
    ) -> Poll<io::Result<A>> {
        let receive = |io: &mio::net::UdpSocket, buf: &mut ReadBuf<'_>| {
            into_read_buf(buf, |unfilled| io.try_io(|| receive(SockRef::from(io), unfilled)))
        };
        self.io.poll_read_io(cx, |io| receive(io, buf)).map_ok(|(_, from)| from)
    }

    fn try_receive_buf<A>(&self, buf: &mut impl BufMut, receive: Receive<A>) -> io::Result<(usize, A)> {
        self.io.try_io(Interest::READABLE, |io| {
            into_buf(buf, |unfilled| io.try_io(|| receive(SockRef::from(io), unfilled)))
        })
    }

    async fn receive_buf<A>(&self, buf: &mut impl BufMut, receive: Receive<A>) -> io::Result<(usize, A)> {
        self.io
            .async_io(RECEIVE, |io| {
                into_buf(buf, |unfilled| io.try_io(|| receive(SockRef::from(io), unfilled)))
            })
            .await
    }

    /// Receives a datagram from the peer that the socket is connected to. Returns its length, as far as it fitted.
    ///
    /// # Errors
    ///
    /// Those of the OS, among them what became of datagrams sent before, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(RECEIVE, |io| io.recv(buf)).await
    }

    /// The `poll` form of [`recv`](Self::recv). Of the tasks that receive in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_receive(cx, buf, RECV)
    }

    /// Receives without waiting. As [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |io| io.recv(buf))
    }

    /// Receives without waiting, to the end of `buf`, and moves that on. As [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.try_receive_buf(buf, RECV).map(|(len, ())| len)
    }

    /// Receives to the end of `buf`, and moves that on. As [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.receive_buf(buf, RECV).await.map(|(len, ())| len)
    }

    /// Receives a datagram from anybody. Returns its length, as far as it fitted, and whom it came from.
    ///
    /// # Errors
    ///
    /// Those of the OS, among them what became of datagrams sent before, and when the runtime has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(RECEIVE, |io| io.recv_from(buf)).await
    }

    /// The `poll` form of [`recv_from`](Self::recv_from). Of the tasks that receive in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        self.poll_receive(cx, buf, RECV_FROM)
    }

    /// Receives without waiting. As [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, |io| io.recv_from(buf))
    }

    /// Receives without waiting, to the end of `buf`, and moves that on. As [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.try_receive_buf(buf, RECV_FROM)
    }

    /// Receives to the end of `buf`, and moves that on. As [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has received nothing.
    pub async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SocketAddr)> {
        self.receive_buf(buf, RECV_FROM).await
    }

    /// Copies a datagram from the connected peer without taking it: the next receive returns it once more.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has taken nothing, as it does in no case.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(RECEIVE, |io| io.peek(buf)).await
    }

    /// The `poll` form of [`peek`](Self::peek). Of the tasks that receive in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_receive(cx, buf, PEEK)
    }

    /// Peeks without waiting. As [`peek`](Self::peek).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |io| io.peek(buf))
    }

    /// Copies a datagram without taking it: the next receive returns it once more. Tells whom it came from.
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has taken nothing, as it does in no case.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(RECEIVE, |io| io.peek_from(buf)).await
    }

    /// The `poll` form of [`peek_from`](Self::peek_from). Of the tasks that receive in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        self.poll_receive(cx, buf, PEEK_FROM)
    }

    /// Peeks without waiting. As [`peek_from`](Self::peek_from).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, |io| io.peek_from(buf))
    }

    /// Tells whom the next datagram came from, without taking it. It may be gone by the time it is received, as when the OS
    /// finds its checksum wrong.
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has taken nothing, as it does in no case.
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.async_io(RECEIVE, peek_sender).await
    }

    /// The `poll` form of [`peek_sender`](Self::peek_sender). Of the tasks that receive in this form only the last is woken.
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.poll_read_io(cx, peek_sender)
    }

    /// Tells the sender without waiting. As [`peek_sender`](Self::peek_sender).
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing is there, without a system call if that is known; those of the OS.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(Interest::READABLE, peek_sender)
    }
}

fn peek_sender(io: &mio::net::UdpSocket) -> io::Result<SocketAddr> {
    io.try_io(|| sender(&SockRef::from(io).peek_sender()?))
}

/// Options.
impl UdpSocket {
    /// Whether datagrams may be sent to all of a network (`SO_BROADCAST`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.io.broadcast()
    }

    /// Allows to send datagrams to all of a network (`SO_BROADCAST`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_broadcast(&self, on: bool) -> io::Result<()> {
        self.io.set_broadcast(on)
    }

    /// Whether what is sent to a group over IPv4 comes back to this machine (`IP_MULTICAST_LOOP`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.io.multicast_loop_v4()
    }

    /// Has what is sent to a group over IPv4 come back to this machine (`IP_MULTICAST_LOOP`), or not.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.io.set_multicast_loop_v4(on)
    }

    /// How many routers a packet to a group may pass over IPv4 (`IP_MULTICAST_TTL`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.io.multicast_ttl_v4()
    }

    /// Sets how many routers a packet to a group may pass over IPv4 (`IP_MULTICAST_TTL`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.io.set_multicast_ttl_v4(ttl)
    }

    /// Whether what is sent to a group over IPv6 comes back to this machine (`IPV6_MULTICAST_LOOP`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.io.multicast_loop_v6()
    }

    /// Has what is sent to a group over IPv6 come back to this machine (`IPV6_MULTICAST_LOOP`), or not.
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.io.set_multicast_loop_v6(on)
    }

    /// How many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets how many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
    }

    /// Has what is sent to the group `multiaddr` received through the interface with the address `interface`; the OS chooses
    /// one if that is 0.0.0.0 (`IP_ADD_MEMBERSHIP`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn join_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.join_multicast_v4(&multiaddr, &interface)
    }

    /// Has what is sent to the group `multiaddr` received through the interface number `interface`; the OS chooses one if that
    /// is 0 (`IPV6_ADD_MEMBERSHIP`).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.join_multicast_v6(multiaddr, interface)
    }

    /// Undoes [`join_multicast_v4`](Self::join_multicast_v4).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn leave_multicast_v4(&self, multiaddr: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.io.leave_multicast_v4(&multiaddr, &interface)
    }

    /// Undoes [`join_multicast_v6`](Self::join_multicast_v6).
    ///
    /// # Errors
    ///
    /// Those of the OS.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.leave_multicast_v6(multiaddr, interface)
    }

    ip_options!();
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

socket_traits!(UdpSocket, std::net::UdpSocket);
