//! One stream as two halves that can go to two tasks.
//!
//! Promise: the halves use the stream by turns, without blocking ([`Turn`]); the stream stays where it is until both halves
//! are gone; it comes out again only if it may be moved.
//!
//! The two `&mut self` of the halves are what makes it two parties and never three.
//!
//! Tests: `halves_know_each_other`, `unsplit_gives_the_stream_back`, `a_waker_may_poll_the_other_half`,
//! `a_pinned_stream_cannot_be_unsplit` (a `compile_fail` example).

use crate::turn::Turn;
use crate::{AsyncRead, AsyncWrite, ReadBuf};
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Arc;
use std::fmt;
use std::io::{self, IoSlice};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The half of a stream that is read. Made by [`split`].
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (stream, mut other) = duplex(16);
/// let (mut reads, writes) = split(stream);
/// other.write_all(b"ab").await.unwrap();
/// assert_eq!(reads.read_u16().await.unwrap(), 0x6162);
/// // Both together are the stream again.
/// let stream = reads.unsplit(writes);
/// # drop(stream);
/// # }
/// ```
pub struct ReadHalf<T> {
    shared: Arc<Shared<T>>,
}

/// The half of a stream that is written. Made by [`split`].
///
/// Dropping it does not shut the stream down.
///
/// # Examples
///
/// ```
/// use nezumi::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (stream, mut other) = duplex(16);
/// let (reads, mut writes) = split(stream);
/// writes.write_all(b"ab").await.unwrap();
/// assert_eq!(other.read_u16().await.unwrap(), 0x6162);
/// // Both together are the stream again.
/// let stream = reads.unsplit(writes);
/// # drop(stream);
/// # }
/// ```
pub struct WriteHalf<T> {
    shared: Arc<Shared<T>>,
}

/// Makes two halves of a stream, one to read and one to write, which can be used in different tasks.
///
/// The halves take turns: while one is being polled, the other waits (it does not block its thread). Sockets have a `split`
/// of their own that costs nothing; prefer it. The halves are put together with [`ReadHalf::unsplit`]. The stream is
/// dropped with the second half.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncReadExt, AsyncWriteExt};
///
/// # #[nezumi::main]
/// # async fn main() -> io::Result<()> {
/// let (here, mut there) = io::duplex(64);
/// let (mut read, mut write) = io::split(here);
/// write.write_all(b"ping").await?;
/// there.write_all(b"pong").await?;
/// let mut word = [0; 4];
/// read.read_exact(&mut word).await?;
/// assert_eq!(&word, b"pong");
/// let here = read.unsplit(write);
/// # drop(here);
/// # Ok(())
/// # }
/// ```
pub fn split<T>(stream: T) -> (ReadHalf<T>, WriteHalf<T>)
where
    T: AsyncRead + AsyncWrite,
{
    let is_write_vectored = stream.is_write_vectored();
    let shared = Arc::new(Shared { turn: Turn::new(), is_write_vectored, stream: UnsafeCell::new(stream) });
    (ReadHalf { shared: shared.clone() }, WriteHalf { shared })
}

struct Shared<T> {
    turn: Turn,
    /// Asked once: asking the stream would need the turn.
    is_write_vectored: bool,
    /// Touched only by who has the turn, or owns both halves.
    stream: UnsafeCell<T>,
}

impl<T> Shared<T> {
    fn poll_with<R>(
        &self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut T>, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<R> {
        let _taken = ready!(self.turn.poll_take(cx));
        self.stream.with_mut(|stream| {
            // SAFETY: we have the turn, and only with it is a reference to the stream made; it ends before the turn does.
            // Pinned: the stream lies in an `Arc` and is moved out only by `unsplit`, which wants `T: Unpin`.
            let stream = unsafe { Pin::new_unchecked(&mut *stream) };
            poll(stream, cx)
        })
    }
}

impl<T> ReadHalf<T> {
    /// Whether the two halves are of one stream.
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Puts the two halves together again.
    ///
    /// # Panics
    ///
    /// If they are not of one stream, which [`is_pair_of`](Self::is_pair_of) tells.
    ///
    /// # Examples
    ///
    /// A stream that must not be moved does not come out again:
    ///
    /// ```compile_fail
    /// use nezumi::io::{ReadHalf, WriteHalf};
    ///
    /// fn a_pinned_stream_cannot_be_unsplit<T>(read: ReadHalf<T>, write: WriteHalf<T>) -> T {
    ///     read.unsplit(write) // wants `T: Unpin`
    /// }
    /// ```
    #[track_caller]
    pub fn unsplit(self, wr: WriteHalf<T>) -> T
    where
        T: Unpin,
    {
        if !self.is_pair_of(&wr) {
            panic!("Unrelated `split::Write` passed to `split::Read::unsplit`.");
        }
        drop(wr);
        match Arc::try_unwrap(self.shared) {
            Ok(shared) => shared.stream.into_inner(),
            Err(_) => unreachable!("a stream has two halves, and both were given up"),
        }
    }
}

impl<T> WriteHalf<T> {
    /// Whether the two halves are of one stream.
    pub fn is_pair_of(&self, other: &ReadHalf<T>) -> bool {
        other.is_pair_of(self)
    }
}

impl<T: AsyncRead> AsyncRead for ReadHalf<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.shared.poll_with(cx, |stream, cx| stream.poll_read(cx, buf))
    }
}

impl<T: AsyncWrite> AsyncWrite for WriteHalf<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.shared.poll_with(cx, |stream, cx| stream.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.poll_with(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.poll_with(cx, |stream, cx| stream.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.shared.poll_with(cx, |stream, cx| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.shared.is_write_vectored
    }
}

// SAFETY: a half gives access to the stream by turns, from one thread at a time, and the last one drops it: it is sent from
// thread to thread, not shared.
unsafe impl<T: Send> Send for ReadHalf<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for WriteHalf<T> {}
// SAFETY: `&ReadHalf` gives no access to the stream at all.
unsafe impl<T: Sync> Sync for ReadHalf<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for WriteHalf<T> {}

// A panic while the stream was polled gave the turn up; what state the stream is in is its own affair, as it is for who
// polls it without halves.
impl<T> UnwindSafe for ReadHalf<T> {}
impl<T> UnwindSafe for WriteHalf<T> {}
impl<T> RefUnwindSafe for ReadHalf<T> {}
impl<T> RefUnwindSafe for WriteHalf<T> {}

impl<T: fmt::Debug> fmt::Debug for ReadHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("split::ReadHalf").finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("split::WriteHalf").finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{Did, Sink, Source, Step, poll_once};
    use crate::{AsyncReadExt, AsyncWriteExt, Join, join, simplex};
    use nezumi_wake::block_on;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
    use std::task::{Wake, Waker};

    fn stream() -> Join<Source, Sink> {
        join(Source::new([Step::Bytes(b"abc")]), Sink::default().vectored(true))
    }

    #[test]
    fn halves_know_each_other() {
        let ((read, write), (other_read, other_write)) = (split(stream()), split(stream()));
        assert!(read.is_pair_of(&write) && write.is_pair_of(&read));
        assert!(!read.is_pair_of(&other_write) && !other_write.is_pair_of(&read));
        assert_eq!(format!("{read:?} {write:?}"), "split::ReadHalf split::WriteHalf");
        let payload = catch_unwind(AssertUnwindSafe(|| drop(other_read.unsplit(write)))).unwrap_err();
        let phrase = "Unrelated `split::Write` passed to `split::Read::unsplit`.";
        assert_eq!(payload.downcast_ref(), Some(&phrase));
    }

    #[test]
    fn unsplit_gives_the_stream_back() {
        let (mut read, mut write) = split(stream());
        assert!(write.is_write_vectored());
        block_on(async {
            write.write_all(b"x").await.unwrap();
            assert_eq!(read.read_u8().await.unwrap(), b'a');
            write.write_vectored(&[IoSlice::new(b"y")]).await.unwrap();
            write.flush().await.unwrap();
            write.shutdown().await.unwrap();
        });
        let (mut source, sink) = read.unsplit(write).into_inner();
        assert_eq!(sink.written(), b"xy");
        assert_eq!(sink.log.last(), Some(&Did::Shutdown));
        assert_eq!(block_on(source.read_u8()).unwrap(), b'b');
    }

    #[test]
    fn the_second_half_drops_the_stream() {
        struct Dropped<'a>(&'a Mutex<usize>);

        impl Drop for Dropped<'_> {
            fn drop(&mut self) {
                *self.0.lock().unwrap() += 1;
            }
        }

        impl AsyncRead for Dropped<'_> {
            fn poll_read(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
                _: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                panic!("a reader that panics")
            }
        }

        let dropped = Mutex::new(0);
        let (mut read, write) = split(join(Dropped(&dropped), Vec::new()));
        for _ in 0..2 {
            // A panic gives the turn up.
            let payload = catch_unwind(AssertUnwindSafe(|| block_on(read.read(&mut [0])))).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"a reader that panics"));
        }
        drop(read);
        assert_eq!(*dropped.lock().unwrap(), 0);
        drop(write);
        assert_eq!(*dropped.lock().unwrap(), 1);
    }

    #[test]
    fn a_waker_may_poll_the_other_half() {
        /// Reads as soon as it is woken, by whoever wakes it.
        struct ReadsWhenWoken {
            read: Mutex<ReadHalf<crate::SimplexStream>>,
            polls: Mutex<Vec<Poll<usize>>>,
        }

        impl ReadsWhenWoken {
            fn poll(self: &Arc<Self>) {
                let waker = Waker::from(self.clone());
                let mut memory = [0; 4];
                let mut buf = ReadBuf::new(&mut memory);
                let result = {
                    let mut read = self.read.lock().unwrap();
                    Pin::new(&mut *read).poll_read(&mut Context::from_waker(&waker), &mut buf)
                };
                self.polls.lock().unwrap().push(result.map(|_| buf.filled().len()));
            }
        }

        impl Wake for ReadsWhenWoken {
            fn wake(self: Arc<Self>) {
                self.poll();
            }
        }

        let (read, mut write) = simplex(4);
        let task = Arc::new(ReadsWhenWoken { read: Mutex::new(read), polls: Mutex::new(Vec::new()) });
        task.poll();
        assert!(matches!(poll_once(|cx| Pin::new(&mut write).poll_write(cx, b"ab")), Poll::Ready(Ok(2))));
        let polls = task.polls.lock().unwrap();
        // It had to wait, was woken inside of the write, when it was not its turn, and again after that.
        assert_eq!(*polls, [Poll::Pending, Poll::Pending, Poll::Ready(2)]);
    }

    #[test]
    fn two_threads_take_turns() {
        let rounds = if cfg!(miri) { 20 } else { 2000 };
        let (mut read, mut write) = split(join(crate::repeat(7), Vec::new()));
        let reader = std::thread::spawn(move || {
            for _ in 0..rounds {
                assert_eq!(block_on(read.read_u16()).unwrap(), 0x0707);
            }
            read
        });
        for _ in 0..rounds {
            block_on(write.write_u16(1)).unwrap();
        }
        let stream = reader.join().unwrap().unsplit(write);
        assert_eq!(stream.writer().len(), 2 * rounds);
    }
}
