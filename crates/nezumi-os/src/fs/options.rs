//! How a file is opened.
//!
//! Tests: `tests/fs/options.rs`.

use super::file::Known;
use super::{File, on_pool};
use std::io;
use std::path::Path;

#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
#[cfg(windows)]
use std::os::windows::fs::OpenOptionsExt;

/// How a file is to be opened: for what, and whether it is made.
///
/// Nothing is set to begin with; at least one of [`read`](Self::read), [`write`](Self::write) and [`append`](Self::append) must be.
///
/// # Examples
///
/// ```
/// use nezumi::fs::OpenOptions;
/// use nezumi::io::AsyncWriteExt;
///
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("nezumi-doc-options-{}", std::process::id()));
/// let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
/// log.write_all(b"started\n").await?;
/// log.flush().await?;
/// # nezumi::fs::remove_file(path).await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    std: std::fs::OpenOptions,
}

impl OpenOptions {
    /// Nothing is set.
    #[must_use]
    pub fn new() -> Self {
        Self { std: std::fs::OpenOptions::new() }
    }

    /// Whether the file may be read.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.std.read(read);
        self
    }

    /// Whether the file may be written, in the place of what is there. It is not cut: see [`truncate`](Self::truncate).
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.std.write(write);
        self
    }

    /// Whether the file may be written, always at its end, wherever that is by then.
    ///
    /// Each call of `write` is one write of the OS, as long as it is not larger than [`File::max_buf_size`]: what several
    /// processes append to one file is not mixed up.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.std.append(append);
        self
    }

    /// Whether what the file holds is thrown away. Needs [`write`](Self::write).
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.std.truncate(truncate);
        self
    }

    /// Whether the file is made if it does not exist. Needs [`write`](Self::write) or [`append`](Self::append).
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.std.create(create);
        self
    }

    /// Whether the file must not exist, and is made: in one step, so that nobody else can make it in between. Then
    /// [`create`](Self::create) and [`truncate`](Self::truncate) do not matter.
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.std.create_new(create_new);
        self
    }

    /// Opens the file `path` in this way.
    ///
    /// # Errors
    ///
    /// When the file does not exist and is not to be made ([`NotFound`](io::ErrorKind::NotFound)), exists and must not
    /// ([`AlreadyExists`](io::ErrorKind::AlreadyExists)), may not be used so
    /// ([`PermissionDenied`](io::ErrorKind::PermissionDenied)), or what is set here makes no sense together
    /// ([`InvalidInput`](io::ErrorKind::InvalidInput)). Others are possible.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the file may be made or cut although the future is dropped; it is closed then.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let (options, path) = (self.std.clone(), path.as_ref().to_owned());
        let (std, known) = on_pool(move || {
            let std = options.open(path)?;
            let known = Known::find_out(&std);
            Ok((std, known))
        })
        .await?;
        Ok(File::new(std, known))
    }
}

/// What only Unix has.
#[cfg(unix)]
impl OpenOptions {
    /// The permissions of a file that is made, before the process's umask is applied. 0o666 if not set.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.std.mode(mode);
        self
    }

    /// Further flags for the OS, such as `libc::O_NOFOLLOW`. Those set before are forgotten, and the access mode cannot be changed.
    pub fn custom_flags(&mut self, flags: i32) -> &mut Self {
        self.std.custom_flags(flags);
        self
    }
}

/// What only Windows has.
#[cfg(windows)]
impl OpenOptions {
    /// The `dwDesiredAccess` of `CreateFile`, in the place of what `read`, `write` and `append` say.
    pub fn access_mode(&mut self, access: u32) -> &mut Self {
        self.std.access_mode(access);
        self
    }

    /// The `dwShareMode` of `CreateFile`: what others may do with the file while it is open here. All, if not set.
    pub fn share_mode(&mut self, share: u32) -> &mut Self {
        self.std.share_mode(share);
        self
    }

    /// Further flags in the `dwFlagsAndAttributes` of `CreateFile`. Those set before are forgotten.
    pub fn custom_flags(&mut self, flags: u32) -> &mut Self {
        self.std.custom_flags(flags);
        self
    }

    /// The attributes of a file that is made, in the `dwFlagsAndAttributes` of `CreateFile`.
    pub fn attributes(&mut self, attributes: u32) -> &mut Self {
        self.std.attributes(attributes);
        self
    }

    /// The quality of service of a named pipe, in the `dwFlagsAndAttributes` of `CreateFile`: what its server may do in the name of this
    /// process.
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        self.std.security_qos_flags(flags);
        self
    }
}

impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(options: std::fs::OpenOptions) -> Self {
        Self { std: options }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}
