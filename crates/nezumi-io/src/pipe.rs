//! Bytes in memory on the way from one task to another.
//!
//! Called by [`DuplexStream`](crate::DuplexStream), which has two of these, and [`SimplexStream`](crate::SimplexStream).
//!
//! Promise: a reader that waits is woken by the next write or close, a writer that waits by the next read or close; and
//! no waker is cloned, woken or dropped under the lock.
//!
//! Each call first tries. If it must wait, and the waker that stands there is another, it lets the lock go, clones its
//! waker, and tries again: either it need not wait any more, or it leaves the clone there under the same hold of the lock
//! under which it found that it must.
//!
//! One task reads and one writes; of two that wait to read, the later one is woken.
//!
//! Tests: `bytes_keep_their_order_around_the_ring` (property), `re_entrant_wakers_do_no_harm`, and those of the two
//! streams; loom: `what_is_written_is_read_and_then_the_end`, `a_full_pipe_has_its_writer_woken`.

use crate::ReadBuf;
use nezumi_prim::sync::Mutex;
use nezumi_wake::coop;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSlice};
use std::task::{Context, Poll, Waker, ready};

pub(crate) struct Pipe {
    state: Mutex<State>,
    capacity: usize,
}

struct State {
    /// Grows as needed, never above `capacity` bytes.
    bytes: VecDeque<u8>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Who waits, and with it where its waker stands.
#[derive(Clone, Copy)]
enum Side {
    Reader,
    Writer,
}

impl State {
    fn waker(&mut self, side: Side) -> &mut Option<Waker> {
        match side {
            Side::Reader => &mut self.reader,
            Side::Writer => &mut self.writer,
        }
    }

    /// `None` if it must wait.
    fn read(&mut self, buf: &mut ReadBuf<'_>) -> Option<io::Result<()>> {
        if buf.remaining() == 0 {
            return Some(Ok(()));
        }
        if self.bytes.is_empty() {
            return self.closed.then_some(Ok(()));
        }
        let n = buf.remaining().min(self.bytes.len());
        let (front, back) = self.bytes.as_slices();
        let in_front = n.min(front.len());
        buf.put_slice(&front[..in_front]);
        buf.put_slice(&back[..n - in_front]);
        self.bytes.drain(..n);
        Some(Ok(()))
    }

    /// `None` if it must wait.
    fn write(&mut self, bufs: &[IoSlice<'_>], capacity: usize) -> Option<io::Result<usize>> {
        if self.closed {
            return Some(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if bufs.iter().all(|buf| buf.is_empty()) {
            return Some(Ok(0));
        }
        let room = capacity - self.bytes.len();
        if room == 0 {
            return None;
        }
        let mut left = room;
        for buf in bufs {
            let n = buf.len().min(left);
            self.bytes.extend(&buf[..n]);
            left -= n;
        }
        Some(Ok(room - left))
    }
}

impl Pipe {
    /// A pipe that holds up to `capacity` bytes.
    #[track_caller]
    pub(crate) fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "`max_buf_size` must be greater than 0");
        let state = State { bytes: VecDeque::new(), closed: false, reader: None, writer: None };
        Self { state: Mutex::new(state), capacity }
    }

    pub(crate) fn poll_read(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.remaining();
        self.poll(cx, Side::Reader, |state| {
            let result = state.read(buf)?;
            let woken = if buf.remaining() < before { state.writer.take() } else { None };
            Some((result, woken))
        })
    }

    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    pub(crate) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, Side::Writer, |state| {
            let result = state.write(bufs, self.capacity)?;
            let woken = if matches!(result, Ok(1..)) { state.reader.take() } else { None };
            Some((result, woken))
        })
    }

    /// Tries until it can go on, or has left its waker. `attempt` says what came of it and whom to wake for it.
    fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        side: Side,
        mut attempt: impl FnMut(&mut State) -> Option<(T, Option<Waker>)>,
    ) -> Poll<T> {
        let coop = ready!(coop::poll_proceed(cx));
        let mut clone = None;
        loop {
            let mut state = self.state.lock();
            if let Some((result, woken)) = attempt(&mut state) {
                drop(state);
                if let Some(waker) = woken {
                    waker.wake();
                }
                coop.made_progress();
                return Poll::Ready(result);
            }
            let place = state.waker(side);
            if place.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            if let Some(waker) = clone.take() {
                let replaced = place.replace(waker);
                drop(state);
                drop(replaced);
                return Poll::Pending;
            }
            drop(state);
            clone = Some(cx.waker().clone());
        }
    }

    /// Nothing more will be written: the reader gets what is there, and then the end.
    pub(crate) fn close(&self) {
        let woken = {
            let mut state = self.state.lock();
            state.closed = true;
            state.reader.take()
        };
        if let Some(waker) = woken {
            waker.wake();
        }
    }

    /// The writer is gone.
    pub(crate) fn leave_writing(&self) -> Left {
        let mut state = self.state.lock();
        state.closed = true;
        Left { to_wake: state.reader.take(), own: state.writer.take(), _bytes: VecDeque::new() }
    }

    /// The reader is gone, and what was on the way to it.
    pub(crate) fn leave_reading(&self) -> Left {
        let mut state = self.state.lock();
        state.closed = true;
        let bytes = std::mem::take(&mut state.bytes);
        Left { to_wake: state.writer.take(), own: state.reader.take(), _bytes: bytes }
    }
}

/// What somebody who left the pipe leaves to do, under no lock: whom to wake, and what to drop.
pub(crate) struct Left {
    pub(crate) to_wake: Option<Waker>,
    pub(crate) own: Option<Waker>,
    _bytes: VecDeque<u8>,
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (buffered, closed) = {
            let state = self.state.lock();
            (state.bytes.len(), state.closed)
        };
        f.debug_struct("Pipe")
            .field("buffered", &buffered)
            .field("capacity", &self.capacity)
            .field("closed", &closed)
            .finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{self, poll_once};
    use std::io::ErrorKind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::task::Wake;

    pub(super) fn read(pipe: &Pipe, n: usize) -> Poll<Vec<u8>> {
        let mut memory = vec![0; n];
        let mut buf = ReadBuf::new(&mut memory);
        poll_once(|cx| pipe.poll_read(cx, &mut buf)).map(|result| {
            result.unwrap();
            buf.filled().to_vec()
        })
    }

    #[test]
    fn after_the_close_there_is_the_rest_and_the_end() {
        let pipe = Pipe::new(4);
        assert!(matches!(poll_once(|cx| pipe.poll_write(cx, b"abcdef")), Poll::Ready(Ok(4))));
        assert_eq!(format!("{pipe:?}"), "Pipe { buffered: 4, capacity: 4, closed: false }");
        pipe.close();
        for bytes in [&b"x"[..], b""] {
            let result = poll_once(|cx| pipe.poll_write(cx, bytes));
            assert!(matches!(result, Poll::Ready(Err(error)) if error.kind() == ErrorKind::BrokenPipe));
        }
        assert_eq!(read(&pipe, 3), Poll::Ready(b"abc".to_vec()));
        assert_eq!(read(&pipe, 3), Poll::Ready(b"d".to_vec()));
        assert_eq!(read(&pipe, 3), Poll::Ready(Vec::new()));
    }

    #[test]
    fn it_lets_others_run() {
        let pipe = Pipe::new(1);
        script::spends_budget(|cx| pipe.poll_write(cx, b"").map(drop));
        script::spends_budget(|cx| pipe.poll_read(cx, &mut ReadBuf::new(&mut [])).map(drop));
        // Waiting is free.
        let waits = nezumi_wake::coop::budget(|| {
            assert!((0..1000).all(|_| read(&pipe, 1).is_pending()));
            nezumi_wake::coop::has_budget_remaining()
        });
        assert!(waits);
    }

    /// A waker that uses the pipe whenever it is woken or dropped.
    struct ReEntrant {
        pipe: Arc<OnceLock<Pipe>>,
        used: Arc<AtomicUsize>,
    }

    impl ReEntrant {
        fn use_pipe(&self) {
            let pipe = self.pipe.get().unwrap();
            assert!(poll_once(|cx| pipe.poll_read(cx, &mut ReadBuf::new(&mut []))).is_ready());
            self.used.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Wake for ReEntrant {
        fn wake(self: Arc<Self>) {
            self.use_pipe();
        }
    }

    impl Drop for ReEntrant {
        fn drop(&mut self) {
            self.use_pipe();
        }
    }

    #[test]
    fn re_entrant_wakers_do_no_harm() {
        let (place, used) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
        let pipe = place.get_or_init(|| Pipe::new(1));
        let waker = || Waker::from(Arc::new(ReEntrant { pipe: place.clone(), used: used.clone() }));
        let count = || used.swap(0, Ordering::Relaxed);
        let mut memory = [0; 1];
        let mut wait_to_read = |waker: &Waker| {
            let mut buf = ReadBuf::new(&mut memory);
            assert!(pipe.poll_read(&mut Context::from_waker(waker), &mut buf).is_pending());
        };
        wait_to_read(&waker());
        assert_eq!(count(), 0);
        wait_to_read(&waker());
        assert_eq!(count(), 1, "the replaced waker was dropped");
        assert!(poll_once(|cx| pipe.poll_write(cx, b"a")).is_ready());
        assert_eq!(count(), 2, "woken, then dropped");
        assert!(pipe.poll_write(&mut Context::from_waker(&waker()), b"b").is_pending());
        assert!(pipe.poll_write(&mut Context::from_waker(&waker()), b"b").is_pending());
        assert_eq!(count(), 1);
        assert!(read(pipe, 1).is_ready());
        assert_eq!(count(), 2);
        wait_to_read(&waker());
        pipe.close();
        assert_eq!(count(), 2);
    }
}

/// Not under Miri, which takes minutes to make up the cases; nothing here is `unsafe`.
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle, miri))))]
mod properties {
    use super::Pipe;
    use super::tests::read;
    use crate::script::{self, poll_once};
    use proptest::prelude::*;
    use std::io::IoSlice;
    use std::task::Poll;

    #[derive(Clone, Debug)]
    enum Call {
        Read(usize),
        Write(Vec<Vec<u8>>),
    }

    fn call() -> impl Strategy<Value = Call> {
        let bytes = prop::collection::vec(any::<u8>(), 0..6);
        prop_oneof![
            (0..12_usize).prop_map(Call::Read),
            prop::collection::vec(bytes, 0..4).prop_map(Call::Write),
        ]
    }

    proptest! {
        #![proptest_config(script::cases(256))]

        #[test]
        fn bytes_keep_their_order_around_the_ring(
            capacity in 1..10_usize,
            calls in prop::collection::vec(call(), 0..40),
        ) {
            let pipe = Pipe::new(capacity);
            let mut plain = Vec::new();
            for call in calls {
                match call {
                    Call::Read(n) => match read(&pipe, n) {
                        Poll::Ready(bytes) => {
                            assert_eq!(bytes.len(), n.min(plain.len()));
                            assert_eq!(bytes, plain.drain(..bytes.len()).collect::<Vec<_>>());
                        }
                        Poll::Pending => assert!(plain.is_empty() && n > 0),
                    },
                    Call::Write(pieces) => {
                        let slices: Vec<_> = pieces.iter().map(|bytes| IoSlice::new(bytes)).collect();
                        let all = pieces.concat();
                        match poll_once(|cx| pipe.poll_write_vectored(cx, &slices)) {
                            Poll::Ready(n) => {
                                let n = n.unwrap();
                                assert_eq!(n, all.len().min(capacity - plain.len()));
                                plain.extend_from_slice(&all[..n]);
                            }
                            Poll::Pending => assert!(plain.len() == capacity && !all.is_empty()),
                        }
                    }
                }
            }
        }
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::*;
    use loom::future::block_on;
    use loom::sync::Arc;
    use loom::thread;
    use std::future::poll_fn;

    async fn read(pipe: &Pipe) -> Vec<u8> {
        let mut memory = [0; 4];
        poll_fn(|cx| {
            let mut buf = ReadBuf::new(&mut memory);
            pipe.poll_read(cx, &mut buf).map(|result| {
                result.unwrap();
                buf.filled().to_vec()
            })
        })
        .await
    }

    async fn write(pipe: &Pipe, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| pipe.poll_write(cx, bytes)).await
    }

    #[test]
    fn what_is_written_is_read_and_then_the_end() {
        loom::model(|| {
            let pipe = Arc::new(Pipe::new(4));
            let other = pipe.clone();
            let writer = thread::spawn(move || {
                assert_eq!(block_on(write(&other, b"ab")).unwrap(), 2);
                other.close();
            });
            assert_eq!(block_on(read(&pipe)), b"ab");
            assert_eq!(block_on(read(&pipe)), b"");
            writer.join().unwrap();
        });
    }

    #[test]
    fn a_full_pipe_has_its_writer_woken() {
        loom::model(|| {
            let pipe = Arc::new(Pipe::new(1));
            assert_eq!(block_on(write(&pipe, b"a")).unwrap(), 1);
            let other = pipe.clone();
            let reader = thread::spawn(move || {
                assert_eq!(block_on(read(&other)), b"a");
                let left = other.leave_reading();
                if let Some(waker) = left.to_wake {
                    waker.wake();
                }
            });
            // The second waits for the reader to go, unless it went before.
            let first = block_on(write(&pipe, b"b"));
            if first.is_ok() {
                block_on(write(&pipe, b"c")).unwrap_err();
            }
            reader.join().unwrap();
        });
    }
}
