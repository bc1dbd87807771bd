//! Taking in clients.
//!
//! One loop for each listener. Each client gets a task of its own, which runs `connection`.
//!
//! Promise: the loop never ends before the drain and never spins. When the process is out of file descriptors it waits,
//! each time longer and never in step with others, and goes on by itself once there are some again; clients wait in
//! the kernel's backlog meanwhile.
//!
//! Tests: below; `descriptors_run_out_and_come_back` in `tests/gateway/descriptors.rs`.

use super::connection;
use crate::listener::Listener;
use crate::proxy::{Proxy, is_out_of_descriptors};
use crate::session::Session;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// Shortest and longest wait after a failure to accept.
const FIRST_WAIT: Duration = Duration::from_millis(5);
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Accepts clients until the drain; `slots` says how many may be connected at once.
pub(super) async fn run(
    socket: TcpListener,
    listener: Arc<Listener>,
    proxy: Arc<Proxy>,
    slots: Arc<Semaphore>,
) {
    let drain = proxy.life.drain.clone();
    let accepting = async {
        let mut trouble = Trouble::default();
        loop {
            // Before the client is taken in: one too many waits in the backlog, where others may find it.
            let slot = Arc::clone(&slots).acquire_owned().await.expect("the semaphore is never closed");
            let (stream, peer) = next(&socket, &listener, &mut trouble).await;
            listener.figures.accepted.add(1);
            let session = Session::new(Arc::clone(&proxy), Arc::clone(&listener), peer);
            let client = Client::new(Arc::clone(&listener), slot);
            proxy.life.tasks.spawn(async move {
                let _client = client;
                connection::serve(stream, Arc::new(session)).await;
            });
        }
    };
    tokio::select! {
        biased;
        () = drain.cancelled() => {}
        () = accepting => {}
    }
}

/// The next client, however long that takes.
async fn next(socket: &TcpListener, listener: &Listener, trouble: &mut Trouble) -> (TcpStream, SocketAddr) {
    loop {
        match socket.accept().await {
            Ok(client) => {
                if let Some((failures, lasted)) = trouble.end() {
                    tracing::info!(address = %listener.address, failures, ?lasted, "accepting again");
                }
                return client;
            }
            // The client was gone before it was taken in.
            Err(error) if is_clients_fault(&error) => {}
            Err(error) => {
                listener.figures.accept_errors.add(1);
                if trouble.is_new() {
                    let scarce = is_out_of_descriptors(&error);
                    tracing::warn!(
                        address = %listener.address, %error, scarce,
                        "cannot accept; trying again (if `scarce`, raise the limit of open files)"
                    );
                }
                sleep(trouble.next_wait(fastrand::f64())).await;
            }
        }
    }
}

fn is_clients_fault(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Failures to accept, one after the other.
#[derive(Debug, Default)]
struct Trouble {
    failures: u32,
    since: Option<Instant>,
}

impl Trouble {
    fn is_new(&self) -> bool {
        self.failures == 0
    }

    /// How long to wait before the next try: twice as long each time, scattered by `random` (0 to 1) down to half.
    fn next_wait(&mut self, random: f64) -> Duration {
        self.since.get_or_insert_with(Instant::now);
        let doubled = FIRST_WAIT * 2_u32.pow(self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        doubled.min(LONGEST_WAIT).mul_f64(0.5 + random / 2.0)
    }

    /// How often and how long, if it was not over before.
    fn end(&mut self) -> Option<(u32, Duration)> {
        let trouble = std::mem::take(self);
        trouble.since.map(|since| (trouble.failures, since.elapsed()))
    }
}

/// Counts a client as connected while it lives.
struct Client {
    listener: Arc<Listener>,
    _slot: OwnedSemaphorePermit,
}

impl Client {
    fn new(listener: Arc<Listener>, slot: OwnedSemaphorePermit) -> Self {
        listener.figures.open.add(1);
        Self { listener, _slot: slot }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.listener.figures.open.sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_are_scattered() {
        let mut trouble = Trouble::default();
        assert!(trouble.is_new());
        assert_eq!(trouble.next_wait(1.0), FIRST_WAIT);
        assert_eq!(trouble.next_wait(1.0), FIRST_WAIT * 2);
        assert_eq!(trouble.next_wait(0.0), FIRST_WAIT * 2, "four times, scattered down to half");
        assert!(!trouble.is_new());
        for _ in 0..100 {
            assert!(trouble.next_wait(1.0) <= LONGEST_WAIT);
        }
        assert_eq!(trouble.end().map(|(failures, _)| failures), Some(103));
        assert_eq!(trouble.end(), None);
        assert_eq!(trouble.next_wait(1.0), FIRST_WAIT, "begins anew");
    }
}
