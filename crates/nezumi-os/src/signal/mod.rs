//! Signals of the OS, as streams of events.
//!
//! [`ctrl_c`] is there on every platform; `unix` and `windows` have the rest, each on its own. In reading order: `line` (who waits for one
//! signal), `registry` (on Unix: what the handler does, and how a driver learns of it), `unix` and `windows` (what programs use).

pub(crate) mod line;
#[cfg(unix)]
pub(crate) mod registry;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

use std::io;

/// Completes when the process is told to interrupt: Ctrl-C on a terminal.
///
/// The first call changes what the signal does to the process, for good: it no longer ends it. Signals that come before the first poll of
/// this future are not seen; those that come between two calls are not either. For all of them, keep what `unix::signal` or
/// `windows::ctrl_c` returns.
///
/// # Errors
///
/// When the handler could not be installed.
///
/// # Panics
///
/// On Unix, outside a runtime that has I/O enabled.
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
pub async fn ctrl_c() -> io::Result<()> {
    #[cfg(unix)]
    unix::signal(unix::SignalKind::interrupt())?.recv().await;
    #[cfg(windows)]
    windows::ctrl_c()?.recv().await;
    Ok(())
}
