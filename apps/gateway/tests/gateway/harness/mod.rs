//! What all tests use: a gateway, servers behind it, clients before it, and the program as a process.

mod client;
mod process;
mod server;

pub(crate) use client::{Answer, Client, ask, exchange, get, post, raw};
pub(crate) use process::{Process, program};
pub(crate) use server::{Server, text};

use gateway::config::Config;
use gateway::serve::{Drained, Gateway};
use std::fmt::Display;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// No test waits longer for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A gateway in this process.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Drained>,
}

impl Proxy {
    /// One listener with `listener` keys, then `rest` as it is.
    pub(crate) fn start(listener: &str, rest: &str) -> Self {
        Self::with(&format!("[[listener]]\naddress = \"127.0.0.1:0\"\n{listener}\n{rest}"))
    }

    /// One group `g` of `members`, and one route to it with `route` keys.
    pub(crate) fn to(members: &[&dyn Display], route: &str) -> Self {
        Self::start("", &to(members, route))
    }

    pub(crate) fn with(text: &str) -> Self {
        let config = Config::parse(text, "test.toml").unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let gateway = Gateway::bind(&config).expect("a free port");
        let address = gateway.addresses()[0];
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(gateway.run(async { drop(stopped.await) }, std::future::pending()));
        Self { address, stop, running }
    }

    /// Drains it.
    pub(crate) async fn stop(self) -> Drained {
        drop(self.stop);
        timeout(PATIENCE, self.running).await.expect("it drains").expect("no panic")
    }

    /// The value of a sample on the metrics page; 0 if it is not there.
    pub(crate) async fn metric(&self, sample: &str) -> f64 {
        let page = get(self.address, "/_gateway/metrics").await.body;
        let line = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().expect("a number"))
    }

    /// Waits until a sample has `value`.
    pub(crate) async fn until_metric(&self, sample: &str, value: f64) {
        until(&format!("{sample} = {value}"), async || self.metric(sample).await == value).await;
    }
}

/// The configuration of one group `g` of `members`, and one route to it with `route` keys.
pub(crate) fn to(members: &[&dyn Display], route: &str) -> String {
    format!("{}\n[[route]]\nname = \"r\"\nupstream = \"g\"\n{route}\n", group(members, ""))
}

/// The configuration of one group `g` of `members` with `keys`.
pub(crate) fn group(members: &[&dyn Display], keys: &str) -> String {
    let list = members.iter().map(|member| format!("\"{member}\"")).collect::<Vec<_>>().join(",");
    format!("[[upstream]]\nname = \"g\"\nmembers = [{list}]\n{keys}\n")
}

/// An address that nobody else takes while this exists: connections are refused until a server of the test listens.
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    _socket: socket2::Socket,
}

impl Place {
    pub(crate) fn reserve() -> Self {
        use socket2::{Domain, Socket, Type};
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        // Two sockets may have one address as long as only one of them listens.
        socket.set_reuse_address(true).expect("an option");
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
        let address = socket.local_addr().expect("an address").as_socket().expect("an address");
        Self { address, _socket: socket }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}

/// Waits until `condition` holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for `future`, not for ever.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}
