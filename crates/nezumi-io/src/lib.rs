//! Asynchronous reading and writing, without a runtime.
//!
//! - The four traits: [`AsyncRead`], [`AsyncBufRead`], [`AsyncWrite`], [`AsyncSeek`], and [`ReadBuf`], the buffer that
//!   knows how much of it is initialized and how much is filled.
//! - The methods everybody calls: [`AsyncReadExt`], [`AsyncBufReadExt`], [`AsyncWriteExt`], [`AsyncSeekExt`].
//! - Buffers: [`BufReader`], [`BufWriter`], [`BufStream`].
//! - From a reader to a writer: [`copy`](copy()), [`copy_buf`], [`copy_bidirectional`].
//! - Parts and wholes: [`Take`], [`Chain`], [`Lines`], [`Split`], [`split`](split()) and [`join`](join()).
//! - Ends: [`empty`](empty()), [`repeat`](repeat()), [`sink`](sink()), and pipes in memory: [`duplex`](duplex()),
//!   [`simplex`].
//! - What an event source can be asked for and what it answers: [`Interest`] and [`Ready`].
//!
//! Nothing here knows a task, a timer or an operating system object: a future of this crate waits for exactly what the
//! reader or writer under it waits for. Where a combinator would never wait by itself it spends the budget of its task
//! (`nezumi_wake::coop`), so that a loop over it still lets others run.
//!
//! One rule holds everywhere: a reader is not trusted. It may leave what it was given untouched, answer nonsense or put
//! another buffer in the place of ours; it never makes this crate show memory that nobody wrote. The tests of each room
//! are run against readers that lie.

mod async_buf_read;
mod async_read;
mod async_seek;
mod async_write;
mod block;
mod buf_reader;
mod buf_stream;
mod buf_writer;
mod chain;
mod copy;
mod duplex;
mod empty;
mod ext;
mod interest;
mod join;
mod lines;
mod pipe;
mod read_buf;
mod ready;
mod repeat;
mod segments;
mod simplex;
mod sink;
mod spend;
mod split;
mod take;
mod turn;

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod autotraits;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod script;

pub use async_buf_read::AsyncBufRead;
pub use async_read::AsyncRead;
pub use async_seek::AsyncSeek;
pub use async_write::AsyncWrite;
pub use buf_reader::BufReader;
pub use buf_stream::BufStream;
pub use buf_writer::BufWriter;
pub use chain::Chain;
pub use copy::{copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf};
pub use duplex::{DuplexStream, duplex};
pub use empty::{Empty, empty};
pub use ext::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
pub use interest::Interest;
pub use join::{Join, join};
pub use lines::Lines;
pub use read_buf::ReadBuf;
pub use ready::Ready;
pub use repeat::{Repeat, repeat};
pub use segments::Split;
pub use simplex::{SimplexStream, simplex};
pub use sink::{Sink, sink};
pub use split::{ReadHalf, WriteHalf, split};
pub use take::Take;

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
