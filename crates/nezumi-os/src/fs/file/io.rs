//! Reading, writing and seeking: what is done here, and what on a blocking thread.
//!
//! Tests: `tests/fs/file.rs`, `tests/fs/model.rs`.

use super::File;
use super::desk::{Done, State};
use nezumi_io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use nezumi_wake::coop;
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

impl AsyncRead for File {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, dst: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let File { std, desk, max_buf_size } = self.get_mut();
        let desk = desk.get_mut();
        loop {
            match &mut desk.state {
                State::Idle(buf) if !buf.is_empty() || dst.remaining() == 0 => {
                    buf.give(dst);
                    return Poll::Ready(Ok(()));
                }
                State::Idle(_) => {
                    desk.forget_seek();
                    let most = dst.remaining().min(*max_buf_size);
                    if let Some(nowait) = desk.nowait() {
                        let spent = ready!(coop::poll_proceed(cx));
                        if nowait.read(std, dst, most) {
                            spent.made_progress();
                            return Poll::Ready(Ok(()));
                        }
                    }
                    desk.hand_over(std, move |file, buf| Done::Read(buf.fill(file, most)));
                }
                State::Busy(_) => match ready!(desk.poll_back(cx))? {
                    Done::Read(outcome) => {
                        outcome?;
                        if let State::Idle(buf) = &mut desk.state {
                            buf.give(dst);
                        }
                        return Poll::Ready(Ok(()));
                    }
                    Done::Wrote(outcome) => desk.keep_write_error(outcome),
                    Done::Sought(outcome) => desk.keep_seek(outcome),
                    Done::Resized(_) => {}
                },
            }
        }
    }
}

impl AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        let File { std, desk, .. } = self.get_mut();
        let desk = desk.get_mut();
        if let State::Busy(_) = desk.state {
            return Err(io::Error::other(
                "other file operation is pending, call poll_complete before start_seek",
            ));
        }
        if desk.nowait().is_some_and(|nowait| nowait.may_seek()) {
            let back = desk.unread();
            desk.keep_seek(seek(std, back, to));
            return Ok(());
        }
        desk.hand_over(std, move |file, buf| Done::Sought(seek(file, buf.unread(), to)));
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let desk = self.get_mut().desk.get_mut();
        while let State::Busy(_) = desk.state {
            match ready!(desk.poll_back(cx))? {
                Done::Sought(outcome) => desk.keep_seek(outcome),
                Done::Wrote(outcome) => desk.keep_write_error(outcome),
                // What was read is in the buffer; if it failed, it will again.
                Done::Read(_) | Done::Resized(_) => {}
            }
        }
        if desk.has_sought() {
            ready!(coop::poll_proceed(cx)).made_progress();
        }
        Poll::Ready(desk.tell_seek())
    }
}

/// Moves the cursor first `back`, over bytes that were read and not taken, and then `to`.
fn seek(mut file: &std::fs::File, back: Option<SeekFrom>, to: SeekFrom) -> io::Result<u64> {
    match (back, to) {
        (Some(back), SeekFrom::Current(_)) => file.seek(back).and_then(|_| file.seek(to)),
        _ => file.seek(to),
    }
}

impl AsyncWrite for File {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, src: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(src)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let File { std, desk, max_buf_size } = self.get_mut();
        let desk = desk.get_mut();
        if let Some(n) = ready!(desk.poll_push(cx, slices, *max_buf_size)) {
            return Poll::Ready(Ok(n));
        }
        ready!(desk.poll_written(cx))?;
        let back = desk.unread();
        let State::Idle(buf) = &mut desk.state else {
            unreachable!("it is written, and nothing is under way")
        };
        let n = buf.take(slices, *max_buf_size);
        if n == 0 {
            return Poll::Ready(Ok(0));
        }
        let behind = desk.open_behind();
        desk.hand_over_for_good(std, move |mut file, buf| {
            let back = back.map_or(Ok(0), |back| file.seek(back));
            let wrote = back.and_then(|_| buf.drain(file));
            Done::Wrote(match behind {
                Some(writer) => writer.drain(wrote, |piece| file.write_all(piece)),
                None => wrote,
            })
        })?;
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().desk.get_mut().poll_written(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
