//! Two streams in memory, each the other's other end.
//!
//! Promise: when an end is shut down or dropped the other reads what is on the way and then the end; when an end is dropped
//! the other's writes fail.
//!
//! Tests: `each_end_reads_what_the_other_writes`, `a_dropped_end_is_noticed_on_both_ways`,
//! `a_shut_down_end_can_still_read`.

use crate::pipe::Pipe;
use crate::{AsyncRead, AsyncWrite, ReadBuf};
use nezumi_prim::sync::Arc;
use nezumi_wake::{FirstPanic, wake_and_drop};
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// One of two connected ends of a stream in memory. Made by [`duplex`].
///
/// Dropping it ends what the other reads, after what is on the way, and makes the other's writes fail with
/// [`BrokenPipe`](std::io::ErrorKind::BrokenPipe). Shutting it down does only the former; writing to it fails after that.
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// async fn echo(mut stream: DuplexStream) -> std::io::Result<()> {
///     let byte = stream.read_u8().await?;
///     stream.write_u8(byte).await
/// }
///
/// let (mut client, server) = duplex(16);
/// let server = nezumi::spawn(echo(server));
/// client.write_u8(7).await.unwrap();
/// assert_eq!(client.read_u8().await.unwrap(), 7);
/// server.await.unwrap().unwrap();
/// # }
/// ```
pub struct DuplexStream {
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
}

/// Two connected streams in memory: what is written to one is read from the other.
///
/// Each way holds up to `max_buf_size` bytes; when it is full the writer waits until some are read. Memory is taken as it is
/// needed. Like a socket each read and write spends the budget of its task.
///
/// Made for tests of what normally speaks over a socket, and as a pipe between two tasks.
///
/// # Panics
///
/// If `max_buf_size` is 0.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let (mut client, mut server) = io::duplex(64);
/// client.write_all(b"ping").await?;
/// let mut word = [0; 4];
/// server.read_exact(&mut word).await?;
/// assert_eq!(&word, b"ping");
/// server.write_all(b"pong").await?;
/// client.read_exact(&mut word).await?;
/// assert_eq!(&word, b"pong");
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn duplex(max_buf_size: usize) -> (DuplexStream, DuplexStream) {
    let there = Arc::new(Pipe::new(max_buf_size));
    let back = Arc::new(Pipe::new(max_buf_size));
    (
        DuplexStream { incoming: back.clone(), outgoing: there.clone() },
        DuplexStream { incoming: there, outgoing: back },
    )
}

impl AsyncRead for DuplexStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.incoming.poll_read(cx, buf)
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.outgoing.poll_write(cx, buf)
    }

    /// There is nothing to wait for: what was written can be read.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.close();
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.outgoing.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        let mut panics = FirstPanic::new();
        for left in [self.outgoing.leave_writing(), self.incoming.leave_reading()] {
            panics.run(|| wake_and_drop(left.to_wake, left.own));
        }
        panics.resume();
    }
}

impl fmt::Debug for DuplexStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DuplexStream").field("read", &self.incoming).field("write", &self.outgoing).finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::poll_once;
    use crate::{AsyncReadExt, AsyncWriteExt};
    use nezumi_wake::block_on;
    use std::future::Future;
    use std::io::ErrorKind;
    use std::panic::catch_unwind;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[test]
    fn each_end_reads_what_the_other_writes() {
        let (mut a, mut b) = duplex(4);
        assert!(a.is_write_vectored());
        block_on(async {
            assert_eq!(a.write(b"abcdef").await.unwrap(), 4);
            assert_eq!(b.write_vectored(&[IoSlice::new(b"x"), IoSlice::new(b"y")]).await.unwrap(), 2);
            a.flush().await.unwrap();
            let mut buf = [0; 8];
            assert_eq!(a.read(&mut buf).await.unwrap(), 2);
            assert_eq!(buf[..2], *b"xy");
            assert_eq!(b.read(&mut buf).await.unwrap(), 4);
            assert_eq!(buf[..4], *b"abcd");
        });
        assert_eq!(
            format!("{a:?}"),
            "DuplexStream { read: Pipe { buffered: 0, capacity: 4, closed: false }, \
             write: Pipe { buffered: 0, capacity: 4, closed: false } }"
        );
    }

    #[test]
    fn two_threads_talk() {
        let rounds: u32 = if cfg!(miri) { 10 } else { 1000 };
        let (mut a, mut b) = duplex(3);
        let other = std::thread::spawn(move || {
            block_on(async {
                while let Ok(n) = b.read_u32().await {
                    b.write_u32(n + 1).await.unwrap();
                }
            });
        });
        block_on(async {
            for n in 0..rounds {
                a.write_u32(n).await.unwrap();
                assert_eq!(a.read_u32().await.unwrap(), n + 1);
            }
        });
        drop(a);
        other.join().unwrap();
    }

    #[test]
    fn a_shut_down_end_can_still_read() {
        let (mut a, mut b) = duplex(4);
        block_on(async {
            a.write_all(b"ab").await.unwrap();
            a.shutdown().await.unwrap();
            a.shutdown().await.unwrap();
            assert_eq!(a.write(b"c").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
            let mut vec = Vec::new();
            assert_eq!(b.read_to_end(&mut vec).await.unwrap(), 2);
            b.write_all(b"xy").await.unwrap();
            assert_eq!(a.read_u16().await.unwrap(), u16::from_be_bytes(*b"xy"));
        });
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn whoever_reads_is_woken_by_a_write_of_any_number_of_pieces() {
        for pieces in 1..=3 {
            let (mut a, mut b) = duplex(4);
            let count = std::sync::Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            let mut memory = [0; 4];
            let mut buf = ReadBuf::new(&mut memory);
            assert!(Pin::new(&mut b).poll_read(&mut Context::from_waker(&waker), &mut buf).is_pending());
            let bufs: Vec<_> = (0..pieces).map(|_| IoSlice::new(b"x")).collect();
            let written = poll_once(|cx| Pin::new(&mut a).poll_write_vectored(cx, &bufs));
            assert!(matches!(written, Poll::Ready(Ok(n)) if n == pieces));
            assert_eq!(count.0.load(Ordering::Relaxed), 1, "written in {pieces} pieces");
            assert!(poll_once(|cx| Pin::new(&mut b).poll_read(cx, &mut buf)).is_ready());
            assert_eq!(buf.filled().len(), pieces);
        }
    }

    struct PanicOnDrop;

    impl std::task::Wake for PanicOnDrop {
        fn wake(self: std::sync::Arc<Self>) {}
    }

    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("a waker whose drop panics, on purpose");
        }
    }

    /// Two drops that panic in one scope would end the process.
    #[test]
    fn the_wakers_of_both_ways_may_panic_when_dropped() {
        fn panics<R>(f: impl FnOnce() -> R) -> bool {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err()
        }

        let (mut a, mut b) = duplex(1);
        assert!(matches!(poll_once(|cx| Pin::new(&mut a).poll_write(cx, b"a")), Poll::Ready(Ok(1))));
        let wait = |end: &mut DuplexStream, reads: bool| {
            let waker = Waker::from(std::sync::Arc::new(PanicOnDrop));
            let mut cx = Context::from_waker(&waker);
            let mut memory = [0; 1];
            let waits = if reads {
                Pin::new(end).poll_read(&mut cx, &mut ReadBuf::new(&mut memory)).is_pending()
            } else {
                Pin::new(end).poll_write(&mut cx, b"b").is_pending()
            };
            drop(waker);
            assert!(waits);
        };
        // On both ends: one waits for a byte, the other for room.
        wait(&mut a, true);
        wait(&mut a, false);
        assert!(panics(|| drop(a)));
        let mut byte = [0; 1];
        let mut buf = ReadBuf::new(&mut byte);
        assert!(poll_once(|cx| Pin::new(&mut b).poll_read(cx, &mut buf)).is_ready());
        assert!(matches!(poll_once(|cx| Pin::new(&mut b).poll_write(cx, b"b")), Poll::Ready(Err(_))));
    }

    #[test]
    fn a_dropped_end_is_noticed_on_both_ways() {
        let count = std::sync::Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut cx = Context::from_waker(&waker);
        let (mut a, b) = duplex(1);
        block_on(a.write_all(b"a")).unwrap();
        let (mut read, mut write) = crate::split(a);
        let mut memory = [0; 1];
        {
            let mut reading = pin!(read.read(&mut memory));
            let mut writing = pin!(write.write(b"b"));
            assert!(reading.as_mut().poll(&mut cx).is_pending());
            assert!(writing.as_mut().poll(&mut cx).is_pending());
            drop(b);
            assert_eq!(count.0.load(Ordering::Relaxed), 2);
            assert!(matches!(poll_once(|cx| reading.poll(cx)), Poll::Ready(Ok(0))));
            let written = poll_once(|cx| writing.poll(cx));
            assert!(matches!(written, Poll::Ready(Err(error)) if error.kind() == ErrorKind::BrokenPipe));
        }
        drop((read, write, waker));
        assert_eq!(std::sync::Arc::strong_count(&count), 1, "no waker is left behind");
    }

    /// However long its writer stays.
    #[test]
    fn what_is_on_the_way_goes_with_its_reader() {
        let (mut a, b) = duplex(4);
        block_on(a.write_all(b"abc")).unwrap();
        assert!(format!("{a:?}").contains("write: Pipe { buffered: 3"));
        drop(b);
        assert!(format!("{a:?}").contains("write: Pipe { buffered: 0"));
    }

    #[test]
    fn no_capacity_is_refused() {
        let payload = catch_unwind(|| duplex(0)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"`max_buf_size` must be greater than 0"));
    }
}
