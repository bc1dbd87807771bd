//! Something that blocks, read on a thread of the blocking pool.
//!
//! Called by `Stdin`, and by the pipes of processes on Windows. One hop to the pool and back for each read, of as much as was asked for: what
//! is not asked for is left to whoever else reads from there.
//!
//! Promise: what was read for a poll that was given up is what the next one gets; nothing read is lost while the reader lives.
//!
//! Tests: `tests`, with a source that says what it gives.

use nezumi_core::driver::gone;
use nezumi_core::spawn::spawn_blocking;
use nezumi_core::task::JoinHandle;
use nezumi_io::ReadBuf;
use nezumi_wake::coop;
use std::fmt;
use std::future::Future;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// No read asks for more at a time.
const MOST: usize = 2 << 20;

pub(crate) struct Reader<R> {
    source: Arc<R>,
    /// All of it is initialised. `taken..filled` was read, and waits to be taken.
    bytes: Vec<u8>,
    taken: usize,
    filled: usize,
    /// A read that is under way: it has `bytes`.
    reading: Option<JoinHandle<(Vec<u8>, io::Result<usize>)>>,
}

impl<R> Reader<R>
where
    R: Send + Sync + 'static,
    for<'a> &'a R: Read,
{
    pub(crate) fn new(source: R) -> Self {
        Self { source: Arc::new(source), bytes: Vec::new(), taken: 0, filled: 0, reading: None }
    }

    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.taken == self.filled {
            if buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_fill(cx, buf.remaining()))?;
        } else {
            ready!(coop::poll_proceed(cx)).made_progress();
        }
        let count = buf.remaining().min(self.filled - self.taken);
        buf.put_slice(&self.bytes[self.taken..self.taken + count]);
        self.taken += count;
        Poll::Ready(Ok(()))
    }

    /// Reads at most `len` bytes into the buffer, which is empty.
    fn poll_fill(&mut self, cx: &mut Context<'_>, len: usize) -> Poll<io::Result<()>> {
        let Self { source, bytes, reading, .. } = self;
        let read = reading.get_or_insert_with(|| {
            let (source, mut bytes) = (Arc::clone(source), std::mem::take(bytes));
            let len = len.min(MOST);
            spawn_blocking(move || {
                if bytes.len() < len {
                    bytes.resize(len, 0);
                }
                let result = read_once(&*source, &mut bytes[..len]);
                (bytes, result)
            })
        });
        let read = ready!(Pin::new(read).poll(cx));
        self.reading = None;
        let (bytes, result) = read.map_err(|_| gone())?;
        (self.bytes, self.taken, self.filled) = (bytes, 0, 0);
        self.filled = result?;
        Poll::Ready(Ok(()))
    }
}

fn read_once(mut source: impl Read, buf: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buf) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(windows)]
impl<R> Reader<R> {
    pub(crate) fn source(&self) -> &R {
        &self.source
    }
}

impl<R: fmt::Debug> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("source", &self.source)
            .field("reading", &self.reading.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use nezumi_core::runtime::Builder;
    use std::collections::VecDeque;
    use std::future::poll_fn;
    use std::sync::Mutex;

    /// Gives one result after the other, and notes how much was asked for.
    #[derive(Default)]
    struct Source {
        results: Mutex<VecDeque<Result<&'static [u8], io::ErrorKind>>>,
        asked: Mutex<Vec<usize>>,
    }

    impl Read for &Source {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.asked.lock().unwrap().push(buf.len());
            match self.results.lock().unwrap().pop_front().unwrap_or(Ok(b"")) {
                Ok(bytes) => {
                    buf[..bytes.len()].copy_from_slice(bytes);
                    Ok(bytes.len())
                }
                Err(kind) => Err(kind.into()),
            }
        }
    }

    async fn read(reader: &mut Reader<Source>, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut buf = ReadBuf::new(&mut bytes);
        poll_fn(|cx| reader.poll_read(cx, &mut buf)).await?;
        Ok(buf.filled().to_vec())
    }

    fn on(
        results: impl IntoIterator<Item = Result<&'static [u8], io::ErrorKind>>,
        test: impl AsyncFnOnce(&mut Reader<Source>),
    ) -> Vec<usize> {
        let source = Source { results: Mutex::new(results.into_iter().collect()), ..Source::default() };
        let mut reader = Reader::new(source);
        Builder::new_current_thread().build().unwrap().block_on(test(&mut reader));
        reader.source.asked.lock().unwrap().clone()
    }

    #[test]
    fn a_read_asks_for_what_it_was_asked_for_and_for_2_mib_at_most() {
        let asked = on([Ok(&b"abc"[..]), Ok(b"d")], async |reader| {
            assert_eq!(read(reader, 0).await.unwrap(), b"");
            assert_eq!(read(reader, 10).await.unwrap(), b"abc");
            assert_eq!(read(reader, MOST + 1).await.unwrap(), b"d");
            assert_eq!(read(reader, 5).await.unwrap(), b"");
        });
        assert_eq!(asked, [10, MOST, 5]);
    }

    #[test]
    fn what_a_poll_that_was_given_up_has_read_comes_next() {
        let asked = on([Ok(&b"abcdef"[..])], async |reader| {
            poll_fn(|cx| {
                let mut bytes = [0; 6];
                assert!(reader.poll_read(cx, &mut ReadBuf::new(&mut bytes)).is_pending());
                Poll::Ready(())
            })
            .await;
            assert_eq!(read(reader, 4).await.unwrap(), b"abcd");
            assert_eq!(read(reader, 4).await.unwrap(), b"ef");
        });
        assert_eq!(asked, [6]);
    }

    #[test]
    fn an_error_ends_one_read_and_an_interruption_none() {
        use io::ErrorKind::{ConnectionReset, Interrupted};
        on([Err(ConnectionReset), Err(Interrupted), Ok(&b"x"[..])], async |reader| {
            assert_eq!(read(reader, 4).await.unwrap_err().kind(), ConnectionReset);
            assert_eq!(read(reader, 4).await.unwrap(), b"x");
        });
    }
}
