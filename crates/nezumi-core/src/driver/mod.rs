//! What a runtime waits for beside its own tasks: the readiness of sockets, pipes and other file descriptors.
//!
//! One OS selector (epoll, kqueue, IOCP, through `mio`), edge-triggered, in which each resource is registered once. In
//! reading order:
//!
//! - [`Readiness`]: what a resource is ready for, in one byte.
//! - `word`: all that is known of one resource, in one word; pure transitions.
//! - `slot`: that word and the places of those who wait for it to change.
//! - `waiter`: one of many who wait for the same resource.
//! - `slots`: where slots live, and the tokens that name them to the OS.
//! - [`Driver`], `turn`: one pass: wait, dispatch, wake.
//! - [`Handle`]: the side that everybody shares.
//! - [`Registration`]: what a socket holds.
//! - `hook`: code that runs when a pipe of ours becomes readable, for signals.
//!
//! The way of an event: `turn` takes it from the selector; the token's index finds the slot and its generation tells
//! whether the slot still belongs to the resource the event is about; one CAS sets readiness and says who waits; the wakers
//! are collected in a [`WakeList`](nezumi_wake::WakeList) and woken, under no lock. The task polls again, and its socket
//! tries the operation; if that would block, or did less than was asked, the readiness it saw is cleared, unless a newer
//! event has come in between.
//!
//! Knows nothing of tasks and of who turns it. The scheduler keeps the [`Driver`] behind a lock and lets one thread at a
//! time turn it, and the [`Handle`] in the runtime's shared state.

mod handle;
mod hook;
mod readiness;
mod registration;
mod slot;
mod slots;
mod turn;
mod waiter;
mod word;

pub use handle::Handle;
pub use readiness::Readiness;
pub use registration::{Keeper, Registration};
pub use turn::{Driver, Turned};
pub use word::ReadyEvent;

/// What a wait ends with when the driver has been shut down. `runtime::is_rt_shutdown_err` knows it by this text.
pub const SHUT_DOWN: &str = "A Tokio 1.x context was found, but it is being shutdown.";

/// The error of whoever uses I/O after the runtime's end.
pub fn gone() -> std::io::Error {
    std::io::Error::other(SHUT_DOWN)
}

#[cfg(all(test, nezumi_loom))]
mod models;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;
