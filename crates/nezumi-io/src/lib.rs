//! Asynchronous reading and writing, without a runtime.
//!
//! - The four traits: [`AsyncRead`], [`AsyncBufRead`], [`AsyncWrite`], [`AsyncSeek`], and [`ReadBuf`], the buffer that
//!   knows how much of it is initialized and how much is filled.
//! - What an event source can be asked for and what it answers: [`Interest`] and [`Ready`].
//!
//! Nothing here knows a task, a timer or an operating system object: a future of this crate waits for exactly what the
//! reader or writer under it waits for. Where a combinator would never wait by itself it spends the budget of its task
//! (`nezumi_wake::coop`), so that a loop over it still lets others run.
//!
//! One rule holds everywhere: a reader is not trusted. It may leave what it was given untouched, answer nonsense or put
//! another buffer in the place of ours; it never makes this crate show memory that nobody wrote.

mod async_buf_read;
mod async_read;
mod async_seek;
mod async_write;
mod interest;
mod read_buf;
mod ready;

pub use async_buf_read::AsyncBufRead;
pub use async_read::AsyncRead;
pub use async_seek::AsyncSeek;
pub use async_write::AsyncWrite;
pub use interest::Interest;
pub use read_buf::ReadBuf;
pub use ready::Ready;

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod script;
