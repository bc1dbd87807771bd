//! The gateway at work: bind, accept, drain.
//!
//! - `accept`: takes clients in.
//! - `connection`: serves one of them.
//! - `sniff`: tells HTTP/1 from HTTP/2.
//!
//! Promise: a drain takes nothing new, finishes what is under way, and ends within its limit whatever clients do.
//!
//! Tests: `tests/gateway/drain.rs`.

mod accept;
mod connection;
mod sniff;

use crate::config::Config;
use crate::listener::Listener;
use crate::proxy::Proxy;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Clients that may wait to be accepted.
const BACKLOG: u32 = 4096;

/// How long tasks that were told to stop at once may take to do so.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// A gateway that listens and does not serve yet.
///
/// # Examples
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = r#"
///     [[listener]]
///     address = "127.0.0.1:0"
///     [[upstream]]
///     name = "web"
///     members = ["127.0.0.1:9000"]
///     [[route]]
///     upstream = "web"
/// "#;
/// let config = gateway::config::Config::parse(text, "gateway.toml")?;
/// let gateway = gateway::serve::Gateway::bind(&config)?;
/// println!("listening on {}", gateway.addresses()[0]);
///
/// let stop = async {}; // at once; a real program waits for a signal here
/// let drained = gateway.run(stop, std::future::pending()).await;
/// assert_eq!(drained, gateway::serve::Drained::Clean);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gateway {
    proxy: Arc<Proxy>,
    sockets: Vec<TcpListener>,
    max_connections: usize,
    drain_timeout: Duration,
}

/// How a drain went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Everything under way was finished.
    Clean,
    /// So many connections were cut, because the limit was reached or somebody was in a hurry.
    Cut(usize),
}

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    address: SocketAddr,
    error: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mend = match self.error.kind() {
            io::ErrorKind::AddrInUse => "stop the program that has it, or choose another address",
            io::ErrorKind::PermissionDenied => {
                "choose a port from 1024 up, or give the program the right to this one"
            }
            io::ErrorKind::AddrNotAvailable => {
                "choose an address that this machine has, or 0.0.0.0 for all of them"
            }
            _ => "choose another address",
        };
        write!(f, "cannot listen on {}: {}\n  mend: {mend}", self.address, self.error)
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Gateway {
    /// Listens on every address of `config`. Clients wait in the backlog until [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// The first address that cannot be listened on, with the reason.
    ///
    /// # Panics
    ///
    /// If called outside a runtime.
    pub fn bind(config: &Config) -> Result<Self, BindError> {
        let mut sockets = Vec::new();
        let mut listeners = Vec::new();
        for settings in &config.listeners {
            let failed = |error| BindError { address: settings.address, error };
            let socket = listen(settings.address).map_err(failed)?;
            let address = socket.local_addr().map_err(failed)?;
            sockets.push(socket);
            listeners.push(Arc::new(Listener::new(settings.clone(), address)));
        }
        Ok(Self {
            proxy: Proxy::new(config, listeners),
            sockets,
            max_connections: config.server.max_connections,
            drain_timeout: config.server.drain_timeout,
        })
    }

    /// The addresses it listens on, in the order of the configuration.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.proxy.listeners.iter().map(|listener| listener.address).collect()
    }

    /// Serves until `stop`, then drains: within the limit of the configuration, or until `hurry`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future begins the drain without waiting for it; only a finished `run` has ended every connection.
    pub async fn run(self, stop: impl Future<Output = ()>, hurry: impl Future<Output = ()>) -> Drained {
        let life = self.proxy.life.clone();
        let slots = Arc::new(Semaphore::new(self.max_connections));
        self.proxy.start();
        for (socket, listener) in self.sockets.into_iter().zip(&self.proxy.listeners) {
            let (listener, proxy) = (Arc::clone(listener), Arc::clone(&self.proxy));
            life.tasks.spawn(accept::run(socket, listener, proxy, Arc::clone(&slots)));
        }
        // Also if this future is dropped.
        let drain = life.drain.clone().drop_guard();
        stop.await;
        drop(drain);
        life.tasks.close();
        tokio::select! {
            biased;
            () = life.tasks.wait() => return Drained::Clean,
            () = hurry => {}
            () = tokio::time::sleep(self.drain_timeout) => {}
        }
        let left = self.max_connections - slots.available_permits();
        life.cut.cancel();
        // What is left cannot wait for anything any more, so this takes a moment only.
        let _ = timeout(LAST_MOMENT, life.tasks.wait()).await;
        Drained::Cut(left)
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
