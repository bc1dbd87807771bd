//! Writes that were accepted while one before them was under way.
//!
//! Called by `desk`, which pushes, and by the write on the blocking thread, which looks here before it comes back. Without it each
//! small write would cost a hop; with it they cost one as long as the thread has something to do. Knows nothing of files.
//!
//! Promise: what is accepted is handed on by the writer once, in order, piece by piece as it came (a piece may be a line that others are
//! not to tear, or a command to the kernel); or a piece before it failed, and its error is what the writer comes back with. Nothing is
//! accepted that nobody would look for: the queue is closed under the same lock under which it was found empty.
//!
//! The figures are in `docs/decisions/fs-writes-queue.md`. Tests: `pieces_stay_pieces`, `what_is_accepted_is_written`, `after_a_failure_nothing_is_written`; `tests/fs/behind.rs`.

use nezumi_prim::sync::{Arc, Mutex};
use std::io::{self, IoSlice};

/// So much waits here at the most: enough to be worth a hop, too little to be worth telling anybody.
const MOST_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Behind {
    queue: Mutex<Queue>,
}

#[derive(Debug)]
struct Queue {
    /// Somebody will look for more.
    is_open: bool,
    pieces: Pieces,
}

/// Bytes, and where the pieces end.
#[derive(Debug, Default)]
struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Behind {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { queue: Mutex::new(Queue { is_open: false, pieces: Pieces::default() }) })
    }

    /// Pieces are accepted from now on, as long as there is the writer.
    pub(super) fn open(this: &Arc<Self>) -> Writer {
        this.queue.lock().is_open = true;
        Writer(this.clone())
    }

    /// Accepts the first `most` bytes as a piece, if the writer will look again and there is room. Returns how many that were.
    pub(super) fn push(&self, slices: &[IoSlice<'_>], most: usize) -> Option<usize> {
        let len = slices.iter().map(|slice| slice.len()).sum::<usize>().min(most);
        let mut queue = self.queue.lock();
        let room = most.min(MOST_BYTES).saturating_sub(queue.pieces.bytes.len());
        if !queue.is_open || len == 0 || len > room {
            return None;
        }
        queue.pieces.add(slices, len);
        Some(len)
    }
}

/// Who looks for pieces. Dropped, and be it in a panic or with a runtime that has ended, it leaves the queue closed and empty.
pub(super) struct Writer(Arc<Behind>);

impl Writer {
    /// Hands `write` all pieces there are and will be, until there are none or one fails. `first` is the outcome of the write that was
    /// under way.
    pub(super) fn drain(
        self,
        first: io::Result<()>,
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut outcome = first;
        let mut batch = Pieces::default();
        loop {
            {
                let mut queue = self.0.queue.lock();
                if outcome.is_err() || queue.pieces.ends.is_empty() {
                    queue.is_open = false;
                    return outcome;
                }
                std::mem::swap(&mut queue.pieces, &mut batch);
            }
            outcome = batch.each(&mut write);
            batch.clear();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.is_open = false;
        queue.pieces.clear();
    }
}

impl Pieces {
    fn add(&mut self, slices: &[IoSlice<'_>], len: usize) {
        let end = self.bytes.len() + len;
        for slice in slices {
            let room = end - self.bytes.len();
            self.bytes.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        self.ends.push(end);
    }

    fn each(&self, write: &mut impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut start = 0;
        self.ends.iter().try_for_each(|&end| write(&self.bytes[std::mem::replace(&mut start, end)..end]))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn pieces_stay_pieces() {
        let behind = Behind::new();
        let push = |bytes: &[u8], most| behind.push(&[IoSlice::new(bytes)], most);
        assert_eq!(push(b"nobody looks", 100), None);
        let writer = Behind::open(&behind);
        assert_eq!(push(b"one", 100), Some(3));
        assert_eq!(push(b"", 100), None);
        assert_eq!(
            behind.push(&[IoSlice::new(b"t"), IoSlice::new(b""), IoSlice::new(b"wo, and more")], 6),
            None
        );
        assert_eq!(
            behind.push(&[IoSlice::new(b"t"), IoSlice::new(b""), IoSlice::new(b"wo, and more")], 9),
            None
        );
        assert_eq!(behind.push(&[IoSlice::new(b"t"), IoSlice::new(b""), IoSlice::new(b"wo")], 6), Some(3));
        assert_eq!(push(b"x", 6), None, "there is no room");
        let mut written = Vec::new();
        let mut late = Some(b"late");
        let outcome = writer.drain(Ok(()), |piece| {
            if let Some(late) = late.take() {
                assert_eq!(push(late, 100), Some(4));
            }
            written.push(piece.to_vec());
            Ok(())
        });
        outcome.unwrap();
        assert_eq!(written, [&b"one"[..], b"two", b"late"]);
        assert_eq!(push(b"nobody looks any more", 100), None);
    }

    #[test]
    fn a_long_write_is_cut_and_a_full_queue_takes_none() {
        let behind = Behind::new();
        let writer = Behind::open(&behind);
        let big = vec![0; MOST_BYTES + 1];
        assert_eq!(behind.push(&[IoSlice::new(&big)], usize::MAX), None);
        assert_eq!(behind.push(&[IoSlice::new(&big)], 10), Some(10), "as much as one write may move");
        assert_eq!(behind.push(&[IoSlice::new(&big[..MOST_BYTES - 10])], usize::MAX), Some(MOST_BYTES - 10));
        assert_eq!(behind.push(&[IoSlice::new(&[1])], usize::MAX), None);
        drop(writer);
        let writer = Behind::open(&behind);
        assert_eq!(
            behind.push(&[IoSlice::new(&[1])], usize::MAX),
            Some(1),
            "what a lost writer left is gone"
        );
        let mut written = Vec::new();
        writer
            .drain(Ok(()), |piece| {
                written.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        assert_eq!(written, [1]);
    }

    #[test]
    fn after_a_failure_nothing_is_written() {
        let behind = Behind::new();
        for fails_at in 0..3 {
            let writer = Behind::open(&behind);
            for byte in 1..4 {
                behind.push(&[IoSlice::new(&[byte])], 100).unwrap();
            }
            let mut written = 0;
            let fail = || Err(io::Error::other("full"));
            let first = if fails_at == 0 { fail() } else { Ok(()) };
            let outcome = writer.drain(first, |piece| {
                written += 1;
                assert_eq!(piece, [written]);
                if written == fails_at { fail() } else { Ok(()) }
            });
            assert_eq!(outcome.unwrap_err().to_string(), "full");
            assert_eq!(written, fails_at);
            assert_eq!(behind.push(&[IoSlice::new(&[9])], 100), None);
        }
    }

    #[test]
    fn what_is_accepted_is_written() {
        for _ in 0..if cfg!(miri) { 5 } else { 2000 } {
            let behind = Behind::new();
            let writer = Behind::open(&behind);
            let writing = std::thread::spawn(move || {
                let mut written = Vec::new();
                let outcome = writer.drain(Ok(()), |piece| {
                    written.extend_from_slice(piece);
                    Ok(())
                });
                outcome.unwrap();
                written
            });
            let accept = |byte: &u8| behind.push(&[IoSlice::new(&[*byte])], 100).is_some();
            let accepted: Vec<u8> = (1..20).filter(accept).collect();
            assert_eq!(writing.join().unwrap(), accepted);
        }
    }
}
