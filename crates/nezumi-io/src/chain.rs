//! One reader after the other.

use crate::{AsyncBufRead, AsyncRead, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// A reader of one reader to its end and then of another. Made by
    /// [`AsyncReadExt::chain`](crate::AsyncReadExt::chain).
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::AsyncReadExt;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut text = String::new();
    /// (&b"cat"[..]).chain(&b" and mouse"[..]).read_to_string(&mut text).await.unwrap();
    /// assert_eq!(text, "cat and mouse");
    /// # }
    /// ```
    #[must_use = "readers do nothing unless they are read"]
    pub struct Chain<T, U> {
        #[pin]
        first: T,
        #[pin]
        second: U,
        first_ended: bool,
    }
}

impl<T, U> Chain<T, U>
where
    T: AsyncRead,
    U: AsyncRead,
{
    pub(crate) fn new(first: T, second: U) -> Self {
        Self { first, second, first_ended: false }
    }

    /// The two readers.
    pub fn get_ref(&self) -> (&T, &U) {
        (&self.first, &self.second)
    }

    /// The two readers. What is read from them directly is missing from the chain.
    pub fn get_mut(&mut self) -> (&mut T, &mut U) {
        (&mut self.first, &mut self.second)
    }

    /// The two readers, pinned. What is read from them directly is missing from the chain.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> (Pin<&mut T>, Pin<&mut U>) {
        let me = self.project();
        (me.first, me.second)
    }

    /// Gives the two readers back.
    pub fn into_inner(self) -> (T, U) {
        (self.first, self.second)
    }
}

impl<T: fmt::Debug, U: fmt::Debug> fmt::Debug for Chain<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("t", &self.first).field("u", &self.second).finish()
    }
}

impl<T, U> AsyncRead for Chain<T, U>
where
    T: AsyncRead,
    U: AsyncRead,
{
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let me = self.project();
        if !*me.first_ended {
            let room = buf.remaining();
            ready!(me.first.poll_read(cx, buf))?;
            // Reading nothing is the end only if there was room for something.
            if room == 0 || buf.remaining() < room {
                return Poll::Ready(Ok(()));
            }
            *me.first_ended = true;
        }
        me.second.poll_read(cx, buf)
    }
}

impl<T, U> AsyncBufRead for Chain<T, U>
where
    T: AsyncBufRead,
    U: AsyncBufRead,
{
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let me = self.project();
        if !*me.first_ended {
            let bytes = ready!(me.first.poll_fill_buf(cx))?;
            if !bytes.is_empty() {
                return Poll::Ready(Ok(bytes));
            }
            *me.first_ended = true;
        }
        me.second.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let me = self.project();
        if *me.first_ended {
            me.second.consume(amt);
        } else {
            me.first.consume(amt);
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use crate::script::{Source, Step};
    use crate::{AsyncBufReadExt, AsyncReadExt};
    use nezumi_wake::block_on;
    use std::io::ErrorKind;

    #[test]
    fn the_second_follows_the_end_of_the_first() {
        let first = Source::new([Step::Bytes(b"ab"), Step::Pending, Step::End, Step::Bytes(b"never")]);
        let mut chain = first.chain(Source::new([Step::Bytes(b"cd"), Step::Fail(ErrorKind::Other)]));
        let mut vec = Vec::new();
        assert_eq!(block_on(chain.read_to_end(&mut vec)).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(vec, b"abcd");
        let (first, second) = chain.into_inner();
        assert_eq!((first.polls, second.polls), (3, 2));
    }

    #[test]
    fn an_empty_buffer_ends_nothing() {
        let mut chain = (&b"ab"[..]).chain(&b"cd"[..]);
        assert_eq!(block_on(chain.read(&mut [])).unwrap(), 0);
        let mut text = String::new();
        block_on(chain.read_to_string(&mut text)).unwrap();
        assert_eq!(text, "abcd");
        assert_eq!(format!("{chain:?}"), "Chain { t: [], u: [] }");
    }

    #[test]
    fn an_error_of_the_first_is_no_end() {
        let mut chain = Source::new([Step::Fail(ErrorKind::Other), Step::Bytes(b"a")]).chain(&b"b"[..]);
        let mut text = String::new();
        assert_eq!(block_on(chain.read_to_string(&mut text)).unwrap_err().kind(), ErrorKind::Other);
        block_on(chain.read_to_string(&mut text)).unwrap();
        assert_eq!(text, "ab");
    }

    #[test]
    fn what_is_shown_is_consumed_where_it_came_from() {
        let mut chain = (&b"ab"[..]).chain(&b"cd"[..]);
        assert_eq!(block_on(chain.fill_buf()).unwrap(), b"ab");
        AsyncBufReadExt::consume(&mut chain, 2);
        assert_eq!(block_on(chain.fill_buf()).unwrap(), b"cd");
        AsyncBufReadExt::consume(&mut chain, 1);
        assert_eq!(chain.get_ref(), (&&b""[..], &&b"d"[..]));
        *chain.get_mut().1 = b"e";
        assert_eq!(block_on(chain.fill_buf()).unwrap(), b"e");
    }
}
