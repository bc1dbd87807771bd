//! Asynchronous reading and writing.
//!
//! [`AsyncRead`], [`AsyncWrite`], [`AsyncBufRead`] and [`AsyncSeek`] are what readers and writers implement: sockets,
//! files, pipes, memory. [`AsyncReadExt`] and its like, with feature `io-util`, are what a program calls on them:
//!
//! ```
//! use nezumi::io::{self, AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! # #[nezumi::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
//! let (client, mut server) = io::duplex(64);
//! server.write_all(b"one\ntwo\n").await?;
//! drop(server);
//!
//! let mut lines = BufReader::new(client).lines();
//! while let Some(line) = lines.next_line().await? {
//!     println!("{line}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Many small reads or writes are better put behind a [`BufReader`] or [`BufWriter`]: each one on a socket is a system
//! call.

#[doc(inline)]
pub use nezumi_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};

#[cfg(feature = "net")]
#[doc(inline)]
pub use nezumi_io::{Interest, Ready};

#[cfg(feature = "io-util")]
#[doc(inline)]
pub use nezumi_io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufStream, BufWriter, Chain,
    DuplexStream, Empty, Join, Lines, ReadHalf, Repeat, SimplexStream, Sink, Split, Take, WriteHalf, copy,
    copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, empty, join, repeat, simplex, sink,
    split,
};

#[cfg(feature = "io-std")]
#[doc(inline)]
pub use nezumi_os::stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};

/// Waiting on any file descriptor that the operating system can poll.
#[cfg(all(unix, feature = "net"))]
pub mod unix {
    #[doc(inline)]
    pub use nezumi_os::async_fd::{
        AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
    };

    #[doc(hidden)]
    #[allow(deprecated)]
    pub use nezumi_os::async_fd::AsyncFdTryNewError;
}
