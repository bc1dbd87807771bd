//! Bytes on their way between a file and a program.
//!
//! Goes to the blocking thread with a read or a write, and comes back. Keeps its memory, which is initialized once and written over
//! from then on.
//!
//! Tests: `what_is_not_taken_stays`, `a_fill_is_one_read`.

use nezumi_io::ReadBuf;
use std::fs::File;
use std::io::{self, IoSlice, Read, SeekFrom, Write};

#[derive(Debug, Default)]
pub(super) struct Buf {
    memory: Vec<u8>,
    /// Between the two is what is on its way.
    start: usize,
    end: usize,
}

impl Buf {
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Gives `to` as much as it takes.
    pub(super) fn give(&mut self, to: &mut ReadBuf<'_>) {
        let n = to.remaining().min(self.end - self.start);
        to.put_slice(&self.memory[self.start..self.start + n]);
        self.start += n;
    }

    /// Forgets what nobody took. Returns how the cursor of the file gets back to before it.
    pub(super) fn unread(&mut self) -> Option<SeekFrom> {
        let ahead = self.end - self.start;
        (self.start, self.end) = (0, 0);
        // Nothing in memory is longer than `isize::MAX`.
        (ahead > 0).then(|| SeekFrom::Current(-(ahead as i64)))
    }

    /// Reads once, `most` bytes or fewer, in the place of what was here. May block.
    pub(super) fn fill(&mut self, mut from: &File, most: usize) -> io::Result<()> {
        (self.start, self.end) = (0, 0);
        if self.memory.len() < most {
            self.memory.resize(most, 0);
        }
        loop {
            match from.read(&mut self.memory[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(n) => {
                    self.end = n;
                    return Ok(());
                }
            }
        }
    }

    /// Copies the first `most` bytes, in the place of what was here. Returns how many there were.
    pub(super) fn take(&mut self, from: &[IoSlice<'_>], most: usize) -> usize {
        self.memory.clear();
        for slice in from {
            let room = most - self.memory.len();
            self.memory.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        (self.start, self.end) = (0, self.memory.len());
        self.end
    }

    /// Writes all of it. May block.
    pub(super) fn drain(&mut self, mut to: &File) -> io::Result<()> {
        let result = to.write_all(&self.memory[self.start..self.end]);
        (self.start, self.end) = (0, 0);
        result
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    fn give(buf: &mut Buf, room: usize) -> Vec<u8> {
        let mut space = vec![0; room];
        let mut to = ReadBuf::new(&mut space);
        buf.give(&mut to);
        to.filled().to_vec()
    }

    #[test]
    fn what_is_not_taken_stays() {
        let mut buf = Buf::default();
        assert_eq!(buf.take(&[IoSlice::new(b"abc"), IoSlice::new(b""), IoSlice::new(b"defg")], 6), 6);
        assert_eq!(give(&mut buf, 2), b"ab");
        assert!(!buf.is_empty());
        assert_eq!(give(&mut buf, 0), b"");
        assert_eq!(give(&mut buf, 9), b"cdef");
        assert!(buf.is_empty() && buf.unread().is_none());
        buf.take(&[IoSlice::new(b"hij")], 9);
        give(&mut buf, 1);
        assert_eq!(buf.unread(), Some(SeekFrom::Current(-2)));
        assert!(buf.is_empty() && buf.unread().is_none());
    }

    #[test]
    #[cfg(not(miri))]
    fn a_fill_is_one_read() {
        let mut buf = Buf::default();
        buf.take(&[IoSlice::new(&[7; 100])], 100);
        let file = File::open("Cargo.toml").unwrap();
        buf.fill(&file, 9).unwrap();
        assert_eq!(give(&mut buf, 100), b"[package]");
        buf.fill(&file, 5).unwrap();
        assert_eq!(give(&mut buf, 100), b"\nname");
    }
}
