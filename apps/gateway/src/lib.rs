//! An HTTP/1.1 and HTTP/2 reverse proxy on Nezumi.
//!
//! The words, each for one thing:
//!
//! - *listener*: an address that accepts clients; *session*: one client's connection.
//! - *exchange*: one request and its response, from the first byte known to the last byte sent.
//! - *route*: which requests go where, within which limits; *group*: servers that stand in for one another;
//!   *member*: one of them.
//! - *link*: a connection to a member; *lease*: a link while an exchange uses it.
//! - *tunnel*: what an exchange becomes after `101 Switching Protocols`.
//!
//! The rooms, in the order in which a request meets them: `config` → `serve` (accept, session, drain) → `proxy` (route,
//! balance, link, forward, bodies, error pages) → `access_log` and `metrics`. `demo` is a client of all of it.

pub mod cli;
pub mod config;
pub mod demo;
pub mod metrics;
pub mod serve;

mod access_log;
mod descriptors;
mod life;
mod listener;
mod log;
mod proxy;
mod rank;
mod session;
