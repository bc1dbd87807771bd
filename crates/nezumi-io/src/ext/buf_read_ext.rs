//! The methods that every buffered reader has.

use super::fill_buf::{FillBuf, fill_buf};
use super::read_line::{ReadLine, read_line};
use super::read_until::{ReadUntil, read_until};
use crate::{AsyncBufRead, Lines, Split};
use std::pin::Pin;

/// The methods that every [`AsyncBufRead`] has.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncBufReadExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut lines = (&b"one\ntwo\n"[..]).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{line}");
/// }
/// # Ok(())
/// # }
/// ```
pub trait AsyncBufReadExt: AsyncBufRead {
    /// Reads up to and with the next `byte`, or up to the end, and appends what it read to `buf`; returns how many bytes
    /// that was.
    ///
    /// If the last byte of `buf` is not `byte` then, the end was reached. An interrupted read is made again. There is no
    /// bound on how much is read: put a [`take`](crate::AsyncReadExt::take) in between where the other side is not trusted.
    ///
    /// # Errors
    ///
    /// Whatever the reader reports. What was read until then is in `buf`.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, what was read until then is in `buf`; a new call goes on from there, and counts from
    /// there.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut reader: &[u8] = b"one;two";
    /// let mut bytes = Vec::new();
    /// assert_eq!(reader.read_until(b';', &mut bytes).await?, 4);
    /// assert_eq!(bytes, b"one;");
    /// assert_eq!(reader.read_until(b';', &mut bytes).await?, 3);
    /// assert_eq!(bytes, b"one;two");
    /// # Ok(())
    /// # }
    /// ```
    fn read_until<'a>(&'a mut self, byte: u8, buf: &'a mut Vec<u8>) -> ReadUntil<'a, Self>
    where
        Self: Unpin,
    {
        read_until(self, byte, buf)
    }

    /// Reads up to and with the next line feed, or up to the end, and appends what it read to `buf` as text; returns how
    /// many bytes that was.
    ///
    /// 0 says that the end is reached. An interrupted read is made again. There is no bound on how much is read: put a
    /// [`take`](crate::AsyncReadExt::take) in between where the other side is not trusted.
    ///
    /// # Errors
    ///
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) if the line is not UTF-8 (the error's source is a
    /// [`Utf8Error`](std::str::Utf8Error)): `buf` is as it was then, and the line is lost. And whatever the reader reports:
    /// what was read until then is in `buf`, unless it is not UTF-8.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: when the future is dropped, `buf` is as it was, and what was read of the line is lost. Cancel safe
    /// are [`read_until`](Self::read_until), and [`next_line`](Lines::next_line) of [`lines`](Self::lines).
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut reader: &[u8] = b"one\ntwo";
    /// let mut line = String::new();
    /// assert_eq!(reader.read_line(&mut line).await?, 4);
    /// assert_eq!(line, "one\n");
    /// line.clear();
    /// assert_eq!(reader.read_line(&mut line).await?, 3);
    /// assert_eq!(line, "two");
    /// # Ok(())
    /// # }
    /// ```
    fn read_line<'a>(&'a mut self, buf: &'a mut String) -> ReadLine<'a, Self>
    where
        Self: Unpin,
    {
        read_line(self, buf)
    }

    /// What lies between one `byte` and the next, one after the other, without that byte.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut segments = io::BufReader::new(&b"one;two"[..]).split(b';');
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"one"[..]));
    /// assert_eq!(segments.next_segment().await?.as_deref(), Some(&b"two"[..]));
    /// assert_eq!(segments.next_segment().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, byte)
    }

    /// Waits until something is buffered, and shows it. An empty slice says that the end is reached.
    ///
    /// Say with [`consume`](Self::consume) how much of it was used; otherwise it is shown again.
    ///
    /// # Errors
    ///
    /// Whatever the reader reports.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut reader: &[u8] = b"hello";
    /// assert_eq!(reader.fill_buf().await?, b"hello");
    /// reader.consume(2);
    /// assert_eq!(reader.fill_buf().await?, b"llo");
    /// # Ok(())
    /// # }
    /// ```
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        fill_buf(self)
    }

    /// Marks the first `amt` bytes of what [`fill_buf`](Self::fill_buf) showed as used, so that they are not shown again.
    ///
    /// `amt` must not be more than was shown; what happens otherwise is up to the reader, and may be a panic.
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// The lines, one after the other, without their ends (`\n` or `\r\n`).
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncBufReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut lines = (&b"one\r\ntwo"[..]).lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("two"));
    /// assert_eq!(lines.next_line().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}
