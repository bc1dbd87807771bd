//! The methods of everything that can be sought in.

use super::seek::{Seek, seek};
use crate::AsyncSeek;
use std::io::SeekFrom;

/// The methods that every [`AsyncSeek`] has.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt, AsyncSeekExt, SeekFrom};
/// use std::io::Cursor;
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut cursor = Cursor::new(b"hello world");
/// cursor.seek(SeekFrom::End(-5)).await?;
/// let mut text = String::new();
/// cursor.read_to_string(&mut text).await?;
/// assert_eq!(text, "world");
/// # Ok(())
/// # }
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Moves the cursor, and returns where it is then, counted from the start.
    ///
    /// A seek that was started and given up before is waited for first.
    ///
    /// # Errors
    ///
    /// If the position is before the start, and whatever else is reported.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, the cursor may have been moved or may yet be moved; the next seek waits for that.
    fn seek(&mut self, pos: SeekFrom) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        seek(self, pos)
    }

    /// Moves the cursor to the start. The same as `seek(SeekFrom::Start(0))`.
    ///
    /// # Errors
    ///
    /// As for [`seek`](Self::seek).
    ///
    /// # Cancel safety
    ///
    /// As for [`seek`](Self::seek).
    fn rewind(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        seek(self, SeekFrom::Start(0))
    }

    /// Where the cursor is, counted from the start. The same as `seek(SeekFrom::Current(0))`.
    ///
    /// # Errors
    ///
    /// As for [`seek`](Self::seek).
    ///
    /// # Cancel safety
    ///
    /// As for [`seek`](Self::seek).
    fn stream_position(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        seek(self, SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}
