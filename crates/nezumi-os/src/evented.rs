//! A resource of the OS together with its registration.
//!
//! Called by every socket, by pipes and by what `process` waits for. Knows nothing of addresses and protocols: it tries
//! operations, and has the driver wait where they would block.
//!
//! Promise: the resource is deregistered before it is closed or handed out; no operation is tried that is known to
//! block; a read into memory that is not initialised makes no reference to it as if it were.
//!
//! A read or write that did less than was asked has drained the resource: the next one would block. So readiness is cleared
//! then and the call that would say `EWOULDBLOCK` is saved. (epoll(7) says so of streams. Where the selector needs the
//! `WouldBlock` to arm itself again, as on Windows, nothing is saved.)

use bytes::BufMut;
use nezumi_core::driver::{Readiness, ReadyEvent, Registration};
use nezumi_core::runtime::Handle;
use nezumi_io::{Interest, ReadBuf, Ready};
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll, ready};

/// Whether an operation that did less than asked needs no other one to find out that it would block.
const SHORT_MEANS_DRAINED: bool = cfg!(all(unix, not(mio_unsupported_force_poll_poll)));

/// As many buffers as a vectored write takes at once; with more, a short count may come from that.
const MAX_BUFFERS: usize = if cfg!(target_os = "linux") { 1024 } else { 16 };

/// What of a slot's readiness answers `interest`.
pub(crate) fn wants(interest: Interest) -> Readiness {
    Readiness::from_bits(interest.answers().bits() as u8)
}

/// The public face of what a slot says.
pub(crate) fn to_ready(readiness: Readiness) -> Ready {
    Ready::from_bits(usize::from(readiness.bits()))
}

/// What the selector is asked for. It tells of errors whether asked or not, but it must be asked for something.
pub(crate) fn to_mio(interest: Interest) -> mio::Interest {
    let kinds = [
        (interest.is_readable() || interest.is_error(), mio::Interest::READABLE),
        (interest.is_writable(), mio::Interest::WRITABLE),
        #[cfg(any(target_os = "linux", target_os = "android"))]
        (interest.is_priority(), mio::Interest::PRIORITY),
        #[cfg(target_os = "freebsd")]
        (interest.is_aio(), mio::Interest::AIO),
        #[cfg(target_os = "freebsd")]
        (interest.is_lio(), mio::Interest::LIO),
    ];
    let asked = kinds.into_iter().filter_map(|(asked, kind)| asked.then_some(kind));
    asked.reduce(|all, kind| all | kind).unwrap_or(mio::Interest::READABLE)
}

/// A read into memory that need not be initialised.
pub(crate) trait ReadUninit {
    /// Reads into the start of `buf`. That many bytes of it are initialised afterwards.
    fn read_uninit(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize>;
}

/// Has `receive` write to what is free of `buf`, and moves `buf` on by as many bytes as it says that it has written.
pub(crate) fn into_buf<B: BufMut, R>(
    buf: &mut B,
    receive: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: what `receive` does to it is to write bytes that come from the OS.
    let (done, rest) = receive(unsafe { buf.chunk_mut().as_uninit_slice_mut() })?;
    // SAFETY: that many were written.
    unsafe { buf.advance_mut(done) };
    Ok((done, rest))
}

/// Has `receive` write to what is not filled of `buf`, and fills `buf` by as many bytes as it says that it has written.
pub(crate) fn into_read_buf<R>(
    buf: &mut ReadBuf<'_>,
    receive: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: what `receive` does to it is to write bytes that come from the OS.
    let (done, rest) = receive(unsafe { buf.unfilled_mut() })?;
    // SAFETY: that many were written.
    unsafe { buf.assume_init(done) };
    buf.advance(done);
    Ok((done, rest))
}

/// A resource, registered with the runtime in whose context it was made.
pub(crate) struct PollEvented<E: mio::event::Source> {
    /// There until the drop, or until it is taken out for good.
    io: Option<E>,
    registration: Registration,
}

impl<E: mio::event::Source> PollEvented<E> {
    /// Registers `io` for reading and writing with the current runtime.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub(crate) fn new(io: E) -> io::Result<Self> {
        Self::with_interest(io, Interest::READABLE | Interest::WRITABLE)
    }

    /// Registers `io` for `interest` with the current runtime.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver.
    #[track_caller]
    pub(crate) fn with_interest(mut io: E, interest: Interest) -> io::Result<Self> {
        let registration = Registration::new(&mut io, to_mio(interest), Handle::current())?;
        Ok(PollEvented { io: Some(io), registration })
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// Ends the registration and hands the resource out.
    pub(crate) fn into_inner(mut self) -> io::Result<E> {
        let mut io = self.io.take().expect(TAKEN);
        self.registration.deregister(&mut io)?;
        Ok(io)
    }

    /// Waits until a connection that was begun is there, or has failed: `take_error` tells.
    pub(crate) async fn connected(
        &self,
        take_error: impl Fn(&E) -> io::Result<Option<io::Error>>,
    ) -> io::Result<()> {
        poll_fn(|cx| self.registration.poll_write_ready(cx)).await?;
        take_error(self)?.map_or(Ok(()), Err)
    }

    /// Waits until something in `interest` is there.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        let event = self.registration.readiness(wants(interest)).await?;
        Ok(to_ready(event.ready))
    }

    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce(&E) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.try_io(wants(interest), || operation(self))
    }

    pub(crate) async fn async_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut(&E) -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration.async_io(wants(interest), || operation(self)).await
    }

    pub(crate) fn poll_read_io<R>(
        &self,
        cx: &mut Context<'_>,
        mut operation: impl FnMut(&E) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_read_io(cx, || operation(self))
    }

    pub(crate) fn poll_write_io<R>(
        &self,
        cx: &mut Context<'_>,
        mut operation: impl FnMut(&E) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration.poll_write_io(cx, || operation(self))
    }

    /// Reads into what is not filled of `buf`.
    #[inline]
    pub(crate) fn poll_read(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>>
    where
        E: ReadUninit,
    {
        let asked = buf.remaining();
        loop {
            let event = ready!(self.registration.poll_read_ready(cx))?;
            match into_read_buf(buf, |unfilled| Ok((self.read_uninit(unfilled)?, ()))) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.registration.clear_readiness(event);
                }
                result => {
                    self.drained(event, result?.0, asked);
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    /// Writes from `buf`.
    #[inline]
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>>
    where
        for<'a> &'a E: Write,
    {
        self.poll_write_all_of(cx, buf.len(), |mut io| io.write(buf))
    }

    /// Writes from `bufs`, one after the other.
    pub(crate) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>
    where
        for<'a> &'a E: Write,
    {
        let len = if bufs.len() <= MAX_BUFFERS { bufs.iter().map(|buf| buf.len()).sum() } else { 0 };
        self.poll_write_all_of(cx, len, |mut io| io.write_vectored(bufs))
    }

    #[inline]
    fn poll_write_all_of(
        &self,
        cx: &mut Context<'_>,
        len: usize,
        write: impl Fn(&E) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let event = ready!(self.registration.poll_write_ready(cx))?;
            match write(self) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.registration.clear_readiness(event);
                }
                result => {
                    let done = result?;
                    self.drained(event, done, len);
                    return Poll::Ready(Ok(done));
                }
            }
        }
    }

    /// Clears readiness if an operation did something, but less than `asked`. Nothing at all is the end of the stream.
    #[inline]
    fn drained(&self, event: ReadyEvent, done: usize, asked: usize) {
        if SHORT_MEANS_DRAINED && 0 < done && done < asked {
            self.registration.clear_readiness(event);
        }
    }
}

const TAKEN: &str = "the resource is there until it is taken out for good";

impl<E: mio::event::Source> Deref for PollEvented<E> {
    type Target = E;

    #[inline]
    fn deref(&self) -> &E {
        self.io.as_ref().expect(TAKEN)
    }
}

impl<E: mio::event::Source> Drop for PollEvented<E> {
    fn drop(&mut self) {
        if let Some(io) = &mut self.io {
            // The fields are dropped after this: the descriptor cannot be reused before its registration has ended.
            let _ = self.registration.deregister(io);
        }
    }
}

// The driver keeps its own state consistent whatever a task does.
impl<E: mio::event::Source> UnwindSafe for PollEvented<E> {}
impl<E: mio::event::Source> RefUnwindSafe for PollEvented<E> {}

impl<E: mio::event::Source + fmt::Debug> fmt::Debug for PollEvented<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollEvented").field("io", &self.io).finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_readiness_has_the_same_bit_on_both_sides() {
        for (here, there) in [
            (Readiness::READABLE, Ready::READABLE),
            (Readiness::WRITABLE, Ready::WRITABLE),
            (Readiness::READ_CLOSED, Ready::READ_CLOSED),
            (Readiness::WRITE_CLOSED, Ready::WRITE_CLOSED),
            (Readiness::ERROR, Ready::ERROR),
            #[cfg(target_os = "linux")]
            (Readiness::PRIORITY, Ready::PRIORITY),
        ] {
            assert_eq!(to_ready(here), there);
            assert_eq!(usize::from(here.bits()), there.bits());
        }
        assert_eq!(wants(Interest::READABLE), Readiness::READ);
        assert_eq!(wants(Interest::WRITABLE), Readiness::WRITE);
    }

    #[test]
    fn interests_reach_the_selector() {
        assert_eq!(
            to_mio(Interest::READABLE | Interest::WRITABLE),
            mio::Interest::READABLE | mio::Interest::WRITABLE
        );
        assert_eq!(to_mio(Interest::ERROR), mio::Interest::READABLE);
        #[cfg(target_os = "linux")]
        assert_eq!(to_mio(Interest::PRIORITY), mio::Interest::PRIORITY);
    }
}
