//! Child processes.
//!
//! In reading order: `command` (how one is started), `child` (one that was started), `pipes` (what it reads and writes), and for each
//! system a `Process` (waits for the end of one, kills it, leaves nothing behind) and the ends of its pipes. On Unix `pidfd` is how
//! the kernel tells of an end, and `orphans` with its `nurse` sees to those that nobody waits for any more.
//!
//! Promise: no zombie is left, whatever is dropped when; no signal goes to a process that is not the child any more; who holds no
//! [`Child`] after a failed `spawn` has no process either.
//!
//! Tests: `tests/process/`, each of importance once with `pidfd` and once without.

mod child;
mod command;
mod pipes;

#[cfg(unix)]
#[path = "unix/mod.rs"]
mod imp;
#[cfg(windows)]
#[path = "windows.rs"]
mod imp;

pub use child::Child;
pub use command::Command;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};
