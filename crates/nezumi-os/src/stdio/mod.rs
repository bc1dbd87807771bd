//! Standard input, output and error.
//!
//! In reading order: `reader` and `writer` (anything that blocks, read and written on the threads of the blocking pool), `chars` (where text
//! may be cut), and here what a program uses.
//!
//! The systems have no way to wait for a terminal or a file that suits all of them, so a thread of the pool blocks in the standard library's
//! own streams. What is read and written here and by `std::io` comes from, and goes to, the same buffers.
//!
//! Tests: `tests/stdio/`, `chars::tests`.

mod chars;
mod reader;
mod writer;

#[cfg(windows)]
pub(crate) use reader::Reader;
#[cfg(windows)]
pub(crate) use writer::Writer;

use nezumi_io::{AsyncRead, AsyncWrite, ReadBuf};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The standard input of this process.
///
/// For input that is not typed in. Each read that waits has a thread of the blocking pool wait with it, and nothing can call that thread
/// back: a program whose `main` has returned does not end until the read has, until a key is pressed, say. Reading from a thread of the
/// program's own, and sending what comes through a channel, lets it end.
///
/// The handles of one process share what the standard library has read ahead. What one of them was reading for a call that was given up
/// stays in that handle, for its next read.
///
/// # Examples
///
/// ```no_run
/// use nezumi::io::{self, AsyncReadExt};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> io::Result<()> {
/// let mut text = String::new();
/// io::stdin().read_to_string(&mut text).await?;
/// println!("{} lines", text.lines().count());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stdin {
    reader: reader::Reader<io::Stdin>,
}

/// The standard output of this process.
///
/// What is written is taken at once, and written by a thread of the blocking pool. An error therefore comes at the next call; to know that
/// all is written, [flush](AsyncWrite::poll_flush). What was taken is written also when the runtime is shut down. As in the standard
/// library, an unfinished line waits for its end or a flush.
///
/// What two handles write at the same time may be mixed, piece by piece: a write of more than 2 MiB is several pieces, and so may be several
/// writes of less. Share one handle by a mutex where that matters.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncWriteExt};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> io::Result<()> {
/// let mut stdout = io::stdout();
/// stdout.write_all(b"hello\n").await?;
/// stdout.flush().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stdout {
    writer: writer::Writer<io::Stdout>,
}

/// The standard error of this process.
///
/// As [`Stdout`], but nothing waits for the end of a line.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncWriteExt};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> io::Result<()> {
/// io::stderr().write_all(b"something is wrong\n").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stderr {
    writer: writer::Writer<io::Stderr>,
}

/// A new handle of the standard input of this process. It is the runtime that it is read in which reads; see [`Stdin`] for what that means
/// at its end.
///
/// # Examples
///
/// ```no_run
/// use nezumi::io::{self, AsyncBufReadExt, BufReader};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut lines = BufReader::new(io::stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{} letters", line.chars().count());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn stdin() -> Stdin {
    Stdin { reader: reader::Reader::new(io::stdin()) }
}

/// A new handle of the standard output of this process.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncWriteExt};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut out = io::stdout();
/// out.write_all(b"squeak\n").await.unwrap();
/// // What is not flushed may be lost when the program ends.
/// out.flush().await.unwrap();
/// # }
/// ```
#[must_use]
pub fn stdout() -> Stdout {
    Stdout { writer: writer::Writer::new(io::stdout()) }
}

/// A new handle of the standard error of this process.
///
/// # Examples
///
/// ```
/// use nezumi::io::{self, AsyncWriteExt};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// io::stderr().write_all(b"squeak\n").await.unwrap();
/// # }
/// ```
#[must_use]
pub fn stderr() -> Stderr {
    Stderr { writer: writer::Writer::new(io::stderr()) }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.reader.poll_read(cx, buf)
    }
}

macro_rules! output {
    ($Type:ident) => {
        impl AsyncWrite for $Type {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.get_mut().writer.poll_write(cx, buf)
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_mut().writer.poll_flush(cx)
            }

            /// The same as a flush: the stream stays open.
            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_flush(cx)
            }
        }
    };
}

output!(Stdout);
output!(Stderr);

/// The descriptor, or handle, that the system knows the stream by.
macro_rules! os_handle {
    ($Type:ident, $std:path) => {
        #[cfg(unix)]
        const _: () = {
            use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

            impl AsRawFd for $Type {
                fn as_raw_fd(&self) -> RawFd {
                    $std().as_raw_fd()
                }
            }

            impl AsFd for $Type {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    // SAFETY: nothing here closes the standard streams; the standard library lends them out for ever, too.
                    unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
                }
            }
        };

        #[cfg(windows)]
        const _: () = {
            use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};

            impl AsRawHandle for $Type {
                fn as_raw_handle(&self) -> RawHandle {
                    $std().as_raw_handle()
                }
            }

            impl AsHandle for $Type {
                fn as_handle(&self) -> BorrowedHandle<'_> {
                    // SAFETY: nothing here closes the standard streams; the standard library lends them out for ever, too.
                    unsafe { BorrowedHandle::borrow_raw(self.as_raw_handle()) }
                }
            }
        };
    };
}

os_handle!(Stdin, io::stdin);
os_handle!(Stdout, io::stdout);
os_handle!(Stderr, io::stderr);
