//! What an exchange becomes after `101 Switching Protocols`: bytes both ways.
//!
//! Started by `mod`. A tunnel has no end of its own that a drain could wait for, so it ends when a drain begins.
//!
//! Tests: `tests/gateway/upgrades.rs`.

use super::exchange::{Ending, Exchange};
use crate::rank;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

/// Both ends of a tunnel, before either connection has been handed over.
#[derive(Debug)]
pub(super) struct Tunnel {
    pub(super) client: OnUpgrade,
    pub(super) upstream: OnUpgrade,
}

impl Tunnel {
    /// Carries bytes both ways until either end closes for good, or a drain begins; then ends `exchange`.
    pub(super) fn start(self, exchange: Exchange) {
        exchange.expect_no_end();
        let priority = exchange.priority();
        let life = exchange.session.proxy.life.clone();
        let carried = life.tasks.clone().track_future(async move {
            // Bound here, so that all of it lives as long as the tunnel and not only the fields that are used.
            let mut exchange = exchange;
            exchange.ending = Ending::Done;
            tokio::select! {
                bytes = self.carry() => exchange.bytes_out = bytes.unwrap_or(0),
                () = life.drain.cancelled() => {}
            }
        });
        drop(rank::spawn(priority, carried));
    }

    /// Bytes from upstream to the client.
    async fn carry(self) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
        let (client, upstream) = tokio::try_join!(self.client, self.upstream)?;
        let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
        let (_, out) = copy_bidirectional(&mut client, &mut upstream).await?;
        Ok(out)
    }
}
