//! Files and directories.
//!
//! Operating systems have few ways to wait for a file, so each call here runs on the runtime's blocking threads. That
//! costs a hop between threads: read and write in large pieces ([`read`], [`write`], a `BufReader` around a [`File`]),
//! and put a whole series of steps into one [`spawn_blocking`](crate::task::spawn_blocking) of your own where it counts.

#[cfg(windows)]
#[doc(inline)]
pub use nezumi_os::fs::{symlink_dir, symlink_file};
