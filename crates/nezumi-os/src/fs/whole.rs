//! A file at once: each of these is one hop, however large the file.
//!
//! Tests: `tests/fs/whole.rs`.

use super::contents::Contents;
use super::on_pool;
use std::io;
use std::path::Path;

/// Copies the contents and the permissions of the file `from` to `to`, replacing what that holds. Returns how many bytes that
/// were.
///
/// The OS does it by itself where it can, without the bytes coming into this process.
///
/// # Errors
///
/// When `from` cannot be read or is no file, or `to` cannot be written.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, all is copied although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::copy("settings", "settings.old").await?;
/// # Ok(()) }
/// ```
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<u64, io::Error> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    on_pool(move || std::fs::copy(from, to)).await
}

/// All that is in the file `path`.
///
/// # Errors
///
/// When it does not exist, is a directory, or may not be read.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Changes nothing: dropping the future loses the answer only. The file is read to its end all the same.
///
/// # Examples
///
/// ```
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("nezumi-doc-read-{}", std::process::id()));
/// nezumi::fs::write(&path, "twelve bytes").await?;
/// assert_eq!(nezumi::fs::read(&path).await?, b"twelve bytes");
/// # nezumi::fs::remove_file(path).await
/// # }
/// ```
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::read(path)).await
}

/// All that is in the file `path`, as text.
///
/// # Errors
///
/// When it does not exist, is a directory, or may not be read; of kind [`InvalidData`](io::ErrorKind::InvalidData) when it is
/// not UTF-8.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Changes nothing: dropping the future loses the answer only. The file is read to its end all the same.
///
/// # Examples
///
/// ```
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// let manifest = nezumi::fs::read_to_string("Cargo.toml").await?;
/// assert!(manifest.contains("[package]"));
/// # Ok(()) }
/// ```
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::read_to_string(path)).await
}

/// Makes `contents` all that is in the file `path`, which is created if need be.
///
/// A `Vec<u8>`, a `String` and a `Bytes` are taken as they are; anything else is copied.
///
/// # Errors
///
/// When `path` is a directory or may not be written, or there is no space left; then a part may have been written.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, all is written although the future is dropped, unless the runtime shuts down first.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::write("settings", "theme = dark").await?;
/// # Ok(()) }
/// ```
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    let contents = Contents::own(contents);
    on_pool(move || std::fs::write(path, contents)).await
}
