//! What a process reads and writes: the other ends of its pipes.
//!
//! How an end waits is the system's affair: `imp::Sender` and `imp::Receiver`.

use super::imp;
use nezumi_io::{AsyncRead, AsyncWrite, ReadBuf};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

/// The pipe to the standard input of a [`Child`](super::Child).
///
/// Written through [`AsyncWrite`]. When the process does not read any more a write fails with `BrokenPipe`. Dropping it closes it, and that
/// is how the process learns of the end of its input: [`shutdown`](AsyncWrite::poll_shutdown) does nothing on Unix.
///
/// # Examples
///
/// ```
/// use nezumi::io::AsyncWriteExt;
/// use nezumi::process::Command;
/// use std::process::Stdio;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// # #[cfg(unix)] {
/// let mut child = Command::new("wc").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
/// let mut stdin = child.stdin.take().unwrap();
/// stdin.write_all(b"squeak").await.unwrap();
/// // That is the end of its input.
/// drop(stdin);
/// let output = child.wait_with_output().await.unwrap();
/// assert_eq!(output.stdout.trim_ascii(), b"6");
/// # }
/// # }
/// ```
#[derive(Debug)]
pub struct ChildStdin {
    inner: imp::Sender,
}

/// The pipe from the standard output of a [`Child`](super::Child). Read through [`AsyncRead`].
///
/// # Examples
///
/// Handing it on, as the input of another process:
///
/// ```
/// use nezumi::process::Command;
/// use std::process::Stdio;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut echo = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
/// let words: Stdio = echo.stdout.take().unwrap().try_into()?;
/// let tr = Command::new("tr").args(["a-z", "A-Z"]).stdin(words).output();
/// let (echo, tr) = nezumi::try_join!(echo.wait(), tr)?;
/// assert!(echo.success());
/// assert_eq!(tr.stdout, b"HELLO\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChildStdout {
    inner: imp::Receiver,
}

/// The pipe from the standard error of a [`Child`](super::Child). Read through [`AsyncRead`].
///
/// # Examples
///
/// ```
/// use nezumi::io::AsyncReadExt;
/// use nezumi::process::Command;
/// use std::process::Stdio;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// # #[cfg(unix)] {
/// let mut child = Command::new("sh").args(["-c", "echo squeak >&2"]).stderr(Stdio::piped()).spawn().unwrap();
/// let mut complaint = String::new();
/// child.stderr.take().unwrap().read_to_string(&mut complaint).await.unwrap();
/// assert_eq!(complaint, "squeak\n");
/// # child.wait().await.unwrap();
/// # }
/// # }
/// ```
#[derive(Debug)]
pub struct ChildStderr {
    inner: imp::Receiver,
}

/// What all ends have.
macro_rules! pipe_end {
    ($End:ident, $Inner:ty) => {
        impl $End {
            /// Takes over the end of a pipe to or from a process that the standard library has started.
            ///
            /// # Errors
            ///
            /// Those of the OS, and when the runtime has been shut down.
            ///
            /// # Panics
            ///
            /// On Unix, outside a runtime, or where it has no I/O driver.
            #[track_caller]
            pub fn from_std(inner: std::process::$End) -> io::Result<Self> {
                Ok(Self { inner: <$Inner>::of_process(inner)? })
            }
        }

        impl TryInto<Stdio> for $End {
            type Error = io::Error;

            /// Hands the pipe on to another process, which will find that it blocks, as programs expect.
            fn try_into(self) -> io::Result<Stdio> {
                self.inner.into_owned().map(Stdio::from)
            }
        }

        #[cfg(unix)]
        const _: () = {
            use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

            impl $End {
                /// Takes the descriptor out, and makes it block.
                ///
                /// # Errors
                ///
                /// Those of the OS.
                pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                    self.inner.into_owned()
                }
            }

            impl AsRawFd for $End {
                fn as_raw_fd(&self) -> RawFd {
                    self.inner.as_raw_fd()
                }
            }

            impl AsFd for $End {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    // SAFETY: the descriptor is open as long as `self` owns it, and the borrow is of `self`.
                    unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
                }
            }
        };

        #[cfg(windows)]
        const _: () = {
            use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle, RawHandle};

            impl $End {
                /// Takes the handle out.
                ///
                /// # Errors
                ///
                /// Those of the OS.
                pub fn into_owned_handle(self) -> io::Result<OwnedHandle> {
                    self.inner.into_owned()
                }
            }

            impl AsRawHandle for $End {
                fn as_raw_handle(&self) -> RawHandle {
                    self.inner.as_raw_handle()
                }
            }

            impl AsHandle for $End {
                fn as_handle(&self) -> BorrowedHandle<'_> {
                    // SAFETY: the handle is open as long as `self` owns it, and the borrow is of `self`.
                    unsafe { BorrowedHandle::borrow_raw(self.as_raw_handle()) }
                }
            }
        };
    };
}

pipe_end!(ChildStdin, imp::Sender);
pipe_end!(ChildStdout, imp::Receiver);
pipe_end!(ChildStderr, imp::Receiver);

impl AsyncWrite for ChildStdin {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl AsyncRead for ChildStdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncRead for ChildStderr {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}
