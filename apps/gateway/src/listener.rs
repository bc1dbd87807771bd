//! An address that accepts clients, as sessions and metrics see it.

use crate::config;
use crate::metrics::ListenerFigures;
use std::net::SocketAddr;

/// A listener that is bound.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) settings: config::Listener,
    /// The address it got, which differs from the one asked for if that had port 0.
    pub(crate) address: SocketAddr,
    pub(crate) figures: ListenerFigures,
}

impl Listener {
    pub(crate) fn new(settings: config::Listener, address: SocketAddr) -> Self {
        Self { settings, address, figures: ListenerFigures::default() }
    }
}
