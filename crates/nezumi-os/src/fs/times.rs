//! The times that a file is given.

use std::time::SystemTime;

#[cfg(target_vendor = "apple")]
use std::os::darwin::fs::FileTimesExt;
#[cfg(windows)]
use std::os::windows::fs::FileTimesExt;

/// Which times [`File::set_times`](super::File::set_times) is to change, and to what. Those that are not set stay.
///
/// # Examples
///
/// ```
/// use nezumi::fs::{File, FileTimes};
/// use std::time::{Duration, SystemTime};
///
/// # #[nezumi::main] async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("nezumi-doc-times-{}", std::process::id()));
/// let file = File::create(&path).await?;
/// let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
/// file.set_times(FileTimes::new().set_modified(then)).await?;
/// assert_eq!(file.metadata().await?.modified()?, then);
/// # nezumi::fs::remove_file(path).await
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "times change nothing until they are given to `File::set_times`"]
pub struct FileTimes {
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
    #[cfg(any(windows, target_vendor = "apple"))]
    created: Option<SystemTime>,
}

impl FileTimes {
    /// None is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// When the file was last read.
    pub fn set_accessed(self, t: SystemTime) -> Self {
        Self { accessed: Some(t), ..self }
    }

    /// When the file was last written.
    pub fn set_modified(self, t: SystemTime) -> Self {
        Self { modified: Some(t), ..self }
    }

    /// When the file was made.
    #[cfg(any(windows, target_vendor = "apple"))]
    pub fn set_created(self, t: SystemTime) -> Self {
        Self { created: Some(t), ..self }
    }

    pub(super) fn into_std(self) -> std::fs::FileTimes {
        let mut times = std::fs::FileTimes::new();
        if let Some(accessed) = self.accessed {
            times = times.set_accessed(accessed);
        }
        if let Some(modified) = self.modified {
            times = times.set_modified(modified);
        }
        #[cfg(any(windows, target_vendor = "apple"))]
        if let Some(created) = self.created {
            times = times.set_created(created);
        }
        times
    }
}
