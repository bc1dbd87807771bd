//! Making and removing directories.
//!
//! Tests: `tests/fs/dirs.rs`.

use super::on_pool;
use std::io;
use std::path::Path;

/// How a directory is to be made.
///
/// # Examples
///
/// ```
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// # let base = std::env::temp_dir().join(format!("nezumi-doc-dirs-{}", std::process::id()));
/// let path = base.join("cache").join("images");
/// nezumi::fs::DirBuilder::new().recursive(true).create(&path).await?;
/// assert!(path.is_dir());
/// # nezumi::fs::remove_dir_all(base).await
/// # }
/// ```
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    #[cfg(unix)]
    mode: Option<u32>,
}

impl DirBuilder {
    /// A single directory, which anybody may do with what the process's umask leaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the directories above are made as well, and one that is there already is fine.
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// The permissions of what is made, before the process's umask is applied. Of each directory, when
    /// [`recursive`](Self::recursive).
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Makes the directory `path`.
    ///
    /// # Errors
    ///
    /// When it exists or the one above does not (unless [`recursive`](Self::recursive)), or that one may not be changed.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Once polled, it may be made although the future is dropped.
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(self.recursive);
        #[cfg(unix)]
        if let Some(mode) = self.mode {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        }
        let path = path.as_ref().to_owned();
        on_pool(move || builder.create(path)).await
    }
}

/// Makes the directory `path`, in one that exists.
///
/// # Errors
///
/// When `path` exists, or the directory above does not or may not be changed.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, it may be made although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::create_dir("cache").await?;
/// # Ok(()) }
/// ```
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::create_dir(path)).await
}

/// Makes the directory `path` and those above it that are missing; does nothing if there is none to make. All in one hop.
///
/// # Errors
///
/// When something on the way is no directory, or one that misses its next may not be changed. Those made before that stay.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, they may be made although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::create_dir_all("cache/images/small").await?;
/// # Ok(()) }
/// ```
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::create_dir_all(path)).await
}

/// Removes the directory `path`, which must be empty.
///
/// # Errors
///
/// When it does not exist, is no directory, is not empty, or the one above may not be changed.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, it may be removed although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::remove_dir("cache").await?;
/// # Ok(()) }
/// ```
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::remove_dir(path)).await
}

/// Removes the directory `path` with all that is in it, in one hop. Symbolic links in it are removed, not followed.
///
/// # Errors
///
/// When `path` does not exist, or something in it may not be removed. What was removed before that is gone.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Once polled, all may be removed although the future is dropped.
///
/// # Examples
///
/// ```no_run
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// nezumi::fs::remove_dir_all("cache").await?;
/// # Ok(()) }
/// ```
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    on_pool(move || std::fs::remove_dir_all(path)).await
}
