use super::TcpStream;
use bytes::BufMut;
use nezumi_io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

crate::net::halves::halves!(
    TcpStream,
    SocketAddr,
    "let listener = nezumi::net::TcpListener::bind(\"127.0.0.1:0\").await.unwrap();
let mut one = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
let (mut other, _) = listener.accept().await.unwrap();"
);

/// `peek` is of TCP alone.
macro_rules! peek_methods {
    () => {
        /// Waits for something to read and copies it, without taking it. As [`TcpStream::poll_peek`].
        ///
        /// # Errors
        ///
        /// Those of the OS, and when the runtime has been shut down.
        pub fn poll_peek(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
            self.stream().poll_peek(cx, buf)
        }

        /// Waits for something to read and copies it, without taking it: the next read returns it once more.
        ///
        /// # Errors
        ///
        /// Those of the OS, and when the runtime has been shut down.
        ///
        /// # Cancel safety
        ///
        /// Dropped before it completes, it has taken nothing, as it does in no case.
        pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let mut buf = ReadBuf::new(buf);
            poll_fn(|cx| self.poll_peek(cx, &mut buf)).await
        }
    };
}

impl ReadHalf<'_> {
    peek_methods!();
}

impl OwnedReadHalf {
    peek_methods!();
}
