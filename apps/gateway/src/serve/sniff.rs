//! Which protocol a client speaks, by the first bytes it sends.
//!
//! Promise: no byte is lost, and no byte is waited for that is not needed: HTTP/2 begins with a preface that no HTTP/1
//! request can begin with, so the first byte that differs decides.
//!
//! Tests: below.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Http1,
    Http2,
    /// It closed before that could be told.
    Nothing,
}

/// A stream whose first bytes have been looked at, and are read again first.
#[derive(Debug)]
pub(super) struct Sniffed<S> {
    stream: S,
    first: [u8; PREFACE.len()],
    /// `first[read..filled]` is to be read again.
    read: usize,
    filled: usize,
}

impl<S: AsyncRead + Unpin> Sniffed<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, first: [0; PREFACE.len()], read: 0, filled: 0 }
    }

    /// Reads until it is clear what the client speaks.
    ///
    /// # Cancel safety
    ///
    /// What has been read stays in `self`.
    pub(super) async fn sniff(&mut self) -> io::Result<Spoken> {
        loop {
            let seen = &self.first[..self.filled];
            if !PREFACE.starts_with(seen) {
                return Ok(Spoken::Http1);
            }
            if seen.len() == PREFACE.len() {
                return Ok(Spoken::Http2);
            }
            match self.stream.read(&mut self.first[self.filled..]).await? {
                0 if self.filled == 0 => return Ok(Spoken::Nothing),
                // Let the parser say what is wrong with it.
                0 => return Ok(Spoken::Http1),
                count => self.filled += count,
            }
        }
    }

    /// Whether any byte has come.
    pub(super) fn has_bytes(&self) -> bool {
        self.filled > 0
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Sniffed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read == self.filled {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let end = self.filled.min(self.read + buf.remaining());
        buf.put_slice(&self.first[self.read..end]);
        self.read = end;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Sniffed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    async fn sniff(pieces: &[&[u8]], expected: Spoken) {
        let (mut client, server) = tokio::io::duplex(64);
        let mut sniffed = Sniffed::new(server);
        let all = pieces.concat();
        let send = async {
            for piece in pieces {
                client.write_all(piece).await.expect("sent");
                tokio::task::yield_now().await;
            }
            drop(client);
        };
        let (spoken, ()) = tokio::join!(sniffed.sniff(), send);
        assert_eq!(spoken.expect("no error"), expected, "{pieces:?}");
        let mut read = Vec::new();
        sniffed.read_to_end(&mut read).await.expect("the rest");
        assert_eq!(read, all, "every byte once");
    }

    #[tokio::test]
    async fn the_first_byte_that_differs_decides() {
        sniff(&[b"GET / HTTP/1.1\r\n\r\n"], Spoken::Http1).await;
        sniff(&[b"P", b"OST / HTTP/1.1\r\n\r\n"], Spoken::Http1).await;
        sniff(&[b"PRI * HTTP/1.1\r\n\r\n"], Spoken::Http1).await;
    }

    #[tokio::test]
    async fn a_preface_in_pieces_is_a_preface() {
        sniff(&[PREFACE, b"frames"], Spoken::Http2).await;
        sniff(&[b"PRI", b" * HTTP/2.0\r\n", b"\r\nSM\r\n\r\n", b"frames"], Spoken::Http2).await;
    }

    #[tokio::test]
    async fn a_client_that_says_nothing_is_told_from_one_that_breaks_off() {
        sniff(&[], Spoken::Nothing).await;
        sniff(&[b"PRI"], Spoken::Http1).await;
    }
}
