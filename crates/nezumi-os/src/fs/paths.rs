//! What acts on a name in the file system: each is the function of the same name in [`std::fs`], in one hop.
//!
//! Tests: `tests/fs/paths.rs`.

use super::on_pool;
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// The one absolute path of what `path` names: without symbolic links, `.` or `..`.
///
/// # Errors
///
/// When `path` does not exist, or has something before its last component that is no directory.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Changes nothing: dropping the future loses the answer only.
///
/// # Examples
///
/// ```
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// let here = nezumi::fs::canonicalize(".").await?;
/// assert!(here.is_absolute());
/// # Ok(()) }
/// ```
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::canonicalize(path)).await
}

/// Makes `link` another name of the file `original`. Both must be on one file system.
///
/// # Errors
///
/// When `original` is missing or a directory, or `link` exists already.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, the link may be made although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::hard_link("today.log", "latest.log").await?;
/// # Ok(()) }
/// ```
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    on_pool(move || std::fs::hard_link(original, link)).await
}

/// What the file system knows of `path`: its type, size, times, permissions. Of a symbolic link: of what it leads to.
///
/// # Errors
///
/// When `path` does not exist, or the way to it may not be taken.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Changes nothing: dropping the future loses the answer only.
///
/// # Examples
///
/// ```
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// assert!(nezumi::fs::metadata(".").await?.is_dir());
/// # Ok(()) }
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::metadata(path)).await
}

/// Where the symbolic link `path` leads, as it is written in it.
///
/// # Errors
///
/// When `path` does not exist, or is no symbolic link.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Changes nothing: dropping the future loses the answer only.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// println!("{}", nezumi::fs::read_link("latest.log").await?.display());
/// # Ok(()) }
/// ```
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::read_link(path)).await
}

/// Removes the name `path` of a file. The file itself is gone once it has no other name and nobody has it open.
///
/// # Errors
///
/// When `path` does not exist or is a directory, or its directory may not be changed.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, the file may be removed although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::remove_file("yesterday.log").await?;
/// # Ok(()) }
/// ```
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::remove_file(path)).await
}

/// Gives the file or directory `from` the name `to`, in the place of what has that name. Both must be on one file system.
///
/// # Errors
///
/// When `from` does not exist, `to` is on another file system or cannot be replaced, or one of the directories may not be
/// changed.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, it may be renamed although the future is dropped.
///
/// # Examples
///
/// To replace a file for its readers in one step, write another and rename it:
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::write("settings.new", "theme = dark").await?;
/// nezumi::fs::rename("settings.new", "settings").await?;
/// # Ok(()) }
/// ```
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    on_pool(move || std::fs::rename(from, to)).await
}

/// Changes who may do what with `path`.
///
/// # Errors
///
/// When `path` does not exist or is not this user's.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, they may be changed although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// let mut permissions = nezumi::fs::metadata("settings").await?.permissions();
/// permissions.set_readonly(true);
/// nezumi::fs::set_permissions("settings", permissions).await?;
/// # Ok(()) }
/// ```
pub async fn set_permissions(path: impl AsRef<Path>, perm: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::set_permissions(path, perm)).await
}

/// Makes `link` a symbolic link to `original`, which need not exist.
///
/// # Errors
///
/// When `link` exists already, or its directory may not be changed.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, the link may be made although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::symlink("today.log", "latest.log").await?;
/// # Ok(()) }
/// ```
#[cfg(unix)]
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    on_pool(move || std::os::unix::fs::symlink(original, link)).await
}

/// Makes `link` a symbolic link to the directory `original`.
///
/// # Errors
///
/// When `link` exists already, or the user may not make symbolic links.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, the link may be made although the future is dropped.
#[cfg(windows)]
pub async fn symlink_dir(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    on_pool(move || std::os::windows::fs::symlink_dir(original, link)).await
}

/// Makes `link` a symbolic link to the file `original`.
///
/// # Errors
///
/// When `link` exists already, or the user may not make symbolic links.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, the link may be made although the future is dropped.
#[cfg(windows)]
pub async fn symlink_file(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    on_pool(move || std::os::windows::fs::symlink_file(original, link)).await
}

/// Like [`metadata`], but of a symbolic link itself.
///
/// # Errors
///
/// When `path` does not exist, or the way to it may not be taken.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Changes nothing: dropping the future loses the answer only.
///
/// # Examples
///
/// ```
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// assert!(!nezumi::fs::symlink_metadata(".").await?.is_symlink());
/// # Ok(()) }
/// ```
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::symlink_metadata(path)).await
}

/// Whether `path` leads to something. A symbolic link that leads nowhere does not.
///
/// # Errors
///
/// When that cannot be found out, as in a directory that may not be looked into.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Changes nothing: dropping the future loses the answer only.
///
/// # Examples
///
/// ```
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// assert!(nezumi::fs::try_exists(".").await?);
/// assert!(!nezumi::fs::try_exists("no such file").await?);
/// # Ok(()) }
/// ```
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref().to_owned();
    on_pool(move || path.try_exists()).await
}
