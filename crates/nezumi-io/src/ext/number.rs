//! Numbers of fixed width, read and written byte for byte.
//!
//! One future for reading and one for writing, generic over the number; [`Wire`] says how a number lies in its bytes.
//!
//! Tests: `numbers_come_back_as_they_went`, `a_number_may_come_in_pieces`, `half_a_number_is_an_early_end`,
//! `a_writer_that_takes_nothing_is_an_error`.

use super::{is_interrupted, taken};
use crate::{AsyncRead, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Which byte of a number comes first.
#[derive(Clone, Copy)]
pub enum Order {
    /// Big-endian, as on the network.
    Highest,
    /// Little-endian.
    Lowest,
}

/// A number with a fixed width.
pub trait Wire: Copy {
    /// As many bytes as the number has.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Copy;

    /// Only zeros.
    const ZEROS: Self::Bytes;

    /// The bytes in this order.
    fn to_wire(self, order: Order) -> Self::Bytes;

    /// The number that these bytes are in this order.
    fn from_wire(bytes: Self::Bytes, order: Order) -> Self;
}

macro_rules! wire {
    ($($number:ty)*) => {$(
        impl Wire for $number {
            type Bytes = [u8; size_of::<$number>()];

            const ZEROS: Self::Bytes = [0; size_of::<$number>()];

            #[inline]
            fn to_wire(self, order: Order) -> Self::Bytes {
                match order {
                    Order::Highest => self.to_be_bytes(),
                    Order::Lowest => self.to_le_bytes(),
                }
            }

            #[inline]
            fn from_wire(bytes: Self::Bytes, order: Order) -> Self {
                match order {
                    Order::Highest => Self::from_be_bytes(bytes),
                    Order::Lowest => Self::from_le_bytes(bytes),
                }
            }
        }
    )*};
}

wire! { u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64 }

pin_project! {
    /// The future of `read_u8` and its like.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadNumber<'a, R: ?Sized, N: Wire> {
        reader: &'a mut R,
        order: Order,
        bytes: N::Bytes,
        read: usize,
        #[pin]
        pinned: PhantomPinned,
    }
}

#[inline]
pub(super) fn read_number<R: ?Sized, N: Wire>(reader: &mut R, order: Order) -> ReadNumber<'_, R, N> {
    ReadNumber { reader, order, bytes: N::ZEROS, read: 0, pinned: PhantomPinned }
}

impl<R, N> Future for ReadNumber<'_, R, N>
where
    R: AsyncRead + Unpin + ?Sized,
    N: Wire,
{
    type Output = io::Result<N>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<N>> {
        let me = self.project();
        while *me.read < me.bytes.as_ref().len() {
            let mut buf = ReadBuf::new(&mut me.bytes.as_mut()[*me.read..]);
            let origin = buf.origin();
            let result = ready!(Pin::new(&mut **me.reader).poll_read(cx, &mut buf));
            origin.expect_same(&buf);
            match result {
                Ok(()) if buf.filled().is_empty() => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                Ok(()) => *me.read += buf.filled().len(),
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(N::from_wire(*me.bytes, *me.order)))
    }
}

pin_project! {
    /// The future of `write_u8` and its like.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteNumber<'a, W: ?Sized, N: Wire> {
        writer: &'a mut W,
        bytes: N::Bytes,
        written: usize,
        #[pin]
        pinned: PhantomPinned,
    }
}

#[inline]
pub(super) fn write_number<W: ?Sized, N: Wire>(
    writer: &mut W,
    number: N,
    order: Order,
) -> WriteNumber<'_, W, N> {
    WriteNumber { writer, bytes: number.to_wire(order), written: 0, pinned: PhantomPinned }
}

impl<W, N> Future for WriteNumber<'_, W, N>
where
    W: AsyncWrite + Unpin + ?Sized,
    N: Wire,
{
    type Output = io::Result<()>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.project();
        loop {
            let left = &me.bytes.as_ref()[*me.written..];
            if left.is_empty() {
                return Poll::Ready(Ok(()));
            }
            match ready!(Pin::new(&mut **me.writer).poll_write(cx, left)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(n) => *me.written += taken(n, left.len()),
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::{Sink, Source, Step};
    use crate::{AsyncReadExt, AsyncWriteExt};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;

    macro_rules! check {
        ($($number:ty: $read:ident, $write:ident, $bytes:ident;)*) => {$(
            for number in [<$number>::MIN, <$number>::MAX, 0 as $number, 1 as $number, 77 as $number] {
                let mut bytes = Vec::new();
                block_on(bytes.$write(number)).unwrap();
                assert_eq!(bytes, number.$bytes());
                let mut rest = &bytes[..];
                assert_eq!(block_on(rest.$read()).unwrap(), number);
                assert_eq!(block_on(rest.$read()).unwrap_err().kind(), ErrorKind::UnexpectedEof);
            }
        )*};
    }

    #[test]
    fn numbers_come_back_as_they_went() {
        check! {
            u8: read_u8, write_u8, to_be_bytes;
            i8: read_i8, write_i8, to_be_bytes;
            u16: read_u16, write_u16, to_be_bytes;
            i16: read_i16, write_i16, to_be_bytes;
            u32: read_u32, write_u32, to_be_bytes;
            i32: read_i32, write_i32, to_be_bytes;
            u64: read_u64, write_u64, to_be_bytes;
            i64: read_i64, write_i64, to_be_bytes;
            u128: read_u128, write_u128, to_be_bytes;
            i128: read_i128, write_i128, to_be_bytes;
            f32: read_f32, write_f32, to_be_bytes;
            f64: read_f64, write_f64, to_be_bytes;
            u16: read_u16_le, write_u16_le, to_le_bytes;
            i16: read_i16_le, write_i16_le, to_le_bytes;
            u32: read_u32_le, write_u32_le, to_le_bytes;
            i32: read_i32_le, write_i32_le, to_le_bytes;
            u64: read_u64_le, write_u64_le, to_le_bytes;
            i64: read_i64_le, write_i64_le, to_le_bytes;
            u128: read_u128_le, write_u128_le, to_le_bytes;
            i128: read_i128_le, write_i128_le, to_le_bytes;
            f32: read_f32_le, write_f32_le, to_le_bytes;
            f64: read_f64_le, write_f64_le, to_le_bytes;
        }
    }

    #[test]
    fn a_number_may_come_in_pieces() {
        let mut source = Source::new([
            Step::Bytes(&[1]),
            Step::Pending,
            Step::Fail(ErrorKind::Interrupted),
            Step::Bytes(&[2, 3]),
            Step::Bytes(&[4, 5]),
        ]);
        assert_eq!(block_on(source.read_u32()).unwrap(), 0x0102_0304);
        assert_eq!(block_on(source.read_u8()).unwrap(), 5);
        let mut sink = Sink::new([
            Step::Take(1),
            Step::Pending,
            Step::Fail(ErrorKind::Interrupted),
            Step::Take(2),
            Step::Take(9),
        ]);
        block_on(sink.write_u32_le(0x0403_0201)).unwrap();
        assert_eq!(sink.written(), [1, 2, 3, 4]);
    }

    #[test]
    fn half_a_number_is_an_early_end() {
        let mut source = Source::new([Step::Bytes(&[1]), Step::Fail(ErrorKind::NotFound), Step::Bytes(&[2])]);
        assert_eq!(block_on(source.read_i16()).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(block_on(source.read_i16()).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_writer_that_takes_nothing_is_an_error() {
        let mut sink = Sink::new([Step::Take(1), Step::Take(0), Step::Fail(ErrorKind::BrokenPipe)]);
        assert_eq!(block_on(sink.write_u16(7)).unwrap_err().kind(), ErrorKind::WriteZero);
        assert_eq!(block_on(sink.write_i8(7)).unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
