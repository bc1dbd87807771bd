use super::SocketAddr;
use super::stream::UnixStream;
use bytes::BufMut;
use nezumi_io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

crate::net::halves::halves!(
    UnixStream,
    SocketAddr,
    "let (mut one, mut other) = UnixStream::pair().unwrap();"
);
