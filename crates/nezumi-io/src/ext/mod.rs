//! The methods that every reader, writer and seeker has, and the futures they return.
//!
//! The four traits are the public face; the futures are public only because a trait's method must be able to name
//! them, and are not exported. All of them are `!Unpin`, so that a method may become an `async fn` some day.

mod fill_buf;
mod number;
mod read;
mod read_line;
mod read_to_end;
mod read_to_string;
mod read_until;
mod seek;
mod write;

mod buf_read_ext;
mod read_ext;
mod seek_ext;
mod write_ext;

pub use buf_read_ext::AsyncBufReadExt;
pub use read_ext::AsyncReadExt;
pub use seek_ext::AsyncSeekExt;
pub use write_ext::AsyncWriteExt;

pub(crate) use read_until::poll_read_until;

use std::io;

/// A future that ends when the reader is at its end before it should be.
fn early_eof() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "early eof")
}

/// Whether the call was interrupted by a signal and should simply be made again.
pub(crate) fn is_interrupted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// `n`, the answer of a writer that was given `offered` bytes.
///
/// # Panics
///
/// If it says that it took more: nobody could tell what was written then.
#[inline]
#[track_caller]
pub(crate) fn taken(n: usize, offered: usize) -> usize {
    assert!(
        n <= offered,
        "writer returned length larger than input slice; `poll_write` must say how many of the {offered} bytes it took"
    );
    n
}
