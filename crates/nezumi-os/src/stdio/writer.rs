//! Something that blocks, written on a thread of the blocking pool.
//!
//! Called by `Stdout` and `Stderr`, and by the pipes of processes on Windows. The task adds to a buffer; a job on the pool writes what is in
//! it until it finds it empty, and ends. So a burst of small writes costs one hop, not one for each, and a large write is taken whole.
//!
//! Promise: what was taken is written, in order, by a job that the pool runs also when the runtime is shut down first. An error is told once,
//! at the next call; what was taken and not written by then is lost with it. One job at most is under way.
//!
//! `Line` is under a lock that is held for a few instructions, or a copy. Only the task starts a job, and only while there is none; the job
//! says that it ends under the same lock in which it found nothing to do. Whoever waits registers its waker, and looks once more.
//!
//! Tests: `tests` (with a sink that can be held up), `tests/stdio/`.

use super::chars::whole_chars;
use nezumi_core::driver::gone;
use nezumi_core::runtime::Handle;
use nezumi_core::spawn::spawn_mandatory_blocking;
use nezumi_prim::sync::Mutex;
use nezumi_wake::{AtomicWaker, coop};
use std::fmt;
use std::io::{self, Write};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// No write is taken of more at a time.
const MOST: usize = 2 << 20;
/// With this much in the buffer nothing more is taken.
const FULL: usize = 64 << 10;

pub(crate) struct Writer<W> {
    shared: Arc<Shared<W>>,
}

struct Shared<W> {
    sink: W,
    line: Mutex<Line>,
    /// The task that waits for room, or for a flush.
    task: AtomicWaker,
}

#[derive(Default)]
struct Line {
    /// What was taken, and is not being written yet.
    waiting: Vec<u8>,
    /// A job is under way.
    writing: bool,
    flush: Flush,
    /// Something was taken since the last flush.
    unflushed: bool,
    /// Of the last job; not told yet.
    error: Option<io::Error>,
}

#[derive(Default, PartialEq)]
enum Flush {
    #[default]
    No,
    /// For the job to begin, once it has written what waits.
    Asked,
    /// It covers all that was taken so far.
    UnderWay,
}

/// What the lock has shown.
enum Look<T> {
    Done(T),
    /// The same, and there is no job to see to it.
    NeedsJob(T),
    Wait,
}

impl<W> Writer<W>
where
    W: Send + Sync + 'static,
    for<'a> &'a W: Write,
{
    pub(crate) fn new(sink: W) -> Self {
        Self { shared: Arc::new(Shared { sink, line: Mutex::default(), task: AtomicWaker::new() }) }
    }

    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let coop = ready!(coop::poll_proceed(cx));
        let mut look = self.shared.line.lock().take_in(buf)?;
        if matches!(look, Look::Wait) {
            self.shared.task.register(cx.waker());
            look = self.shared.line.lock().take_in(buf)?;
        }
        let count = match look {
            Look::Wait => return Poll::Pending,
            Look::Done(count) => count,
            Look::NeedsJob(count) => {
                self.start_job()?;
                count
            }
        };
        coop.made_progress();
        Poll::Ready(Ok(count))
    }

    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let coop = ready!(coop::poll_proceed(cx));
        if let Look::Done(()) = self.shared.line.lock().ask_for_flush()? {
            coop.made_progress();
            return Poll::Ready(Ok(()));
        }
        self.shared.task.register(cx.waker());
        match self.shared.line.lock().ask_for_flush()? {
            Look::Done(()) => {
                coop.made_progress();
                return Poll::Ready(Ok(()));
            }
            Look::Wait => return Poll::Pending,
            Look::NeedsJob(()) => {}
        }
        self.start_job()?;
        Poll::Pending
    }

    /// There is something to do, and no job.
    fn start_job(&self) -> io::Result<()> {
        // Panics where there is no runtime: before anything is changed.
        drop(Handle::current());
        self.shared.line.lock().writing = true;
        let shared = Arc::clone(&self.shared);
        if spawn_mandatory_blocking(move || shared.work()).is_none() {
            *self.shared.line.lock() = Line::default();
            return Err(gone());
        }
        Ok(())
    }
}

impl Line {
    fn take_in(&mut self, buf: &[u8]) -> io::Result<Look<usize>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.waiting.len() >= FULL {
            return Ok(Look::Wait);
        }
        // The console of Windows wants whole characters.
        let count = if cfg!(windows) { whole_chars(buf, MOST) } else { buf.len().min(MOST) };
        if count == 0 {
            return Ok(Look::Done(0));
        }
        self.waiting.extend_from_slice(&buf[..count]);
        self.unflushed = true;
        if self.flush == Flush::UnderWay {
            // It does not cover this.
            self.flush = Flush::No;
        }
        Ok(if self.writing { Look::Done(count) } else { Look::NeedsJob(count) })
    }

    fn ask_for_flush(&mut self) -> io::Result<Look<()>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if !self.unflushed {
            return Ok(Look::Done(()));
        }
        if self.flush == Flush::UnderWay {
            return Ok(Look::Wait);
        }
        self.flush = Flush::Asked;
        Ok(if self.writing { Look::Wait } else { Look::NeedsJob(()) })
    }
}

impl<W> Shared<W>
where
    for<'a> &'a W: Write,
{
    /// The job.
    fn work(&self) {
        let mut bytes = Vec::new();
        while let Some(flush) = self.next(&mut bytes) {
            // There is room again.
            self.task.wake();
            let mut sink = &self.sink;
            let result = sink.write_all(&bytes).and_then(|()| if flush { sink.flush() } else { Ok(()) });
            let mut line = self.line.lock();
            match result {
                Ok(()) if line.flush == Flush::UnderWay => {
                    (line.flush, line.unflushed) = (Flush::No, false);
                }
                Ok(()) => {}
                Err(error) => {
                    *line = Line { error: Some(error), writing: true, ..Line::default() };
                }
            }
        }
        self.task.wake();
    }

    /// Moves what is to be written to `bytes`, and says whether to flush after it. `None` when there is nothing to do: the job ends.
    fn next(&self, bytes: &mut Vec<u8>) -> Option<bool> {
        bytes.clear();
        let mut line = self.line.lock();
        if line.waiting.is_empty() && line.flush != Flush::Asked {
            line.writing = false;
            // One buffer is kept for the next time, unless it has become large.
            if line.waiting.capacity() == 0 && bytes.capacity() <= FULL {
                std::mem::swap(&mut line.waiting, bytes);
            }
            return None;
        }
        std::mem::swap(&mut line.waiting, bytes);
        let flush = line.flush == Flush::Asked;
        if flush {
            line.flush = Flush::UnderWay;
        }
        Some(flush)
    }
}

#[cfg(windows)]
impl<W> Writer<W> {
    pub(crate) fn sink(&self) -> &W {
        &self.shared.sink
    }
}

// The lock is let go of before anything of the user's runs, and the line is consistent whenever it is.
impl<W: RefUnwindSafe> UnwindSafe for Writer<W> {}
impl<W: RefUnwindSafe> RefUnwindSafe for Writer<W> {}

impl<W: fmt::Debug> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("sink", &self.shared.sink).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use nezumi_core::runtime::{Builder, Runtime};
    use std::future::poll_fn;
    use std::sync::{Condvar, Mutex as StdMutex};

    /// What was written, each call for itself; held up while `held`; fails once with `fail`.
    #[derive(Default)]
    struct Sink {
        state: StdMutex<State>,
        changed: Condvar,
    }

    #[derive(Default)]
    struct State {
        calls: Vec<Vec<u8>>,
        flushes: usize,
        begun: usize,
        held: bool,
        fail: Option<io::ErrorKind>,
    }

    impl Write for &Sink {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            let mut state = self.state.lock().unwrap();
            state.begun += 1;
            self.changed.notify_all();
            state = self.changed.wait_while(state, |state| state.held).unwrap();
            if let Some(kind) = state.fail.take() {
                return Err(kind.into());
            }
            state.calls.push(buf.to_vec());
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.state.lock().unwrap().flushes += 1;
            Ok(())
        }
    }

    impl Sink {
        fn hold(&self, held: bool) {
            self.state.lock().unwrap().held = held;
            self.changed.notify_all();
        }

        fn wait_for_begun(&self, calls: usize) {
            let state = self.state.lock().unwrap();
            drop(self.changed.wait_while(state, |state| state.begun < calls).unwrap());
        }

        fn written(&self) -> Vec<u8> {
            self.state.lock().unwrap().calls.concat()
        }
    }

    fn runtime() -> Runtime {
        Builder::new_current_thread().build().unwrap()
    }

    async fn write(writer: &mut Writer<Sink>, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| writer.poll_write(cx, bytes)).await
    }

    async fn flush(writer: &mut Writer<Sink>) -> io::Result<()> {
        poll_fn(|cx| writer.poll_flush(cx)).await
    }

    #[test]
    fn small_writes_share_a_hop() {
        let mut writer = Writer::new(Sink::default());
        let sink = Arc::clone(&writer.shared);
        sink.sink.hold(true);
        runtime().block_on(async {
            write(&mut writer, b"0").await.unwrap();
            sink.sink.wait_for_begun(1);
            for _ in 0..1000 {
                assert_eq!(write(&mut writer, b"123").await.unwrap(), 3);
            }
            sink.sink.hold(false);
            flush(&mut writer).await.unwrap();
        });
        let state = sink.sink.state.lock().unwrap();
        let lens: Vec<_> = state.calls.iter().map(Vec::len).collect();
        assert_eq!((lens, state.flushes), (vec![1, 3000], 1));
    }

    #[test]
    fn a_large_write_is_taken_whole_and_then_nothing_until_there_is_room() {
        let mut writer = Writer::new(Sink::default());
        let sink = Arc::clone(&writer.shared);
        sink.sink.hold(true);
        runtime().block_on(async {
            write(&mut writer, b"0").await.unwrap();
            sink.sink.wait_for_begun(1);
            assert_eq!(write(&mut writer, &vec![1; MOST + 1]).await.unwrap(), MOST);
            poll_fn(|cx| {
                assert!(writer.poll_write(cx, b"2").is_pending());
                Poll::Ready(())
            })
            .await;
            sink.sink.hold(false);
            // Woken by the job.
            assert_eq!(write(&mut writer, b"2").await.unwrap(), 1);
            flush(&mut writer).await.unwrap();
        });
        assert_eq!(sink.sink.written().len(), MOST + 2);
    }

    #[test]
    fn an_error_is_told_once_and_what_waited_is_lost_with_it() {
        for tell_to_flush in [false, true] {
            let mut writer = Writer::new(Sink::default());
            let sink = Arc::clone(&writer.shared);
            sink.sink.hold(true);
            sink.sink.state.lock().unwrap().fail = Some(io::ErrorKind::StorageFull);
            runtime().block_on(async {
                write(&mut writer, b"lost").await.unwrap();
                sink.sink.wait_for_begun(1);
                write(&mut writer, b"lost, too").await.unwrap();
                sink.sink.hold(false);
                while writer.shared.line.lock().writing {
                    std::thread::yield_now();
                }
                let error = match tell_to_flush {
                    true => flush(&mut writer).await.unwrap_err(),
                    false => write(&mut writer, b"lost, as well").await.unwrap_err(),
                };
                assert_eq!(error.kind(), io::ErrorKind::StorageFull);
                flush(&mut writer).await.unwrap();
                write(&mut writer, b"kept").await.unwrap();
                flush(&mut writer).await.unwrap();
            });
            assert_eq!(sink.sink.written(), b"kept");
        }
    }

    #[test]
    fn a_flush_that_was_given_up_covers_nothing_that_came_after() {
        let mut writer = Writer::new(Sink::default());
        let sink = Arc::clone(&writer.shared);
        sink.sink.hold(true);
        runtime().block_on(async {
            write(&mut writer, b"a").await.unwrap();
            poll_fn(|cx| {
                assert!(writer.poll_flush(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            write(&mut writer, b"b").await.unwrap();
            sink.sink.hold(false);
            flush(&mut writer).await.unwrap();
            assert_eq!(sink.sink.written(), b"ab");
            let flushes = sink.sink.state.lock().unwrap().flushes;
            assert!((1..=2).contains(&flushes), "{flushes}");
            // Nothing to do.
            flush(&mut writer).await.unwrap();
            assert_eq!(sink.sink.state.lock().unwrap().flushes, flushes);
        });
    }

    #[test]
    fn what_was_taken_is_written_when_the_runtime_ends() {
        let mut writer = Writer::new(Sink::default());
        let sink = Arc::clone(&writer.shared);
        let runtime = runtime();
        runtime.block_on(async { write(&mut writer, b"kept").await.unwrap() });
        drop(writer);
        drop(runtime);
        assert_eq!(sink.sink.written(), b"kept");
    }

    #[test]
    fn it_fails_in_a_runtime_that_has_ended_and_goes_on_in_another() {
        let mut writer = Writer::new(Sink::default());
        let sink = Arc::clone(&writer.shared);
        let ended = runtime();
        let handle = ended.handle().clone();
        drop(ended);
        {
            let _entered = handle.enter();
            let error = nezumi_wake::block_on(write(&mut writer, b"lost")).unwrap_err();
            assert!(nezumi_core::runtime::is_rt_shutdown_err(&error));
        }
        runtime().block_on(async {
            write(&mut writer, b"kept").await.unwrap();
            flush(&mut writer).await.unwrap();
        });
        assert_eq!(sink.sink.written(), b"kept");
    }
}
