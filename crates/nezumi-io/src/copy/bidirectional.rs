//! Copying both ways at once, until both ways have ended.

use super::transfer::Transfer;
use crate::block::DEFAULT_CAPACITY;
use crate::{AsyncRead, AsyncWrite};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Copies from `a` to `b` and from `b` to `a` until both have ended; returns how many bytes went each way, `a` to `b`
/// first.
///
/// When one side ends, everything from it is written, then flushed, then the other side is
/// [shut down](AsyncWrite::poll_shutdown); the opposite way goes on meanwhile. This is what a proxy does. Each way has a
/// buffer of 8 KiB, and spends the task's budget as [`copy`](crate::copy()) does.
///
/// # Errors
///
/// Whatever either side reports, in either way, at once: bytes that are on the way are lost then, and neither side is
/// shut down.
///
/// # Cancel safety
///
/// Not cancel safe: bytes that were read and not written are lost when the future is dropped.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let (mut client, mut proxy_in) = io::duplex(64);
/// let (mut proxy_out, mut server) = io::duplex(64);
/// client.write_all(b"ask").await?;
/// client.shutdown().await?;
/// server.write_all(b"reply").await?;
/// server.shutdown().await?;
/// assert_eq!(io::copy_bidirectional(&mut proxy_in, &mut proxy_out).await?, (3, 5));
/// let mut text = String::new();
/// client.read_to_string(&mut text).await?;
/// assert_eq!(text, "reply");
/// # Ok(())
/// # }
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    both_ways(a, b, Way::new(DEFAULT_CAPACITY), Way::new(DEFAULT_CAPACITY)).await
}

/// As [`copy_bidirectional`], with buffers of as many bytes.
///
/// # Errors
///
/// As for `copy_bidirectional`.
///
/// # Panics
///
/// When polled, if either size is 0.
///
/// # Cancel safety
///
/// As for `copy_bidirectional`.
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional_with_sizes, duplex};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (mut client, mut front) = duplex(64);
/// let (mut back, mut server) = duplex(64);
/// let carried = nezumi::spawn(async move { copy_bidirectional_with_sizes(&mut front, &mut back, 1024, 16).await });
/// client.write_all(b"cheese?").await.unwrap();
/// client.shutdown().await.unwrap();
/// let mut asked = String::new();
/// server.read_to_string(&mut asked).await.unwrap();
/// assert_eq!(asked, "cheese?");
/// server.write_all(b"no").await.unwrap();
/// drop(server);
/// let mut answer = String::new();
/// client.read_to_string(&mut answer).await.unwrap();
/// assert_eq!(answer, "no");
/// # drop(carried);
/// # }
/// ```
pub async fn copy_bidirectional_with_sizes<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    assert!(a_to_b_buf_size > 0, "`a_to_b_buf_size` must be greater than 0");
    assert!(b_to_a_buf_size > 0, "`b_to_a_buf_size` must be greater than 0");
    both_ways(a, b, Way::new(a_to_b_buf_size), Way::new(b_to_a_buf_size)).await
}

async fn both_ways<A, B>(a: &mut A, b: &mut B, mut there: Way, mut back: Way) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    poll_fn(|cx| {
        // Both are polled each time, and an error of one is not held up by the other.
        let there = there.poll(cx, Pin::new(&mut *a), Pin::new(&mut *b))?;
        let back = back.poll(cx, Pin::new(&mut *b), Pin::new(&mut *a))?;
        Poll::Ready(Ok((ready!(there), ready!(back))))
    })
    .await
}

/// One of the two ways: `Copying -> ShuttingDown -> Done`, the latter two with the number of bytes.
enum Way {
    Copying(Transfer),
    ShuttingDown(u64),
    Done(u64),
}

impl Way {
    fn new(capacity: usize) -> Self {
        Way::Copying(Transfer::new(capacity))
    }

    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            *self = match self {
                Way::Copying(transfer) => {
                    Way::ShuttingDown(ready!(transfer.poll_copy(cx, reader.as_mut(), writer.as_mut()))?)
                }
                Way::ShuttingDown(copied) => {
                    ready!(writer.as_mut().poll_shutdown(cx))?;
                    Way::Done(*copied)
                }
                Way::Done(copied) => return Poll::Ready(Ok(*copied)),
            };
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{self, Did, Sink, Source, Step, poll_once};
    use crate::{AsyncReadExt, AsyncWriteExt, Join, duplex, join};
    use nezumi_wake::block_on;
    use std::future::Future;
    use std::io::ErrorKind;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;

    fn end<const N: usize>(reads: [Step; N], sink: Sink) -> Join<Source, Sink> {
        join(Source::new(reads), sink)
    }

    #[test]
    fn each_way_is_flushed_and_then_shut_down() {
        let mut a = end([Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"c")], Sink::default());
        let mut b = end([Step::Bytes(b"xy")], Sink::new([Step::Pending, Step::Take(1)]));
        b.writer_mut().shutdowns.push_back(Step::Pending);
        assert_eq!(block_on(copy_bidirectional(&mut a, &mut b)).unwrap(), (3, 2));
        assert_eq!(a.writer().log, [Did::Write(b"xy".to_vec()), Did::Flush, Did::Shutdown]);
        assert_eq!(b.writer().written(), b"abc");
        assert_eq!(b.writer().log[b.writer().log.len() - 2..], [Did::Flush, Did::Shutdown]);
    }

    #[test]
    fn one_way_goes_on_when_the_other_has_ended() {
        let (mut client, mut inner) = duplex(8);
        let (mut outer, mut server) = duplex(8);
        let mut proxy = pin!(copy_bidirectional_with_sizes(&mut inner, &mut outer, 1, 3));
        block_on(async {
            client.write_all(b"ask").await.unwrap();
            client.shutdown().await.unwrap();
            assert!(poll_once(|cx| proxy.as_mut().poll(cx)).is_pending());
            let mut text = String::new();
            server.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "ask");
            server.write_all(b"reply").await.unwrap();
            drop(server);
            assert_eq!(proxy.await.unwrap(), (3, 5));
            client.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "askreply");
        });
    }

    #[test]
    fn an_error_of_either_way_ends_both() {
        let pending = || Step::Pending;
        let mut quiet = end([pending(), pending(), pending()], Sink::default());
        let mut a = end([Step::Fail(ErrorKind::NotFound)], Sink::default());
        let result = poll_once(|cx| pin!(copy_bidirectional(&mut a, &mut quiet)).poll(cx));
        assert!(matches!(result, Poll::Ready(Err(error)) if error.kind() == ErrorKind::NotFound));
        let mut b = end([Step::Fail(ErrorKind::NotFound)], Sink::default());
        let result = poll_once(|cx| pin!(copy_bidirectional(&mut quiet, &mut b)).poll(cx));
        assert!(matches!(result, Poll::Ready(Err(error)) if error.kind() == ErrorKind::NotFound));
        let mut c = end([], Sink::default());
        c.writer_mut().shutdowns.push_back(Step::Fail(ErrorKind::NotConnected));
        let error = block_on(copy_bidirectional(&mut end([], Sink::default()), &mut c)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
    }

    #[test]
    fn no_room_is_refused() {
        for (sizes, phrase) in [
            ((0, 1), "`a_to_b_buf_size` must be greater than 0"),
            ((1, 0), "`b_to_a_buf_size` must be greater than 0"),
        ] {
            let (mut a, mut b) = duplex(1);
            let payload = catch_unwind(AssertUnwindSafe(|| {
                block_on(copy_bidirectional_with_sizes(&mut a, &mut b, sizes.0, sizes.1))
            }));
            assert_eq!(payload.unwrap_err().downcast_ref(), Some(&phrase));
        }
    }

    #[test]
    fn a_loop_of_copies_lets_others_run() {
        let ready = script::ready_polls_in_budget(|cx| {
            let (mut a, mut b) = (end([], Sink::default()), end([], Sink::default()));
            pin!(copy_bidirectional(&mut a, &mut b)).poll(cx).map(drop)
        });
        assert_eq!(ready, 64, "each of the two ways spends one unit");
    }
}
