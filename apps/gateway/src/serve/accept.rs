//! Taking in clients.
//!
//! One loop for each listener. Each client gets a task of its own, which runs `connection`.
//!
//! Promise: the loop never ends before the drain and never spins. When the process is out of file descriptors it waits, as
//! [`AcceptBackoff`] does, and goes on by itself once there are some again; clients wait in the kernel's backlog meanwhile.
//!
//! Test: `descriptors_run_out_and_come_back` in `tests/gateway/descriptors.rs`.

use super::connection;
use crate::listener::Listener;
use crate::proxy::{Proxy, is_out_of_descriptors};
use crate::session::Session;
use nezumi::net::AcceptBackoff;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Accepts clients until the drain; `slots` says how many may be connected at once.
pub(super) async fn run(
    socket: TcpListener,
    listener: Arc<Listener>,
    proxy: Arc<Proxy>,
    slots: Arc<Semaphore>,
) {
    let drain = proxy.life.drain.clone();
    let accepting = async {
        let mut backoff = AcceptBackoff::new();
        loop {
            // Before the client is taken in: one too many waits in the backlog, where others may find it.
            let slot = Arc::clone(&slots).acquire_owned().await.expect("the semaphore is never closed");
            let (stream, peer) = next(&socket, &listener, &mut backoff).await;
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
async fn next(
    socket: &TcpListener,
    listener: &Listener,
    backoff: &mut AcceptBackoff,
) -> (TcpStream, SocketAddr) {
    loop {
        backoff.wait().await;
        let error = match socket.accept().await {
            Ok(client) => {
                if let Some((failures, lasted)) = backoff.succeeded() {
                    tracing::info!(address = %listener.address, failures, ?lasted, "accepting again");
                }
                return client;
            }
            Err(error) => error,
        };
        let (scarce, told, earlier) = (is_out_of_descriptors(&error), error.to_string(), backoff.failures());
        if backoff.failed(error).is_err() {
            tracing::error!(address = %listener.address, error = told, "cannot accept any more");
            return std::future::pending().await;
        }
        // Those that were the client's fault do not count.
        if backoff.failures() > earlier {
            listener.figures.accept_errors.add(1);
            if earlier == 0 {
                tracing::warn!(
                    address = %listener.address, error = told, scarce,
                    "cannot accept; trying again (if `scarce`, raise the limit of open files)"
                );
            }
        }
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
