//! Files and directories.
//!
//! ```
//! # #[nezumi::main] async fn main() -> std::io::Result<()> {
//! let mut entries = nezumi::fs::read_dir(".").await?;
//! while let Some(entry) = entries.next_entry().await? {
//!     if entry.file_type().await?.is_file() {
//!         let contents = nezumi::fs::read(entry.path()).await?;
//!         println!("{}: {} bytes", entry.path().display(), contents.len());
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Few operating systems let a program wait for a file as it waits for a socket, so most calls here run on the runtime's blocking
//! threads, and each costs a hop between threads. Calls that do much at once ([`read`], [`write`](write()), [`copy`], a large read of a
//! [`File`]) pay for one hop; many small writes are better put behind a `BufWriter`, and a long series of steps into one
//! `spawn_blocking`. Reads of a [`File`] whose bytes the OS has in memory need no hop on Linux.

#[doc(inline)]
pub use nezumi_os::fs::{
    DirBuilder, DirEntry, File, FileTimes, OpenOptions, ReadDir, canonicalize, copy, create_dir,
    create_dir_all, hard_link, metadata, read, read_dir, read_link, read_to_string, remove_dir,
    remove_dir_all, remove_file, rename, set_permissions, symlink_metadata, try_exists, write,
};

#[cfg(unix)]
#[doc(inline)]
pub use nezumi_os::fs::symlink;

#[cfg(windows)]
#[doc(inline)]
pub use nezumi_os::fs::{symlink_dir, symlink_file};
