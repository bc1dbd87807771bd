//! A fixed block of memory that is filled from a reader and emptied from the front.
//!
//! Called by [`BufReader`](crate::BufReader) and [`copy`](crate::copy()). Knows nothing of writers.
//!
//! Promise: only bytes that the reader filled are ever shown.
//!
//! ```text
//! 0      start    end               capacity
//! | used | bytes  | room ---------- |
//! ```
//!
//! `start <= end <= capacity` always. Each fill hands out only the room behind `end`, so a reader that shrinks the filled
//! part cannot reach what is there already. The room is initialized: there are readers that only `advance`, and rely on it.
//!
//! Tests: `fills_behind_what_is_there`, `the_room_is_initialized`; with readers that lie: `a_lie_shows_nothing`.

use crate::{AsyncRead, ReadBuf};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What the buffers of this crate hold if nobody says otherwise.
pub(crate) const DEFAULT_CAPACITY: usize = 8 * 1024;

pub(crate) struct Block {
    memory: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Block {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { memory: vec![0; capacity].into_boxed_slice(), start: 0, end: 0 }
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// What was read and not used up.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether nothing more can be read until the block is cleared.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.end == self.memory.len()
    }

    /// Uses up `n` bytes, or all if there are fewer.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.start = self.end.min(self.start.saturating_add(n));
    }

    /// Throws away what is there, and makes all of the block room again.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
    }

    /// Reads into the room, and says how many bytes came. If there was room, 0 is the end of the reader.
    ///
    /// # Panics
    ///
    /// If the reader replaced the buffer it was given.
    pub(crate) fn poll_fill<R>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>>
    where
        R: AsyncRead + ?Sized,
    {
        let mut room = ReadBuf::new(&mut self.memory[self.end..]);
        let origin = room.origin();
        let result = reader.poll_read(cx, &mut room);
        origin.expect_same(&room);
        let filled = room.filled().len();
        ready!(result)?;
        self.end += filled;
        Poll::Ready(Ok(filled))
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.end - self.start, self.capacity())
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::script::{LIES, Lie, Source, Step, poll_once};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn fill(block: &mut Block, reader: impl AsyncRead) -> Poll<io::Result<usize>> {
        let reader = std::pin::pin!(reader);
        poll_once(|cx| block.poll_fill(reader, cx))
    }

    #[test]
    fn fills_behind_what_is_there() {
        let mut block = Block::new(4);
        let mut source = Source::new([Step::Bytes(b"ab"), Step::Pending, Step::Bytes(b"cdef")]);
        assert!(matches!(fill(&mut block, &mut source), Poll::Ready(Ok(2))));
        block.consume(1);
        assert!(fill(&mut block, &mut source).is_pending());
        assert!(matches!(fill(&mut block, &mut source), Poll::Ready(Ok(2))));
        assert_eq!((block.bytes(), block.is_full()), (&b"bcd"[..], true));
        assert_eq!(format!("{block:?}"), "3/4");
        block.consume(usize::MAX);
        assert!(block.is_empty() && block.is_full());
        block.clear();
        assert!(matches!(fill(&mut block, &mut source), Poll::Ready(Ok(2))));
        assert_eq!(block.bytes(), b"ef");
        assert!(matches!(fill(&mut block, &mut source), Poll::Ready(Ok(0))));
    }

    #[test]
    fn the_room_is_initialized() {
        struct Advances;

        impl AsyncRead for Advances {
            fn poll_read(
                self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                buf.advance(2);
                Poll::Ready(Ok(()))
            }
        }

        let mut block = Block::new(4);
        for _ in 0..2 {
            assert!(matches!(fill(&mut block, Advances), Poll::Ready(Ok(2))));
        }
        assert_eq!(block.bytes(), [0; 4]);
    }

    #[test]
    fn a_lie_shows_nothing() {
        for lie in LIES {
            let mut block = Block::new(8);
            assert!(matches!(fill(&mut block, Source::new([Step::Bytes(b"abc")])), Poll::Ready(Ok(3))));
            for _ in 0..3 {
                let result = catch_unwind(AssertUnwindSafe(|| fill(&mut block, lie)));
                assert_eq!(result.is_err(), lie == Lie::Swap, "{lie:?}");
                assert_eq!(block.bytes()[..3], *b"abc");
                assert!(block.bytes()[3..].iter().all(|&byte| lie.may_show(byte)), "{lie:?}");
            }
            block.clear();
            assert!(matches!(fill(&mut block, Source::new([Step::Bytes(b"d")])), Poll::Ready(Ok(1))));
            assert_eq!(block.bytes(), b"d");
        }
    }
}
