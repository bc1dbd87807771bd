//! Reading text until there is no more.
//!
//! Promise: the string is only changed when all of the text is there and is text. Bytes go through a vector of the
//! future's own; an empty string lends its allocation to it, so that in the usual case nothing is copied.
//!
//! Tests: `text_is_appended`, `what_is_not_text_changes_nothing`, `an_empty_string_lends_its_allocation`.

use super::read_to_end::Appender;
use crate::AsyncRead;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::str::Utf8Error;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The future of `read_to_string`.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadToString<'a, R: ?Sized> {
        reader: &'a mut R,
        output: &'a mut String,
        appender: Appender<Vec<u8>>,
        #[pin]
        pinned: PhantomPinned,
    }
}

pub(super) fn read_to_string<'a, R: ?Sized>(
    reader: &'a mut R,
    output: &'a mut String,
) -> ReadToString<'a, R> {
    let vec = if output.is_empty() { std::mem::take(output).into_bytes() } else { Vec::new() };
    ReadToString { reader, output, appender: Appender::new(vec), pinned: PhantomPinned }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToString<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let me = self.project();
        let result = ready!(me.appender.poll_read_to_end(Pin::new(&mut **me.reader), cx));
        let bytes = me.appender.take();
        Poll::Ready(match result {
            Ok(n) => append_text(me.output, bytes).map(|()| n),
            Err(error) => {
                give_back(me.output, bytes);
                Err(error)
            }
        })
    }
}

fn append_text(output: &mut String, bytes: Vec<u8>) -> io::Result<()> {
    match String::from_utf8(bytes) {
        Ok(text) if output.is_empty() => *output = text,
        Ok(text) => output.push_str(&text),
        Err(error) => {
            let not_text = not_text(output, error.as_bytes());
            give_back(output, error.into_bytes());
            return Err(not_text);
        }
    }
    Ok(())
}

/// Leaves the string its allocation if it had lent it.
fn give_back(output: &mut String, mut bytes: Vec<u8>) {
    if output.is_empty() {
        bytes.clear();
        *output = String::from_utf8(bytes).unwrap_or_default();
    }
}

/// The error for bytes that would have followed `text` and are not UTF-8. What it says counts from the start of `text`.
#[cold]
pub(super) fn not_text(text: &str, bytes: &[u8]) -> io::Error {
    let all = [text.as_bytes(), bytes].concat();
    match std::str::from_utf8(&all) {
        Err(error) => invalid_data(error),
        Ok(_) => unreachable!("`bytes` is not UTF-8, so neither is text followed by it"),
    }
}

fn invalid_data(error: Utf8Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use crate::AsyncReadExt;
    use crate::script::{Source, Step, cancel_after};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;

    #[test]
    fn text_is_appended() {
        let mut source = Source::new([Step::Bytes(b"\xc3"), Step::Pending, Step::Bytes(b"\xa9t\xc3\xa9")]);
        let mut text = "Un ".to_owned();
        assert_eq!(block_on(source.read_to_string(&mut text)).unwrap(), 5);
        assert_eq!(text, "Un été");
        assert_eq!(block_on(source.read_to_string(&mut text)).unwrap(), 0);
        assert_eq!(text, "Un été");
    }

    #[test]
    fn what_is_not_text_changes_nothing() {
        for before in ["", "before"] {
            let mut source = Source::new([Step::Bytes(b"ok\xff")]);
            let mut text = before.to_owned();
            let error = block_on(source.read_to_string(&mut text)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            let utf8 = error.into_inner().unwrap().downcast::<Utf8Error>().unwrap();
            assert_eq!(utf8.valid_up_to(), before.len() + 2);
            assert_eq!(text, before);
        }
    }

    #[test]
    fn a_failed_or_cancelled_read_changes_nothing() {
        for before in ["", "before"] {
            let mut source = Source::new([Step::Bytes(b"a"), Step::Pending, Step::Fail(ErrorKind::NotFound)]);
            let mut text = before.to_owned();
            assert!(cancel_after(1, source.read_to_string(&mut text)).is_none());
            assert_eq!(text, before);
            let error = block_on(source.read_to_string(&mut text)).unwrap_err();
            assert_eq!((error.kind(), &text[..]), (ErrorKind::NotFound, before));
        }
    }

    #[test]
    fn an_empty_string_lends_its_allocation() {
        let mut text = String::with_capacity(64);
        let place = text.as_ptr();
        let script =
            [Step::Bytes(b"hello"), Step::End, Step::Bytes(b"\xff"), Step::End, Step::Fail(ErrorKind::Other)];
        let mut source = Source::new(script);
        assert_eq!(block_on(source.read_to_string(&mut text)).unwrap(), 5);
        text.clear();
        for _ in 0..2 {
            block_on(source.read_to_string(&mut text)).unwrap_err();
        }
        assert_eq!((text.as_ptr(), text.capacity()), (place, 64));
    }
}
