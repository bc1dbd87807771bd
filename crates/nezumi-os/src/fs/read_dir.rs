//! What is in a directory.
//!
//! The OS hands entries out by the dozen, and so does this: a hop reads a chunk of them, with their types where that costs nothing
//! more, and `next_entry` waits only when the chunk is used up. A chunk is what can be had within a millisecond, so that a slow file
//! system delays nobody by hundreds of entries.
//!
//! Tests: `tests/fs/dirs.rs`.

use super::on_pool;
use nezumi_core::spawn::spawn_blocking;
use nezumi_core::task::JoinHandle;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// A chunk is never larger.
const MOST_ENTRIES: usize = 512;
/// A chunk is read this far before anybody looks at the clock.
const FEW_ENTRIES: usize = 32;
const LONG_ENOUGH: Duration = Duration::from_millis(1);

/// What is in a directory, entry by entry, in no order. Made by [`read_dir`].
///
/// Entries that are made or removed meanwhile may or may not be seen.
///
/// # Examples
///
/// ```
/// use nezumi::fs;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// # let dir = std::env::temp_dir().join(format!("nezumi-doc-dir-{}", std::process::id()));
/// fs::create_dir_all(&dir).await.unwrap();
/// for name in ["brie", "gouda"] {
///     fs::write(dir.join(name), "").await.unwrap();
/// }
/// let (mut entries, mut names) = (fs::read_dir(&dir).await.unwrap(), Vec::new());
/// while let Some(entry) = entries.next_entry().await.unwrap() {
///     names.push(entry.file_name());
/// }
/// names.sort();
/// assert_eq!(names, ["brie", "gouda"]);
/// # fs::remove_dir_all(&dir).await.unwrap();
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a directory is read by calling `next_entry`"]
pub struct ReadDir(State);

#[derive(Debug)]
enum State {
    Here(Chunk),
    /// A thread reads on.
    Away(JoinHandle<Chunk>),
}

#[derive(Debug)]
struct Chunk {
    entries: std::vec::IntoIter<io::Result<DirEntry>>,
    /// Where the next chunk comes from. `None` after the last one.
    rest: Option<Box<std::fs::ReadDir>>,
}

/// Begins to read the directory `path`.
///
/// # Errors
///
/// When it does not exist, is no directory, or may not be read.
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
/// let mut entries = nezumi::fs::read_dir(".").await?;
/// while let Some(entry) = entries.next_entry().await? {
///     let is_dir = entry.file_type().await?.is_dir();
///     println!("{}{}", entry.path().display(), if is_dir { "/" } else { "" });
/// }
/// # Ok(()) }
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let chunk = on_pool(move || Ok(Chunk::read(Box::new(std::fs::read_dir(path)?)))).await?;
    Ok(ReadDir(State::Here(chunk)))
}

impl ReadDir {
    /// The next entry; `None` after the last one. `.` and `..` are not among them.
    ///
    /// # Errors
    ///
    /// When the OS cannot read on. One may go on after that.
    ///
    /// # Panics
    ///
    /// Outside a runtime, when it must wait for more.
    ///
    /// # Cancel safety
    ///
    /// No entry is lost.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// What [`next_entry`](Self::next_entry) waits for. `Pending`: the task of `cx` is woken when there is more.
    ///
    /// # Errors
    ///
    /// As [`next_entry`](Self::next_entry).
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.0 {
                State::Here(chunk) => {
                    if let Some(entry) = chunk.entries.next() {
                        return Poll::Ready(entry.map(Some));
                    }
                    let Some(rest) = chunk.rest.take() else { return Poll::Ready(Ok(None)) };
                    self.0 = State::Away(spawn_blocking(move || Chunk::read(rest)));
                }
                State::Away(reading) => {
                    let chunk = ready!(Pin::new(reading).poll(cx));
                    // A thread that failed has taken the rest with it.
                    self.0 = State::Here(Chunk { entries: Vec::new().into_iter(), rest: None });
                    self.0 = State::Here(chunk?);
                }
            }
        }
    }
}

impl Chunk {
    /// Reads on in `rest`. May block.
    fn read(mut rest: Box<std::fs::ReadDir>) -> Chunk {
        let begin = Instant::now();
        let mut entries = Vec::with_capacity(FEW_ENTRIES);
        while entries.len() < MOST_ENTRIES {
            match rest.next() {
                Some(Ok(entry)) => entries.push(Ok(DirEntry::new(entry))),
                Some(Err(error)) => {
                    entries.push(Err(error));
                    break;
                }
                None => return Chunk { entries: entries.into_iter(), rest: None },
            }
            if entries.len() % FEW_ENTRIES == 0 && begin.elapsed() > LONG_ENOUGH {
                break;
            }
        }
        Chunk { entries: entries.into_iter(), rest: Some(rest) }
    }
}

/// One entry of a directory.
///
/// # Examples
///
/// ```
/// use nezumi::fs;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// # let dir = std::env::temp_dir().join(format!("nezumi-doc-entry-{}", std::process::id()));
/// fs::create_dir_all(&dir).await.unwrap();
/// fs::write(dir.join("cheese"), "gouda").await.unwrap();
/// let entry = fs::read_dir(&dir).await.unwrap().next_entry().await.unwrap().unwrap();
/// assert_eq!(entry.file_name(), "cheese");
/// assert!(entry.file_type().await.unwrap().is_file());
/// assert_eq!(entry.metadata().await.unwrap().len(), 5);
/// # fs::remove_dir_all(&dir).await.unwrap();
/// # }
/// ```
#[derive(Debug)]
pub struct DirEntry {
    /// Found with the entry; `None` if it could not be.
    file_type: Option<FileType>,
    std: Arc<std::fs::DirEntry>,
}

impl DirEntry {
    /// May block: some file systems say nothing of types with the names.
    fn new(std: std::fs::DirEntry) -> Self {
        Self { file_type: std.file_type().ok(), std: Arc::new(std) }
    }

    /// The path that [`read_dir`] was given, with the name of this entry.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// The name, without the path.
    #[must_use]
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// What the file system knows of it now. Of a symbolic link: of the link.
    ///
    /// # Errors
    ///
    /// When it is gone, or the directory may not be looked into.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing: dropping the future loses the answer only.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        on_pool(move || std.metadata()).await
    }

    /// Whether it is a file, a directory, a symbolic link (which is not followed), or something else. Mostly known already, and then
    /// this does not wait.
    ///
    /// # Errors
    ///
    /// When it is gone, or the directory may not be looked into.
    ///
    /// # Panics
    ///
    /// Outside a runtime, when it must wait.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing: dropping the future loses the answer only.
    pub async fn file_type(&self) -> io::Result<FileType> {
        match self.file_type {
            Some(file_type) => Ok(file_type),
            None => {
                let std = self.std.clone();
                on_pool(move || std.file_type()).await
            }
        }
    }

    /// The number of its inode.
    #[cfg(unix)]
    #[must_use]
    pub fn ino(&self) -> u64 {
        std::os::unix::fs::DirEntryExt::ino(&*self.std)
    }
}
