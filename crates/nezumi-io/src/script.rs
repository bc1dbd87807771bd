//! What the tests of this crate read from and write to: sources and sinks that do as a script says, and readers that lie.

use crate::{AsyncRead, AsyncWrite, ReadBuf};
use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::sync::atomic::AtomicPtr;
use std::task::{Context, Poll, Waker};

/// How property tests run. What they find is printed, not kept in a file.
#[cfg(not(miri))]
pub(crate) fn cases(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}

/// Polls once with a waker that wakes nobody.
pub(crate) fn poll_once<T>(poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls the future until it is pending `n` times, then drops it. `None` if it was dropped.
pub(crate) fn cancel_after<F: Future>(n: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..n {
        if let Poll::Ready(output) = poll_once(|cx| future.as_mut().poll(cx)) {
            return Some(output);
        }
    }
    None
}

/// What happens at one call.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A source has these bytes, for as many calls as they last.
    Bytes(&'static [u8]),
    /// A sink takes at most this many of the bytes it is offered.
    Take(usize),
    /// There is nothing yet; the task is woken at once.
    Pending,
    /// The call fails.
    Fail(ErrorKind),
    /// A source is at its end, for this call.
    End,
}

/// Reads as its script says, and is at its end after that.
#[derive(Debug)]
pub(crate) struct Source {
    steps: VecDeque<Step>,
    pub(crate) polls: usize,
}

impl Source {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), polls: 0 }
    }
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.polls += 1;
        match self.steps.pop_front() {
            Some(Step::Bytes(bytes)) => {
                let (now, later) = bytes.split_at(bytes.len().min(buf.remaining()));
                buf.put_slice(now);
                if !later.is_empty() {
                    self.steps.push_front(Step::Bytes(later));
                }
                Poll::Ready(Ok(()))
            }
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Fail(kind)) => Poll::Ready(Err(kind.into())),
            Some(Step::Take(_)) => panic!("a source takes nothing"),
            Some(Step::End) | None => Poll::Ready(Ok(())),
        }
    }
}

/// What was done to a [`Sink`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Did {
    Write(Vec<u8>),
    Flush,
    Shutdown,
}

/// Writes as its script says, and takes everything after that. Every success is logged.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    writes: VecDeque<Step>,
    pub(crate) flushes: VecDeque<Step>,
    pub(crate) shutdowns: VecDeque<Step>,
    vectored: bool,
    pub(crate) log: Vec<Did>,
}

impl Sink {
    pub(crate) fn new(writes: impl IntoIterator<Item = Step>) -> Self {
        Self { writes: writes.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn vectored(mut self, vectored: bool) -> Self {
        self.vectored = vectored;
        self
    }

    /// All that was written.
    pub(crate) fn written(&self) -> Vec<u8> {
        let writes = self.log.iter().filter_map(|did| match did {
            Did::Write(bytes) => Some(&bytes[..]),
            _ => None,
        });
        writes.collect::<Vec<_>>().concat()
    }

    fn answer(step: Option<Step>, cx: &Context<'_>, offered: usize) -> Poll<io::Result<usize>> {
        match step {
            Some(Step::Take(n)) => Poll::Ready(Ok(n.min(offered))),
            Some(Step::Pending) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Fail(kind)) => Poll::Ready(Err(kind.into())),
            Some(other) => panic!("a sink has no {other:?}"),
            None => Poll::Ready(Ok(offered)),
        }
    }

    fn write(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let answer = Self::answer(self.writes.pop_front(), cx, bytes.len());
        if let Poll::Ready(Ok(n)) = answer {
            self.log.push(Did::Write(bytes[..n].to_vec()));
        }
        answer
    }
}

impl AsyncWrite for Sink {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let step = self.flushes.pop_front();
        Self::answer(step, cx, 0).map_ok(|_| self.log.push(Did::Flush))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let step = self.shutdowns.pop_front();
        Self::answer(step, cx, 0).map_ok(|_| self.log.push(Did::Shutdown))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        assert!(self.vectored, "asked for a vectored write of a plain sink");
        let bytes = bufs.iter().map(|buf| &**buf).collect::<Vec<_>>().concat();
        self.write(cx, &bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }
}

/// A reader that breaks its word in one way. None of them uses `unsafe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Puts another buffer, full and longer, in the place of the one it was given.
    Swap,
    /// Fills and then takes it back.
    Shrink,
    /// Fills with `x` and says that it is pending.
    Pending,
    /// Fills with `x` and fails.
    Fail,
    /// Initializes everything and fills one byte, a zero.
    Zero,
}

pub(crate) const LIES: [Lie; 5] = [Lie::Swap, Lie::Shrink, Lie::Pending, Lie::Fail, Lie::Zero];

impl Lie {
    /// Whether a byte read from this reader may come to light.
    pub(crate) fn may_show(self, byte: u8) -> bool {
        self == Lie::Zero && byte == 0
    }
}

impl AsyncRead for Lie {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        static FOREIGN: &[u8] = &[b'x'; 4096];
        match *self {
            Lie::Swap => {
                // A buffer that lives as long as the program is what safe code can put in the place of any other.
                static KEPT: Mutex<Vec<AtomicPtr<u8>>> = Mutex::new(Vec::new());
                let foreign = Box::leak(FOREIGN.to_vec().into_boxed_slice());
                KEPT.lock().unwrap().push(AtomicPtr::new(foreign.as_mut_ptr()));
                let mut other = ReadBuf::new(foreign);
                other.set_filled(FOREIGN.len());
                *buf = other;
                Poll::Ready(Ok(()))
            }
            Lie::Shrink => {
                buf.put_slice(&FOREIGN[..buf.remaining().min(2)]);
                buf.set_filled(0);
                Poll::Ready(Ok(()))
            }
            Lie::Pending => {
                buf.put_slice(&FOREIGN[..buf.remaining().min(2)]);
                Poll::Pending
            }
            Lie::Fail => {
                buf.put_slice(&FOREIGN[..buf.remaining().min(2)]);
                Poll::Ready(Err(ErrorKind::Other.into()))
            }
            Lie::Zero => {
                let n = buf.remaining().min(1);
                buf.initialize_unfilled().fill(0);
                buf.advance(n);
                Poll::Ready(Ok(()))
            }
        }
    }
}

/// How often something that is always ready is so in one poll of a task.
pub(crate) fn ready_polls_in_budget(mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>) -> usize {
    nezumi_wake::coop::budget(|| (0..1000).take_while(|_| poll_once(&mut poll).is_ready()).count())
}

/// Checks that something that is always ready spends one unit each time.
#[track_caller]
pub(crate) fn spends_budget(poll: impl FnMut(&mut Context<'_>) -> Poll<()>) {
    assert_eq!(ready_polls_in_budget(poll), 128);
}
