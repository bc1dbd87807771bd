//! From what a program writes as an address to the addresses themselves.
//!
//! Called by the sockets' `bind`, `connect` and `send_to`. What needs no name service is answered at once and without an
//! allocation; names go to the OS, on a thread that may block.
//!
//! Tests: `addresses_need_no_lookup`, `names_are_looked_up`.

use nezumi_core::spawn::spawn_blocking;
use nezumi_core::task::JoinHandle;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sealed::{Addrs, Resolution, Resolve};

/// Whatever can be turned into one or more [`SocketAddr`]s, if need be by asking a name service.
///
/// Implemented for
///
/// - [`SocketAddr`], [`SocketAddrV4`], [`SocketAddrV6`], pairs of an IP address and a port, slices of `SocketAddr`: these are
///   addresses already;
/// - `str` and `String` as `"host:port"`, pairs of a `&str` or `String` and a port: an IP address is parsed, a host name is
///   looked up in the blocking pool by what the OS has for that.
///
/// It has no methods for others, and cannot be implemented by them; [`lookup_host`] makes use of it.
///
/// # Examples
///
/// ```
/// use nezumi::net::{ToSocketAddrs, UdpSocket};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// /// Takes whatever a program has that says where.
/// async fn call(whom: impl ToSocketAddrs) -> std::io::Result<UdpSocket> {
///     let socket = UdpSocket::bind(("127.0.0.1", 0)).await?;
///     socket.connect(whom).await?;
///     Ok(socket)
/// }
///
/// call("127.0.0.1:9").await.unwrap();
/// call((std::net::Ipv4Addr::LOCALHOST, 9)).await.unwrap();
/// # }
/// ```
pub trait ToSocketAddrs: Resolve {}

/// Looks a host name up.
///
/// Yields each address that the name service knows. What is an address already is not looked up.
///
/// # Errors
///
/// When the text is not `host:port`, or the name service knows no such host or does not answer.
///
/// # Panics
///
/// A name, outside a runtime.
///
/// # Cancel safety
///
/// Dropping the future leaves the lookup to itself: it cannot be stopped, and nobody learns of its result.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main]
/// # async fn main() -> std::io::Result<()> {
/// for addr in nezumi::net::lookup_host("localhost:3000").await? {
///     println!("{addr}");
/// }
/// # Ok(())
/// # }
/// ```
pub async fn lookup_host<T>(host: T) -> io::Result<impl Iterator<Item = SocketAddr>>
where
    T: ToSocketAddrs,
{
    resolve(host).await
}

/// The addresses that `addr` stands for.
pub(crate) fn resolve<A: ToSocketAddrs>(addr: A) -> Resolution {
    addr.resolve(sealed::Internal(()))
}

/// Tries the addresses that `addr` stands for, one after the other, until an attempt succeeds.
pub(crate) async fn each_addr<A: ToSocketAddrs, R>(
    addr: A,
    mut attempt: impl FnMut(SocketAddr) -> io::Result<R>,
) -> io::Result<R> {
    let mut last = None;
    for addr in resolve(addr).await? {
        match attempt(addr) {
            Ok(done) => return Ok(done),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(no_address))
}

/// What an attempt fails with if there was no address to try.
pub(crate) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any address")
}

pub(crate) mod sealed {
    use super::*;

    #[doc(hidden)]
    pub trait Resolve {
        #[doc(hidden)]
        fn resolve(&self, _: Internal) -> Resolution;
    }

    /// Only this crate can make one, so only this crate can call `resolve`.
    #[doc(hidden)]
    #[derive(Debug)]
    pub struct Internal(pub(super) ());

    /// The future of the addresses.
    #[doc(hidden)]
    #[derive(Debug)]
    pub struct Resolution(pub(super) State);

    #[derive(Debug)]
    pub(super) enum State {
        Known(Addrs),
        Asked(JoinHandle<io::Result<std::vec::IntoIter<SocketAddr>>>),
    }

    /// The addresses, one by one.
    #[doc(hidden)]
    #[derive(Debug)]
    pub enum Addrs {
        One(Option<SocketAddr>),
        Many(std::vec::IntoIter<SocketAddr>),
    }
}

impl Resolution {
    fn one(addr: impl Into<SocketAddr>) -> Self {
        Resolution(sealed::State::Known(Addrs::One(Some(addr.into()))))
    }

    /// Puts a question to the name service, which may take its time to answer.
    fn ask(question: impl FnOnce() -> io::Result<std::vec::IntoIter<SocketAddr>> + Send + 'static) -> Self {
        Resolution(sealed::State::Asked(spawn_blocking(question)))
    }
}

impl Future for Resolution {
    type Output = io::Result<Addrs>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Addrs>> {
        match &mut self.get_mut().0 {
            sealed::State::Known(addrs) => Poll::Ready(Ok(std::mem::replace(addrs, Addrs::One(None)))),
            sealed::State::Asked(task) => {
                let answer = ready!(Pin::new(task).poll(cx))?;
                Poll::Ready(answer.map(Addrs::Many))
            }
        }
    }
}

impl Iterator for Addrs {
    type Item = SocketAddr;

    fn next(&mut self) -> Option<SocketAddr> {
        match self {
            Addrs::One(addr) => addr.take(),
            Addrs::Many(addrs) => addrs.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self {
            Addrs::One(addr) => usize::from(addr.is_some()),
            Addrs::Many(addrs) => addrs.len(),
        };
        (left, Some(left))
    }
}

/// Each of these is a [`ToSocketAddrs`], by the expression.
macro_rules! resolves {
    ($($Type:ty: $this:ident => $resolution:expr;)*) => {$(
        impl ToSocketAddrs for $Type {}

        impl Resolve for $Type {
            fn resolve(&self, _: sealed::Internal) -> Resolution {
                let $this = self;
                $resolution
            }
        }
    )*};
}

resolves! {
    SocketAddr: addr => Resolution::one(*addr);
    SocketAddrV4: addr => Resolution::one(*addr);
    SocketAddrV6: addr => Resolution::one(*addr);
    (IpAddr, u16): addr => Resolution::one(*addr);
    (Ipv4Addr, u16): addr => Resolution::one(*addr);
    (Ipv6Addr, u16): addr => Resolution::one(*addr);
    &[SocketAddr]: addrs => Resolution(sealed::State::Known(Addrs::Many(Vec::from(*addrs).into_iter())));
    str: text => host_and_port(text);
    String: text => host_and_port(text);
    (&str, u16): pair => host(pair.0, pair.1);
    (String, u16): pair => host(&pair.0, pair.1);
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}

impl<T: Resolve + ?Sized> Resolve for &T {
    fn resolve(&self, internal: sealed::Internal) -> Resolution {
        (**self).resolve(internal)
    }
}

fn host_and_port(text: &str) -> Resolution {
    match text.parse::<SocketAddr>() {
        Ok(addr) => Resolution::one(addr),
        Err(_) => {
            let text = text.to_owned();
            Resolution::ask(move || std::net::ToSocketAddrs::to_socket_addrs(&text))
        }
    }
}

fn host(host: &str, port: u16) -> Resolution {
    match host.parse::<IpAddr>() {
        Ok(ip) => Resolution::one((ip, port)),
        Err(_) => {
            let host = host.to_owned();
            Resolution::ask(move || std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), port)))
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use nezumi_wake::block_on;

    fn check<A: ToSocketAddrs>(addr: A, expected: &[&str]) {
        let resolution = resolve(addr);
        assert!(matches!(resolution.0, sealed::State::Known(_)), "no name service is needed");
        let addrs = block_on(resolution).unwrap();
        assert_eq!(addrs.size_hint(), (expected.len(), Some(expected.len())));
        assert_eq!(addrs.map(|addr| addr.to_string()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn addresses_need_no_lookup() {
        let v4: SocketAddrV4 = "127.0.0.1:80".parse().unwrap();
        let v6: SocketAddrV6 = "[::1%3]:80".parse().unwrap();
        check(v4, &["127.0.0.1:80"]);
        check(v6, &["[::1%3]:80"]);
        check(SocketAddr::from(v4), &["127.0.0.1:80"]);
        check((*v4.ip(), 81), &["127.0.0.1:81"]);
        check((*v6.ip(), 81), &["[::1]:81"]);
        check((IpAddr::from(*v6.ip()), 81), &["[::1]:81"]);
        check(&[v4.into(), v6.into()][..], &["127.0.0.1:80", "[::1%3]:80"]);
        check(&[][..], &[]);
        check("127.0.0.1:80", &["127.0.0.1:80"]);
        check("[::1]:80".to_owned(), &["[::1]:80"]);
        let text = "[::1]:80".to_owned();
        check(&text, &["[::1]:80"]);
        check(("127.0.0.1", 80), &["127.0.0.1:80"]);
        check(("::1".to_owned(), 80), &["[::1]:80"]);
        let pair = ("::1", 80);
        check(pair, &["[::1]:80"]);
    }

    #[test]
    fn every_address_is_tried_until_one_serves() {
        let addrs: Vec<SocketAddr> = (1..=3).map(|port| (Ipv4Addr::LOCALHOST, port).into()).collect();
        let mut tried = Vec::new();
        let served = block_on(each_addr(&addrs[..], |addr| {
            tried.push(addr.port());
            if addr.port() == 2 { Ok(addr) } else { Err(io::Error::other("not this one")) }
        }));
        assert_eq!((served.unwrap(), tried), (addrs[1], vec![1, 2]));
        let fail = |addr: SocketAddr| Err::<(), _>(io::Error::other(addr.port().to_string()));
        assert_eq!(block_on(each_addr(&addrs[..], fail)).unwrap_err().to_string(), "3");
        let error = block_on(each_addr(&[][..], fail)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), "could not resolve to any address");
    }
}
