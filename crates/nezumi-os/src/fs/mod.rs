//! Files and directories.
//!
//! Few operating systems let a program wait for a file as it waits for a socket: a call returns when the disk has answered, and
//! the thread stands still until then. So what can block runs on the runtime's blocking threads. That hop costs ten to a hundred
//! times what the call itself costs when the OS has the answer in memory, so this room is built to hop seldom:
//!
//! - One hop per call. Whatever a call is made of ([`read`], [`write`](write()), [`copy`], [`create_dir_all`], a chunk of a directory) is
//!   done in one.
//! - None for bytes that are in memory. On Linux a read of a [`File`] first asks the OS for what it can give without waiting, and
//!   hops only for the rest (`file/nowait`).
//! - One for many small writes: they queue up behind the one that is under way (`file/behind`).
//!
//! In reading order: `paths` (what acts on a name), `dirs`, `whole` (a file at once), `read_dir`, `options`, `times`, `file` (an open
//! file, with a cursor). A submission queue of the OS (io_uring) would stand beside `on_pool` and `file/desk`: these two are the only
//! places that hand work over.
//!
//! Outside a runtime everything here panics, where it is first polled.
//!
//! Tests: `tests/fs`.

mod contents;
mod dirs;
mod file;
mod options;
mod paths;
mod read_dir;
mod times;
mod whole;

pub use dirs::{DirBuilder, create_dir, create_dir_all, remove_dir, remove_dir_all};
pub use file::File;
pub use options::OpenOptions;
#[cfg(unix)]
pub use paths::symlink;
pub use paths::{
    canonicalize, hard_link, metadata, read_link, remove_file, rename, set_permissions, symlink_metadata,
    try_exists,
};
#[cfg(windows)]
pub use paths::{symlink_dir, symlink_file};
pub use read_dir::{DirEntry, ReadDir, read_dir};
pub use times::FileTimes;
pub use whole::{copy, read, read_to_string, write};

use nezumi_core::spawn::spawn_blocking;
use std::io;

/// Runs `call` where it may block.
async fn on_pool<T, F>(call: F) -> io::Result<T>
where
    F: FnOnce() -> io::Result<T> + Send + 'static,
    T: Send + 'static,
{
    match spawn_blocking(call).await {
        Ok(result) => result,
        // It panicked, or the runtime shut down before it began.
        Err(_) => Err(io::Error::other("background task failed")),
    }
}
