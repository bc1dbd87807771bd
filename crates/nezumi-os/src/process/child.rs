//! One process that was started.

use super::imp::Process;
use super::pipes::{ChildStderr, ChildStdin, ChildStdout};
use nezumi_io::{AsyncRead, AsyncReadExt};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Output};
use std::task::{Context, Poll};

/// A process that was started by [`Command::spawn`](super::Command::spawn).
///
/// Dropping it leaves the process running, unless [`kill_on_drop`](super::Command::kill_on_drop) was set; either way it is reaped when it
/// ends, also when the runtime is gone by then.
///
/// # Examples
///
/// Reading what a process writes while it runs:
///
/// ```
/// use nezumi::io::{AsyncBufReadExt, BufReader};
/// use nezumi::process::Command;
/// use std::process::Stdio;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut child = Command::new("sh").args(["-c", "echo one; echo two"]).stdout(Stdio::piped()).spawn()?;
/// let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("it says {line}");
/// }
/// assert!(child.wait().await?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Child {
    state: State,
    /// Its standard input, if that was to be a pipe. Dropping it is the end of the input.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if that was to be a pipe.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if that was to be a pipe.
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum State {
    /// Not known to have ended.
    Running(Process),
    Ended(ExitStatus),
}

impl Child {
    pub(super) fn new(
        mut process: Process,
        stdin: Option<ChildStdin>,
        stdout: Option<ChildStdout>,
        stderr: Option<ChildStderr>,
    ) -> Child {
        let state = process.known_end().map_or(State::Running(process), State::Ended);
        Child { state, stdin, stdout, stderr }
    }

    /// The number that the OS knows the process by. `None` once it was seen to end: the number may be another's from then on.
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            State::Running(process) => Some(process.id()),
            State::Ended(_) => None,
        }
    }

    /// The handle that the OS knows the process by. `None` once it was seen to end. It is valid as long as this is `Some`.
    #[cfg(windows)]
    pub fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        match &self.state {
            State::Running(process) => Some(process.raw_handle()),
            State::Ended(_) => None,
        }
    }

    /// Has the process killed, without waiting for it to be gone. That it has ended already is no error. On Unix it is sent `SIGKILL`.
    ///
    /// The process still has to be waited for, or dropped.
    ///
    /// # Errors
    ///
    /// Those of the OS: where the process has become another user's, for one.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = nezumi::process::Command::new("sleep").arg("60").spawn()?;
    /// child.start_kill()?;
    /// assert!(!child.wait().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub fn start_kill(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Running(process) => {
                process.kill()?;
                // Once is enough.
                process.kill_on_drop = false;
                Ok(())
            }
            State::Ended(_) => Ok(()),
        }
    }

    /// Kills the process, and waits until it is gone. That it has ended already is no error.
    ///
    /// # Errors
    ///
    /// Those of [`start_kill`](Self::start_kill) and of [`wait`](Self::wait).
    ///
    /// # Cancel safety
    ///
    /// From the first poll on the process is being killed; dropping the future changes nothing of that.
    ///
    /// # Examples
    ///
    /// Letting a process run until something else says that it must not:
    ///
    /// ```
    /// use nezumi::{process::Command, sync::oneshot};
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let (stop, stopped) = oneshot::channel();
    /// let mut child = Command::new("sleep").arg("60").spawn()?;
    /// stop.send(()).unwrap();
    /// nezumi::select! {
    ///     status = child.wait() => println!("it ended by itself: {}", status?),
    ///     _ = stopped => child.kill().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Waits until the process has ended, and says how it did. Called again, it says the same again.
    ///
    /// Drops [`stdin`](Self::stdin) first, so that a process which reads to the end of its input gets there. A process that writes more
    /// to a pipe than that holds waits for a reader, and this waits for the process: read [`stdout`](Self::stdout) and
    /// [`stderr`](Self::stderr) at the same time, or call [`wait_with_output`](Self::wait_with_output).
    ///
    /// # Errors
    ///
    /// When somebody else has waited for the process, by `waitpid` or by having `SIGCHLD` ignored (`ECHILD`); when the runtime has been
    /// shut down, and this is not called from within another.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, it has closed `stdin` and nothing more. It can be called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.stdin = None;
        poll_fn(|cx| self.poll_wait(cx)).await
    }

    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let polled = match &mut self.state {
            State::Running(process) => process.poll_wait(cx),
            State::Ended(status) => return Poll::Ready(Ok(*status)),
        };
        if let Poll::Ready(Ok(status)) = polled {
            self.state = State::Ended(status);
        }
        polled
    }

    /// Says how the process ended, if it has; does not wait, and leaves [`stdin`](Self::stdin) open.
    ///
    /// # Errors
    ///
    /// When somebody else has waited for the process.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = nezumi::process::Command::new("sleep").arg("60").spawn()?;
    /// assert!(child.try_wait()?.is_none());
    /// child.kill().await?;
    /// assert!(child.try_wait()?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = match &mut self.state {
            State::Running(process) => process.try_wait()?,
            State::Ended(status) => return Ok(Some(*status)),
        };
        if let Some(status) = status {
            self.state = State::Ended(status);
        }
        Ok(status)
    }

    /// Waits until the process has ended, reading all the while what it writes to [`stdout`](Self::stdout) and
    /// [`stderr`](Self::stderr), where those are pipes and still there. Returns how it ended, and what was read. Drops
    /// [`stdin`](Self::stdin) first.
    ///
    /// The pipes end when nobody can write to them any more: a process that the child started and that outlives it counts, too.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Self::wait), and of reading. What was read is lost, and the process is dropped.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it completes, what was read is lost, and the process goes on or is killed, as
    /// [`kill_on_drop`](super::Command::kill_on_drop) says.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::process::Stdio;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let child = nezumi::process::Command::new("seq").arg("3").stdout(Stdio::piped()).spawn()?;
    /// let output = child.wait_with_output().await?;
    /// assert_eq!(output.stdout, b"1\n2\n3\n");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        // The pipes stay open until all is done: closing one early would have a process that still writes to it killed by SIGPIPE.
        let (mut stdout, mut stderr) = (self.stdout.take(), self.stderr.take());
        let (status, stdout, stderr) =
            all_of(self.wait(), read_to_end(&mut stdout), read_to_end(&mut stderr)).await?;
        Ok(Output { status, stdout, stderr })
    }
}

async fn read_to_end(pipe: &mut Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Runs three futures side by side until all are done, or one has failed.
async fn all_of<A, B, C>(
    a: impl Future<Output = io::Result<A>>,
    b: impl Future<Output = io::Result<B>>,
    c: impl Future<Output = io::Result<C>>,
) -> io::Result<(A, B, C)> {
    let (mut a, mut b, mut c) = (pin!(a), pin!(b), pin!(c));
    let (mut of_a, mut of_b, mut of_c) = (None, None, None);
    poll_fn(|cx| {
        advance(a.as_mut(), &mut of_a, cx)?;
        advance(b.as_mut(), &mut of_b, cx)?;
        advance(c.as_mut(), &mut of_c, cx)?;
        if of_a.is_some() && of_b.is_some() && of_c.is_some() { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
    .map(|()| {
        const DONE: &str = "all three are done";
        (of_a.expect(DONE), of_b.expect(DONE), of_c.expect(DONE))
    })
}

/// Polls `future`, unless it is done. What it returns goes to `place`; its error comes back.
fn advance<T>(
    future: Pin<&mut impl Future<Output = io::Result<T>>>,
    place: &mut Option<T>,
    cx: &mut Context<'_>,
) -> io::Result<()> {
    if place.is_some() {
        return Ok(());
    }
    if let Poll::Ready(result) = future.poll(cx) {
        *place = Some(result?);
    }
    Ok(())
}
