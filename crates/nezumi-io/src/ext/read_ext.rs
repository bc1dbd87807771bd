//! The methods that every reader has.

use super::number::{Order, ReadNumber, read_number};
use super::read::{Read, ReadExact, ReadInto, read, read_buf, read_exact};
use super::read_to_end::{ReadToEnd, read_to_end};
use super::read_to_string::{ReadToString, read_to_string};
use crate::{AsyncRead, Chain, Take};
use bytes::BufMut;

/// One method per number; `$order` is what the documentation says of the bytes.
macro_rules! read_numbers {
    ($($name:ident, $write:ident: $number:ident, $first:ident, $order:literal;)*) => {$(
        #[doc = concat!("Reads a number of type [`", stringify!($number), "`]", $order, ".")]
        ///
        /// Many of these in a row are best read through a [`BufReader`](crate::BufReader).
        ///
        /// # Errors
        ///
        /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the end comes before the number is complete, and
        /// whatever the reader reports.
        ///
        /// # Cancel safety
        ///
        /// A number of one byte is read or not. Of a longer one the bytes read so far are lost when the future is dropped.
        ///
        /// # Examples
        ///
        /// ```
        /// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
        ///
        /// # #[nezumi::main]
        /// # async fn main() -> io::Result<()> {
        /// let mut bytes = Vec::new();
        #[doc = concat!("bytes.", stringify!($write), "(5 as ", stringify!($number), ").await?;")]
        #[doc = concat!("assert_eq!((&bytes[..]).", stringify!($name), "().await?, 5 as ", stringify!($number), ");")]
        /// # Ok(())
        /// # }
        /// ```
        fn $name(&mut self) -> ReadNumber<'_, Self, $number>
        where
            Self: Unpin,
        {
            read_number(self, Order::$first)
        }
    )*};
}

/// The methods that every [`AsyncRead`] has.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let mut reader: &[u8] = b"\x05helloworld";
/// let len = reader.read_u8().await?;
/// let mut word = vec![0; len.into()];
/// reader.read_exact(&mut word).await?;
/// assert_eq!(word, b"hello");
/// let mut rest = String::new();
/// reader.read_to_string(&mut rest).await?;
/// assert_eq!(rest, "world");
/// # Ok(())
/// # }
/// ```
pub trait AsyncReadExt: AsyncRead {
    /// A reader that reads this one to its end and then `next`.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut text = String::new();
    /// (&b"hello "[..]).chain(&b"world"[..]).read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello world");
    /// # Ok(())
    /// # }
    /// ```
    fn chain<R>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
        R: AsyncRead,
    {
        Chain::new(self, next)
    }

    /// Reads once, and says how many bytes that gave: any number from one up to the length of `buf`.
    ///
    /// Waits until there is something. 0 says that the end is reached, or that `buf` is empty.
    ///
    /// # Errors
    ///
    /// Whatever the reader reports; nothing was read then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing was read.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut reader: &[u8] = b"hello world";
    /// let mut buf = [0; 5];
    /// let n = reader.read(&mut buf).await?;
    /// assert_eq!(&buf[..n], b"hello");
    /// # Ok(())
    /// # }
    /// ```
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Read<'a, Self>
    where
        Self: Unpin,
    {
        read(self, buf)
    }

    /// As [`read`](Self::read), behind what is in `buf` already; its position moves on by what was read.
    ///
    /// `buf` need not be initialized. 0 says that the end is reached, or that there is no room in `buf`; a buffer that
    /// grows always has some.
    ///
    /// # Errors
    ///
    /// Whatever the reader reports; nothing was read then.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, nothing was read.
    ///
    /// # Examples
    ///
    /// ```
    /// use bytes::BytesMut;
    /// use nezumi::io::{self, AsyncReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut reader: &[u8] = b"hello world";
    /// let mut buf = BytesMut::with_capacity(64);
    /// while reader.read_buf(&mut buf).await? > 0 {}
    /// assert_eq!(&buf[..], b"hello world");
    /// # Ok(())
    /// # }
    /// ```
    fn read_buf<'a, B>(&'a mut self, buf: &'a mut B) -> ReadInto<'a, Self, B>
    where
        Self: Unpin,
        B: BufMut + ?Sized,
    {
        read_buf(self, buf)
    }

    /// Reads until `buf` is full, and returns its length.
    ///
    /// No more than that is taken from the reader. An interrupted read is made again.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the end comes first, and whatever the reader reports. What
    /// was read until then is in `buf`, but how much that is cannot be told.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: when the future is dropped some bytes may be in `buf`, and it cannot be told how many.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut reader: &[u8] = b"hello world";
    /// let mut buf = [0; 5];
    /// reader.read_exact(&mut buf).await?;
    /// assert_eq!(&buf, b"hello");
    /// let error = reader.read_exact(&mut [0; 10]).await.unwrap_err();
    /// assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    /// # Ok(())
    /// # }
    /// ```
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> ReadExact<'a, Self>
    where
        Self: Unpin,
    {
        read_exact(self, buf)
    }

    read_numbers! {
        read_u8, write_u8: u8, Highest, "";
        read_i8, write_i8: i8, Highest, "";
        read_u16, write_u16: u16, Highest, ", highest byte first";
        read_i16, write_i16: i16, Highest, ", highest byte first";
        read_u32, write_u32: u32, Highest, ", highest byte first";
        read_i32, write_i32: i32, Highest, ", highest byte first";
        read_u64, write_u64: u64, Highest, ", highest byte first";
        read_i64, write_i64: i64, Highest, ", highest byte first";
        read_u128, write_u128: u128, Highest, ", highest byte first";
        read_i128, write_i128: i128, Highest, ", highest byte first";
        read_f32, write_f32: f32, Highest, ", highest byte first";
        read_f64, write_f64: f64, Highest, ", highest byte first";
        read_u16_le, write_u16_le: u16, Lowest, ", lowest byte first";
        read_i16_le, write_i16_le: i16, Lowest, ", lowest byte first";
        read_u32_le, write_u32_le: u32, Lowest, ", lowest byte first";
        read_i32_le, write_i32_le: i32, Lowest, ", lowest byte first";
        read_u64_le, write_u64_le: u64, Lowest, ", lowest byte first";
        read_i64_le, write_i64_le: i64, Lowest, ", lowest byte first";
        read_u128_le, write_u128_le: u128, Lowest, ", lowest byte first";
        read_i128_le, write_i128_le: i128, Lowest, ", lowest byte first";
        read_f32_le, write_f32_le: f32, Lowest, ", lowest byte first";
        read_f64_le, write_f64_le: f64, Lowest, ", lowest byte first";
    }

    /// Reads to the end and appends everything to `buf`; returns how many bytes that was.
    ///
    /// The end is where a read gives nothing. An interrupted read is made again. `buf` is not reallocated if what comes
    /// fits in its capacity.
    ///
    /// # Errors
    ///
    /// Whatever the reader reports. What was read until then is in `buf`.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, what was read until then is in `buf`; a new call goes on from there.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut bytes = b"hello ".to_vec();
    /// let n = (&b"world"[..]).read_to_end(&mut bytes).await?;
    /// assert_eq!((n, &bytes[..]), (5, &b"hello world"[..]));
    /// # Ok(())
    /// # }
    /// ```
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> ReadToEnd<'a, Self>
    where
        Self: Unpin,
    {
        read_to_end(self, buf)
    }

    /// Reads to the end and appends everything to `dst` as text; returns how many bytes that was.
    ///
    /// # Errors
    ///
    /// [`InvalidData`](std::io::ErrorKind::InvalidData) if it is not UTF-8 (the error's source is a
    /// [`Utf8Error`](std::str::Utf8Error)), and whatever the reader reports. `dst` is as it was then, and what was read is
    /// lost.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: when the future is dropped, `dst` is as it was, and what was read is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut text = String::new();
    /// (&b"hello world"[..]).read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello world");
    /// # Ok(())
    /// # }
    /// ```
    fn read_to_string<'a>(&'a mut self, dst: &'a mut String) -> ReadToString<'a, Self>
    where
        Self: Unpin,
    {
        read_to_string(self, dst)
    }

    /// A reader of the next `limit` bytes only.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::{self, AsyncReadExt};
    ///
    /// # #[nezumi::main]
    /// # async fn main() -> io::Result<()> {
    /// let mut text = String::new();
    /// (&b"hello world"[..]).take(5).read_to_string(&mut text).await?;
    /// assert_eq!(text, "hello");
    /// # Ok(())
    /// # }
    /// ```
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take::new(self, limit)
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}
