//! Signals of the OS, as streams of events.
//!
//! [`ctrl_c`] is there on every platform; [`unix`] has the rest. In reading order: `registry` (one per process: who listens to which
//! signal, and the pipe by which the handler tells), `unix` (what programs use).

#[cfg(unix)]
pub(crate) mod registry;
#[cfg(unix)]
pub mod unix;

#[cfg(unix)]
use std::io;

/// Completes when the process is told to interrupt: Ctrl-C on a terminal.
///
/// The first call changes what the signal does to the process, for good: it no longer ends it. Signals that come before the first poll of
/// this future are not seen; those that come between two calls are not either. For all of them, keep a [`unix::Signal`].
///
/// # Errors
///
/// When the handler could not be installed.
///
/// # Panics
///
/// Outside a runtime that has I/O enabled.
///
/// # Cancel safety
///
/// Nothing is lost but the listening itself.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main]
/// # async fn main() -> std::io::Result<()> {
/// nezumi::signal::ctrl_c().await?;
/// println!("told to stop");
/// # Ok(())
/// # }
/// ```
#[cfg(unix)]
pub async fn ctrl_c() -> io::Result<()> {
    unix::signal(unix::SignalKind::interrupt())?.recv().await;
    Ok(())
}
