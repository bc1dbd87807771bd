//! How a process is started.
//!
//! All but the start is the standard library's. What is checked before the start, so that a panic leaves no process: that there is a
//! runtime, with I/O. What fails after it (the pipes cannot be registered) kills the process and has it reaped: an error means that
//! nothing runs.

use super::child::Child;
use super::imp::Process;
use super::pipes::{ChildStderr, ChildStdin, ChildStdout};
use nezumi_core::runtime::Handle;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
#[cfg(windows)]
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Child as StdChild, Command as StdCommand, ExitStatus, Output, Stdio};

/// A process to be started: `std::process::Command`, with a [`spawn`](Self::spawn), [`status`](Self::status) and
/// [`output`](Self::output) that do not block the thread.
///
/// # Examples
///
/// ```
/// use nezumi::process::Command;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let output = Command::new("echo").arg("hello").output().await?;
/// assert!(output.status.success());
/// assert_eq!(output.stdout, b"hello\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    std: StdCommand,
    kill_on_drop: bool,
}

/// What is to be run, and with what. As in the standard library.
impl Command {
    /// A command that runs `program`, without arguments, with the environment and the directory of this process. Standard input,
    /// output and error are this process's own, too, except for [`output`](Self::output), which takes the latter two.
    ///
    /// A `program` without a `/` is looked for along `PATH`.
    #[must_use]
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        Self::from(StdCommand::new(program))
    }

    /// The command of the standard library inside: to ask what is set, for instance.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::process::Command;
    ///
    /// let mut command = Command::new("ls");
    /// command.arg("-l");
    /// assert_eq!(command.as_std().get_args().collect::<Vec<_>>(), ["-l"]);
    /// ```
    pub fn as_std(&self) -> &StdCommand {
        &self.std
    }

    /// The command of the standard library inside, to be changed by what this type has no method for.
    pub fn as_std_mut(&mut self) -> &mut StdCommand {
        &mut self.std
    }

    /// Takes the command of the standard library out. [`kill_on_drop`](Self::kill_on_drop) is lost.
    pub fn into_std(self) -> StdCommand {
        self.std
    }

    /// Adds one argument. It reaches the program as it is: no shell looks at it, so that `-C dir` is two arguments.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let output = nezumi::process::Command::new("printf").arg("%s").arg("$HOME; *").output().await?;
    /// assert_eq!(output.stdout, b"$HOME; *");
    /// # Ok(())
    /// # }
    /// ```
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.std.arg(arg);
        self
    }

    /// Adds several arguments.
    pub fn args<I, S>(&mut self, args: I) -> &mut Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(args);
        self
    }

    /// Adds text to the command line as it is, without quotes: for programs such as `cmd.exe` that read it by rules of their own.
    #[cfg(windows)]
    pub fn raw_arg<S: AsRef<OsStr>>(&mut self, text_to_append_as_is: S) -> &mut Command {
        self.std.raw_arg(text_to_append_as_is);
        self
    }

    /// Sets a variable of the environment.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let output = nezumi::process::Command::new("sh").args(["-c", "echo $FRUIT"]).env("FRUIT", "plum").output().await?;
    /// assert_eq!(output.stdout, b"plum\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Command
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets several variables of the environment.
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Takes a variable out of the environment, also one that would be inherited.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Empties the environment: nothing is inherited.
    pub fn env_clear(&mut self) -> &mut Command {
        self.std.env_clear();
        self
    }

    /// Sets the directory that the process starts in. Whether a relative path of the program is looked for from there or from here
    /// depends on the system: use an absolute one.
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// What the process has as standard input: this process's own where nothing is said.
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdin(cfg);
        self
    }

    /// What the process has as standard output: this process's own where nothing is said. [`output`](Self::output) sets it to a
    /// pipe.
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdout(cfg);
        self
    }

    /// What the process has as standard error: this process's own where nothing is said. [`output`](Self::output) sets it to a
    /// pipe.
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stderr(cfg);
        self
    }

    /// Whether the process is killed when its [`Child`] is dropped before it was seen to end. It is not where nothing is said: it goes
    /// on, and is reaped when it ends.
    ///
    /// A drop cannot wait. The process is sent its signal there and then, but may live on for a moment; who must know that it is gone
    /// calls [`Child::kill`].
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::{process::Command, time::timeout};
    /// use std::time::Duration;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut command = Command::new("sleep");
    /// let status = command.arg("60").kill_on_drop(true).status();
    /// // The future holds the child: who gives up on the one has killed the other.
    /// assert!(timeout(Duration::from_millis(5), status).await.is_err());
    /// # }
    /// ```
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Command {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Whether the process is killed when its [`Child`] is dropped: what [`kill_on_drop`](Self::kill_on_drop) has set.
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// The flags of `CreateProcess`. `CREATE_UNICODE_ENVIRONMENT` is always among them.
    #[cfg(windows)]
    pub fn creation_flags(&mut self, flags: u32) -> &mut Command {
        self.std.creation_flags(flags);
        self
    }
}

/// What only Unix knows.
#[cfg(unix)]
impl Command {
    /// The user that the process runs as. Where this process may not do that, the start fails.
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// The group that the process runs as. Where this process may not do that, the start fails.
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// What the program gets to see as its own name, `argv[0]`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let output = nezumi::process::Command::new("sh").arg0("shell").args(["-c", "echo $0"]).output().await?;
    /// assert_eq!(output.stdout, b"shell\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn arg0<S>(&mut self, arg: S) -> &mut Command
    where
        S: AsRef<OsStr>,
    {
        self.std.arg0(arg);
        self
    }

    /// Has `f` run in the new process, after the fork and before the program. Several run in the order in which they were given. If
    /// one fails the others do not run, and the start fails with its error.
    ///
    /// # Safety
    ///
    /// In the new process only the thread that forked is left, in a copy of the memory where other threads may have held any lock: that
    /// of the allocator too. `f` must do nothing but what a signal handler may. Descriptors that it closes are copies; a runtime must
    /// not be touched.
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: handed on.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// The group of processes that the process joins; with 0, one of its own. A terminal sends its signals, such as that of Ctrl-C, to
    /// all of the group in front.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # #[nezumi::main]
    /// # async fn main() -> std::io::Result<()> {
    /// // Ctrl-C reaches this process alone, which may then end the other as it sees fit.
    /// let mut server = nezumi::process::Command::new("server").process_group(0).spawn()?;
    /// nezumi::signal::ctrl_c().await?;
    /// server.kill().await
    /// # }
    /// ```
    pub fn process_group(&mut self, pgroup: i32) -> &mut Command {
        self.std.process_group(pgroup);
        self
    }
}

/// The start.
impl Command {
    /// Starts the process.
    ///
    /// This takes as long as a fork does. The process belongs to the current runtime, which waits for its end and for its pipes.
    ///
    /// # Errors
    ///
    /// Those of the OS, as they are: `NotFound` if there is no such program (or directory), `PermissionDenied` if it may not be run,
    /// `WouldBlock` if there are too many processes, `EMFILE` if there are too many descriptors; that of a
    /// [`pre_exec`](Self::pre_exec). If a pipe cannot be registered with the runtime (which has been shut down, say) the process is
    /// killed: an error always means that nothing runs.
    ///
    /// # Panics
    ///
    /// Outside a runtime, or where it has no I/O driver. No process was started then.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::io::AsyncWriteExt;
    /// use nezumi::process::Command;
    /// use std::process::Stdio;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut sort = Command::new("sort").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    ///
    /// let mut input = sort.stdin.take().unwrap();
    /// input.write_all(b"mouse\ncat\n").await?;
    /// drop(input); // the end of its input
    ///
    /// let output = sort.wait_with_output().await?;
    /// assert_eq!(output.stdout, b"cat\nmouse\n");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.start(StdCommand::spawn)
    }

    /// Starts the process by a function of your own. [`spawn`](Self::spawn) is this with `std::process::Command::spawn`.
    ///
    /// For what the standard library has only on some systems, or not yet. The child that `with` returns is this type's own from then
    /// on; one that has been waited for already is as good.
    ///
    /// # Errors
    ///
    /// Those of `with`, and those of [`spawn`](Self::spawn).
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn); `with` was not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// use nezumi::process::Command;
    ///
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = Command::new("true").spawn_with(|command| {
    ///     println!("starting {:?}", command.get_program());
    ///     command.spawn()
    /// })?;
    /// assert!(child.wait().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[track_caller]
    pub fn spawn_with(
        &mut self,
        with: impl FnOnce(&mut StdCommand) -> io::Result<StdChild>,
    ) -> io::Result<Child> {
        self.start(with)
    }

    /// Runs the process to its end, and says how it ended. It is started at once, whether the future is polled or not. Pipes that it
    /// was given are closed at once.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Self::spawn), and of [`Child::wait`]. They come by way of the future.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    ///
    /// # Cancel safety
    ///
    /// The future holds the child: dropping it leaves the process running, or kills it, as [`kill_on_drop`](Self::kill_on_drop) says.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let status = nezumi::process::Command::new("sh").args(["-c", "exit 3"]).status().await?;
    /// assert_eq!(status.code(), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            // A process that writes to a pipe nobody reads must not wait for us, while we wait for it.
            (child.stdin, child.stdout, child.stderr) = (None, None, None);
            child.wait().await
        }
    }

    /// Runs the process to its end, and returns how it ended and all that it wrote. It is started at once, whether the future is
    /// polled or not. Its standard output and error become pipes, whatever was set before; a standard input that is a pipe is closed
    /// at once.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Self::spawn), and of [`Child::wait_with_output`]. They come by way of the future.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    ///
    /// # Cancel safety
    ///
    /// The future holds the child: dropping it leaves the process running, or kills it, as [`kill_on_drop`](Self::kill_on_drop) says.
    /// What was read of its output is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[nezumi::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let output = nezumi::process::Command::new("sh").args(["-c", "echo out; echo err >&2"]).output().await?;
    /// assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped());
        self.std.stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }

    #[track_caller]
    fn start(&mut self, spawn: impl FnOnce(&mut StdCommand) -> io::Result<StdChild>) -> io::Result<Child> {
        let runtime = Handle::current();
        // Panics where there is none: now, and not when there is a process already.
        let _driver = runtime.io();
        super::imp::before_spawn();
        let mut std = spawn(&mut self.std)?;
        let (stdin, stdout, stderr) = (std.stdin.take(), std.stdout.take(), std.stderr.take());
        // Until all is well, whoever leaves here kills it.
        let mut process = Process::new(std, runtime, true);
        let stdin = stdin.map(ChildStdin::from_std).transpose()?;
        let stdout = stdout.map(ChildStdout::from_std).transpose()?;
        let stderr = stderr.map(ChildStderr::from_std).transpose()?;
        process.kill_on_drop = self.kill_on_drop;
        Ok(Child::new(process, stdin, stdout, stderr))
    }
}

impl From<StdCommand> for Command {
    fn from(std: StdCommand) -> Command {
        Command { std, kill_on_drop: false }
    }
}
