//! The methods that every writer has.

use super::number::{Order, WriteNumber, write_number};
use super::write::{
    Flush, Shutdown, Write, WriteAll, WriteAllBuf, WriteBuf, WriteVectored, flush, shutdown, write,
    write_all, write_all_buf, write_buf, write_vectored,
};
use crate::AsyncWrite;
use bytes::Buf;
use std::io::IoSlice;

/// One method per number; `$order` is what the documentation says of the bytes.
macro_rules! write_numbers {
    ($($name:ident: $number:ident, $first:ident, $to_bytes:ident, $order:literal;)*) => {$(
        #[doc = concat!("Writes a number of type [`", stringify!($number), "`]", $order, ".")]
        ///
        /// Many of these in a row are best written through a [`BufWriter`](crate::BufWriter).
        ///
        /// # Errors
        ///
        /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more before the number is complete, and
        /// whatever the writer reports.
        ///
        /// # Cancel safety
        ///
        /// A number of one byte is written or not. Of a longer one some bytes may have been written when the future is
        /// dropped, and it cannot be told how many.
        ///
        /// # Examples
        ///
        /// ```
        /// use nezumi::io::{self, AsyncWriteExt};
        ///
        /// # #[nezumi::main]
        /// # async fn main() -> io::Result<()> {
        /// let mut bytes = Vec::new();
        #[doc = concat!("bytes.", stringify!($name), "(5 as ", stringify!($number), ").await?;")]
        #[doc = concat!("assert_eq!(bytes, (5 as ", stringify!($number), ").", stringify!($to_bytes), "());")]
        /// # Ok(())
        /// # }
        /// ```
        fn $name(&mut self, n: $number) -> WriteNumber<'_, Self, $number>
        where
            Self: Unpin,
        {
            write_number(self, n, Order::$first)
        }
    )*};
}

/// The methods that every [`AsyncWrite`] has.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncWriteExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut writer = Vec::new();
/// writer.write_u8(5).await?;
/// writer.write_all(b"hello").await?;
/// writer.flush().await?;
/// assert_eq!(writer, b"\x05hello");
/// # Ok(())
/// # }
/// ```
pub trait AsyncWriteExt: AsyncWrite {
    /// Writes once, and says how many bytes of `src` that took.
    ///
    /// Waits until the writer takes something. 0 says that it takes no more, or that `src` is empty.
    ///
    /// # Errors
    ///
    /// Whatever the writer reports; nothing was written then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing was written.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncWriteExt};
    /// use std::io::Cursor;
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut memory = [0; 3];
    /// let mut writer = Cursor::new(&mut memory[..]);
    /// assert_eq!(writer.write(b"hello").await?, 3);
    /// assert_eq!(writer.write(b"lo").await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    fn write<'a>(&'a mut self, src: &'a [u8]) -> Write<'a, Self>
    where
        Self: Unpin,
    {
        write(self, src)
    }

    /// As [`write`](Self::write), from several buffers as if they were one behind the other.
    ///
    /// # Errors
    ///
    /// Whatever the writer reports; nothing was written then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing was written.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncWriteExt};
    /// use std::io::IoSlice;
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut writer = Vec::new();
    /// let n = writer.write_vectored(&[IoSlice::new(b"hello "), IoSlice::new(b"world")]).await?;
    /// assert_eq!(writer[..n], b"hello world"[..n]);
    /// # Ok(())
    /// # }
    /// ```
    fn write_vectored<'a, 'b>(&'a mut self, bufs: &'a [IoSlice<'b>]) -> WriteVectored<'a, 'b, Self>
    where
        Self: Unpin,
    {
        write_vectored(self, bufs)
    }

    /// As [`write`](Self::write), from a buffer whose position moves on by what was written.
    ///
    /// All pieces of the buffer are offered at once to a writer that can make use of it. 0 says that the writer takes no
    /// more, or that nothing is left in `src`.
    ///
    /// # Errors
    ///
    /// Whatever the writer reports; nothing was written then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing was written.
    ///
    /// # Examples
    ///
    /// ```
    /// use bytes::Buf;
    /// use nezumi::io::{self, AsyncWriteExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut buf = (&b"hello "[..]).chain(&b"world"[..]);
    /// let mut writer = Vec::new();
    /// while buf.has_remaining() {
    ///     writer.write_buf(&mut buf).await?;
    /// }
    /// assert_eq!(writer, b"hello world");
    /// # Ok(())
    /// # }
    /// ```
    fn write_buf<'a, B>(&'a mut self, src: &'a mut B) -> WriteBuf<'a, Self, B>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        write_buf(self, src)
    }

    /// Writes until nothing is left in `src`.
    ///
    /// An interrupted write is made again.
    ///
    /// # Errors
    ///
    /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more, and whatever the writer reports. The
    /// position of `src` tells how much was written until then.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, the position of `src` tells how much was written; a new call goes on from there.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncWriteExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut buf = &b"hello world"[..];
    /// let mut writer = Vec::new();
    /// writer.write_all_buf(&mut buf).await?;
    /// assert!(buf.is_empty());
    /// assert_eq!(writer, b"hello world");
    /// # Ok(())
    /// # }
    /// ```
    fn write_all_buf<'a, B>(&'a mut self, src: &'a mut B) -> WriteAllBuf<'a, Self, B>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        write_all_buf(self, src)
    }

    /// Writes all of `src`.
    ///
    /// An interrupted write is made again.
    ///
    /// # Errors
    ///
    /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the writer takes no more, and whatever the writer reports. Some of
    /// `src` may have been written then, and it cannot be told how much.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: when the future is dropped, some of `src` may have been written, and a new call starts from the
    /// beginning. Use [`write_all_buf`](Self::write_all_buf) where that matters.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncWriteExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut writer = Vec::new();
    /// writer.write_all(b"hello world").await?;
    /// assert_eq!(writer, b"hello world");
    /// # Ok(())
    /// # }
    /// ```
    fn write_all<'a>(&'a mut self, src: &'a [u8]) -> WriteAll<'a, Self>
    where
        Self: Unpin,
    {
        write_all(self, src)
    }

    write_numbers! {
        write_u8: u8, Highest, to_be_bytes, "";
        write_i8: i8, Highest, to_be_bytes, "";
        write_u16: u16, Highest, to_be_bytes, ", highest byte first";
        write_i16: i16, Highest, to_be_bytes, ", highest byte first";
        write_u32: u32, Highest, to_be_bytes, ", highest byte first";
        write_i32: i32, Highest, to_be_bytes, ", highest byte first";
        write_u64: u64, Highest, to_be_bytes, ", highest byte first";
        write_i64: i64, Highest, to_be_bytes, ", highest byte first";
        write_u128: u128, Highest, to_be_bytes, ", highest byte first";
        write_i128: i128, Highest, to_be_bytes, ", highest byte first";
        write_f32: f32, Highest, to_be_bytes, ", highest byte first";
        write_f64: f64, Highest, to_be_bytes, ", highest byte first";
        write_u16_le: u16, Lowest, to_le_bytes, ", lowest byte first";
        write_i16_le: i16, Lowest, to_le_bytes, ", lowest byte first";
        write_u32_le: u32, Lowest, to_le_bytes, ", lowest byte first";
        write_i32_le: i32, Lowest, to_le_bytes, ", lowest byte first";
        write_u64_le: u64, Lowest, to_le_bytes, ", lowest byte first";
        write_i64_le: i64, Lowest, to_le_bytes, ", lowest byte first";
        write_u128_le: u128, Lowest, to_le_bytes, ", lowest byte first";
        write_i128_le: i128, Lowest, to_le_bytes, ", lowest byte first";
        write_f32_le: f32, Lowest, to_le_bytes, ", lowest byte first";
        write_f64_le: f64, Lowest, to_le_bytes, ", lowest byte first";
    }

    /// Waits until everything that was written has gone out.
    ///
    /// # Errors
    ///
    /// Whatever the writer reports.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, some of what was kept back may have gone out; a new call goes on from there.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncWriteExt, BufWriter};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello").await?;
    /// assert_eq!(writer.get_ref(), b"");
    /// writer.flush().await?;
    /// assert_eq!(writer.get_ref(), b"hello");
    /// # Ok(())
    /// # }
    /// ```
    fn flush(&mut self) -> Flush<'_, Self>
    where
        Self: Unpin,
    {
        flush(self)
    }

    /// Brings the writer to an orderly end: flushes it, and tells the other side that nothing more will come.
    ///
    /// What that means for a socket, a file or a TLS session is said there. To write any more is an error, or loses what
    /// is written. Dropping a writer does not do this.
    ///
    /// # Errors
    ///
    /// Whatever the writer reports.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, the end may not have been reached; a new call goes on from there.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let (mut here, mut there) = io::duplex(64);
    /// here.write_all(b"hello").await?;
    /// here.shutdown().await?;
    /// let mut text = String::new();
    /// there.read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello");
    /// # Ok(())
    /// # }
    /// ```
    fn shutdown(&mut self) -> Shutdown<'_, Self>
    where
        Self: Unpin,
    {
        shutdown(self)
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}
