//! A stream that reads, writes and waits as a script has it.

use crate::ops::Ops;
use nezumi::io::{AsyncRead, AsyncWrite, ReadBuf};
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(crate) struct Scripted {
    input: Vec<u8>,
    read: usize,
    pub(crate) written: Vec<u8>,
    pub(crate) is_shut_down: bool,
    /// How many bytes the next call moves at the most; 0: it waits. Over and over.
    script: Vec<u8>,
    at: usize,
}

impl Scripted {
    pub(crate) fn new(input: &[u8], ops: &mut Ops<'_>) -> Self {
        let length = 1 + ops.below(8);
        let mut script = ops.bytes(length).to_vec();
        // One that only waits would wait for ever.
        script.push(7);
        Scripted { input: input.to_vec(), read: 0, written: Vec::new(), is_shut_down: false, script, at: 0 }
    }

    fn turn(&mut self, cx: &Context<'_>) -> Poll<usize> {
        let most = usize::from(self.script[self.at % self.script.len()] % 40);
        self.at += 1;
        if most == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(most)
    }
}

impl AsyncRead for Scripted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let most = std::task::ready!(self.turn(cx));
        let count = most.min(buf.remaining()).min(self.input.len() - self.read);
        buf.put_slice(&self.input[self.read..self.read + count]);
        self.read += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Scripted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        assert!(!self.is_shut_down, "a write after the shutdown");
        let count = std::task::ready!(self.turn(cx)).min(bytes.len());
        self.written.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.turn(cx).map(|_| Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        std::task::ready!(self.turn(cx));
        self.is_shut_down = true;
        Poll::Ready(Ok(()))
    }
}
