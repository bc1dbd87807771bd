//! An open file, with a cursor.
//!
//! Called by programs, and by `options`, which opens. In reading order: `desk` (what goes on with the file, and what is to be told
//! about it), `io` (reading, writing, seeking: decides what is done here and what on a blocking thread), `nowait` (what can be read
//! without waiting), `behind` (writes that wait for a write), `known` (what kind of file it is), `buf` (bytes on their way), `handles`
//! (the file as the OS sees it).
//!
//! Promise:
//!
//! - *One cursor, the OS's.* It stands where the program believes it to stand, apart from bytes that a read has fetched and nobody has
//!   taken, because the read was cancelled. Those are given to the next read; a write or a seek first moves the cursor back over them,
//!   and so does whatever gives the file away ([`File::try_clone`], [`File::into_std`]). Nothing is read ahead of what was asked for: who
//!   shares the cursor or writes the same file sees what he would see with `std`. The place to read ahead is the OS's own cache.
//! - *A write that was accepted is done*, though the file be dropped or the runtime shut down; or it failed, or one before it. That is
//!   told once, by the next write that comes when it is known, or by the next flush or shutdown, which wait for all, whatever is called
//!   in between.
//! - *One thing at a time.* What is called on a file waits for what is under way on it, but for small writes, which queue up behind a
//!   write.
//!
//! Tests: `tests/fs/file.rs`, `tests/fs/behind.rs`, `tests/fs/model.rs` (any interleaving of reads, writes and seeks against `std`),
//! `tests/fs/special.rs` (pipes, `/proc`, `/dev`), `tests/fs/faults.rs`.

mod behind;
mod buf;
mod desk;
mod handles;
mod io;
mod known;
mod nowait;

pub(super) use known::Known;

use super::{FileTimes, OpenOptions, on_pool};
use desk::Desk;
use nezumi_sync::Mutex;
use std::fmt;
use std::fs::{File as StdFile, Metadata, Permissions};
use std::io::{Result, Seek};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// As much as one read or write moves, unless the program sets another limit.
const DEFAULT_MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// An open file.
///
/// It is read, written and sought through [`AsyncReadExt`], [`AsyncWriteExt`] and [`AsyncSeekExt`].
///
/// A read whose bytes the OS has in memory takes place at once, on Linux and on the file systems that can say so (ext4, XFS, Btrfs and
/// others). All else is done by a blocking thread, which costs some microseconds. Small writes that follow one another share such a
/// hop, but each is a call of the OS still: many are better put behind a [`BufWriter`].
///
/// A write is complete when the bytes are on their way, not when they have arrived: [`flush`] waits for the OS to have them, and tells
/// whether it has; [`sync_all`](Self::sync_all) for the disk. A file that is dropped before that is closed when the write is done, and
/// nobody learns of an error.
///
/// [`AsyncReadExt`]: nezumi_io::AsyncReadExt
/// [`AsyncWriteExt`]: nezumi_io::AsyncWriteExt
/// [`AsyncSeekExt`]: nezumi_io::AsyncSeekExt
/// [`BufWriter`]: nezumi_io::BufWriter
/// [`flush`]: nezumi_io::AsyncWriteExt::flush
///
/// # Examples
///
/// ```
/// use nezumi::fs::File;
/// use nezumi::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
///
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("nezumi-doc-file-{}", std::process::id()));
/// let mut file = File::options().read(true).write(true).create(true).open(&path).await?;
/// file.write_all(b"hello, world").await?;
/// file.rewind().await?;
///
/// let mut greeting = [0; 5];
/// file.read_exact(&mut greeting).await?;
/// assert_eq!(&greeting, b"hello");
/// # nezumi::fs::remove_file(path).await
/// # }
/// ```
pub struct File {
    std: Arc<StdFile>,
    desk: Mutex<Desk>,
    max_buf_size: usize,
}

impl File {
    pub(super) fn new(std: StdFile, known: Known) -> Self {
        Self { std: Arc::new(std), desk: Mutex::new(Desk::new(known)), max_buf_size: DEFAULT_MAX_BUF_SIZE }
    }

    /// Opens the file `path` for reading.
    ///
    /// # Errors
    ///
    /// When it does not exist or may not be read. See [`OpenOptions::open`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; a file that was opened for a dropped future is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::fs::File;
    /// use nezumi::io::AsyncReadExt;
    ///
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// let mut manifest = String::new();
    /// File::open("Cargo.toml").await?.read_to_string(&mut manifest).await?;
    /// # Ok(()) }
    /// ```
    pub async fn open(path: impl AsRef<Path>) -> Result<File> {
        Self::options().read(true).open(path).await
    }

    /// Opens the file `path` for writing: an empty one, in the place of what it was.
    ///
    /// # Errors
    ///
    /// When it may not be made or written. See [`OpenOptions::open`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the file may be made or emptied although the future is dropped.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use nezumi::fs::File;
    /// use nezumi::io::AsyncWriteExt;
    ///
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// let mut report = File::create("report.txt").await?;
    /// report.write_all(b"all is well").await?;
    /// report.flush().await?;
    /// # Ok(()) }
    /// ```
    pub async fn create(path: impl AsRef<Path>) -> Result<File> {
        Self::options().write(true).create(true).truncate(true).open(path).await
    }

    /// Makes the file `path` and opens it for reading and writing. That it is a new one is certain: no other process can have made it
    /// in between.
    ///
    /// # Errors
    ///
    /// Of kind [`AlreadyExists`](std::io::ErrorKind::AlreadyExists), when it is there. See [`OpenOptions::open`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the file may be made although the future is dropped.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// let lock = nezumi::fs::File::create_new("service.lock").await?;
    /// # Ok(()) }
    /// ```
    pub async fn create_new<P: AsRef<Path>>(path: P) -> Result<File> {
        Self::options().read(true).write(true).create_new(true).open(path).await
    }

    /// An [`OpenOptions`] in which nothing is set.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Takes an open file over. Needs no runtime yet.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = nezumi::fs::File::from_std(std::fs::File::open("Cargo.toml").unwrap());
    /// ```
    #[must_use]
    pub fn from_std(std: StdFile) -> File {
        Self::new(std, Known::NOTHING)
    }

    /// Waits until the disk has all that was written, and what the file system keeps about the file.
    ///
    /// # Errors
    ///
    /// When the disk fails. That a write before it failed is told by the next write or flush, not here.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future only stops waiting.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use nezumi::{fs::File, io::AsyncWriteExt};
    ///
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// let mut ledger = File::create("ledger").await?;
    /// ledger.write_all(b"paid").await?;
    /// ledger.flush().await?;
    /// ledger.sync_all().await?;
    /// # Ok(()) }
    /// ```
    pub async fn sync_all(&self) -> Result<()> {
        self.settled(|std| std.sync_all()).await
    }

    /// Like [`sync_all`](Self::sync_all), but does without what is not needed to read the bytes back, such as the times.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future only stops waiting.
    pub async fn sync_data(&self) -> Result<()> {
        self.settled(|std| std.sync_data()).await
    }

    /// Makes the file `size` bytes long: cuts it, or fills it up with zeros. The cursor stays where it is.
    ///
    /// # Errors
    ///
    /// When it was not opened for writing, or there is no space.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Once it is under way it is done although the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("nezumi-doc-len-{}", std::process::id()));
    /// let file = nezumi::fs::File::create(&path).await?;
    /// file.set_len(10).await?;
    /// assert_eq!(file.metadata().await?.len(), 10);
    /// # nezumi::fs::remove_file(path).await
    /// # }
    /// ```
    pub async fn set_len(&self, size: u64) -> Result<()> {
        let mut desk = self.desk.lock().await;
        desk.settle().await;
        desk.set_len(&self.std, size).await
    }

    /// What the file system knows of it.
    ///
    /// # Errors
    ///
    /// When the OS cannot tell.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing: dropping the future loses the answer only.
    pub async fn metadata(&self) -> Result<Metadata> {
        self.call(|std| std.metadata()).await
    }

    /// Another handle of the same open file, with the same cursor: what the one reads, the other does not see again.
    ///
    /// Two handles may be used at once, but who reads what is then a matter of luck. For a cursor of its own, open the file again.
    ///
    /// # Errors
    ///
    /// When the process may not have more files open.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; a handle that was made for a dropped future is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::{fs::File, io::AsyncReadExt};
    ///
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// let mut one = File::open("Cargo.toml").await?;
    /// let mut other = one.try_clone().await?;
    /// let (first, second) = (one.read_u8().await?, other.read_u8().await?);
    /// assert_eq!([first, second], *b"[p");
    /// # Ok(()) }
    /// ```
    pub async fn try_clone(&self) -> Result<File> {
        let mut desk = self.desk.lock().await;
        desk.settle().await;
        desk.give_back(&self.std).await?;
        let std = self.call(|std| std.try_clone()).await?;
        let clone = desk.share();
        Ok(File { std: Arc::new(std), desk: Mutex::new(clone), max_buf_size: self.max_buf_size })
    }

    /// The file for use with `std`, when nothing is under way on it any more. Its cursor is where the last read or write ended.
    ///
    /// That a write failed is not told any more: [`flush`](nezumi_io::AsyncWriteExt::flush) first.
    ///
    /// # Panics
    ///
    /// When a blocking thread still uses it for a future that was dropped, and the process may not have more files open.
    ///
    /// # Cancel safety
    ///
    /// The file is dropped with the future.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// let file = nezumi::fs::File::open("Cargo.toml").await?;
    /// let file: std::fs::File = file.into_std().await;
    /// # Ok(()) }
    /// ```
    pub async fn into_std(mut self) -> StdFile {
        let desk = self.desk.get_mut();
        desk.settle().await;
        // What cannot be moved back over cannot be read twice.
        let _ = desk.give_back(&self.std).await;
        Arc::try_unwrap(self.std).unwrap_or_else(|std| {
            // What was begun for a dropped future has it still; the cursor does not care.
            std.try_clone().expect("Arc::try_unwrap failed, and the file could not be duplicated")
        })
    }

    /// The file for use with `std`, if nothing is under way on it. Needs no runtime.
    ///
    /// # Errors
    ///
    /// Gives the file back while a blocking thread uses it.
    #[allow(clippy::result_large_err, reason = "it is the file itself")]
    pub fn try_into_std(mut self) -> std::result::Result<StdFile, Self> {
        if !self.desk.get_mut().settle_now() {
            return Err(self);
        }
        match Arc::try_unwrap(self.std) {
            Ok(mut std) => {
                if let Some(back) = self.desk.get_mut().unread() {
                    // Moves the cursor and does no I/O. What cannot be moved back over cannot be read twice.
                    let _ = std.seek(back);
                }
                Ok(std)
            }
            Err(std) => {
                self.std = std;
                Err(self)
            }
        }
    }

    /// Changes who may do what with the file.
    ///
    /// # Errors
    ///
    /// When the file is not this user's.
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
    /// let file = nezumi::fs::File::open("settings").await?;
    /// let mut permissions = file.metadata().await?.permissions();
    /// permissions.set_readonly(true);
    /// file.set_permissions(permissions).await?;
    /// # Ok(()) }
    /// ```
    pub async fn set_permissions(&self, perm: Permissions) -> Result<()> {
        self.call(|std| std.set_permissions(perm)).await
    }

    /// Changes the times of the file, after what is under way on it, which would change them again.
    ///
    /// # Errors
    ///
    /// When the file is not this user's, or the file system cannot keep such a time.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Once it is under way it is done although the future is dropped.
    pub async fn set_times(&self, times: FileTimes) -> Result<()> {
        let times = times.into_std();
        self.settled(move |std| std.set_times(times)).await
    }

    /// Changes the time of the last write only. See [`set_times`](Self::set_times).
    ///
    /// # Errors
    ///
    /// As [`set_times`](Self::set_times).
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Once it is under way it is done although the future is dropped.
    pub async fn set_modified(&self, time: SystemTime) -> Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets how many bytes one read or write moves at the most; so many the file may keep in memory. 2 MiB if not set.
    ///
    /// # Panics
    ///
    /// When it is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main] async fn main() -> std::io::Result<()> {
    /// let mut file = nezumi::fs::File::open("Cargo.toml").await?;
    /// file.set_max_buf_size(64 * 1024);
    /// assert_eq!(file.max_buf_size(), 65_536);
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        self.max_buf_size = max_buf_size;
    }

    /// How many bytes one read or write moves at the most.
    #[must_use]
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }

    /// Runs `call` where it may block.
    async fn call<T, F>(&self, call: F) -> Result<T>
    where
        F: FnOnce(&StdFile) -> Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let std = self.std.clone();
        on_pool(move || call(&std)).await
    }

    /// The same, after what is under way.
    async fn settled<T, F>(&self, call: F) -> Result<T>
    where
        F: FnOnce(&StdFile) -> Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let mut desk = self.desk.lock().await;
        desk.settle().await;
        self.call(call).await
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("tokio::fs::File").field("std", &self.std).finish()
    }
}
