//! The end of a process, on Unix.
//!
//! Called by `child`. A process that has ended stays in the kernel's table, as a zombie, until its parent has asked how it ended: it is
//! *reaped* then. That is done by the standard library's `Child`, which knows from then on not to use the number again.
//!
//! How we learn of the end: Linux has a descriptor for a process (`pidfd`), which the driver waits for like any other. Where there is
//! none we listen to `SIGCHLD`, and ask after each whether it was about ours. The first wait registers for either, with the runtime it
//! is called in: a child may be waited for in another runtime than the one that it was started in.
//!
//! A descriptor can become readable while there is nothing to reap: the process has ended, but another process, which traces it, is to be
//! told first. When that lets go our turn comes, and all that is certain then is the `SIGCHLD`. So such a child is waited for by the
//! signal from there on.
//!
//! A child that nobody waits for any more goes to `orphans`.

mod nurse;
mod orphans;
mod pidfd;
mod pipe;

pub(super) use orphans::look_again as before_spawn;
pub(super) use pipe::{Receiver, Sender};

use crate::signal::line::Listener;
use nezumi_core::runtime::{Handle, is_rt_shutdown_err};
use nezumi_wake::coop;
use orphans::Orphan;
use pidfd::Pidfd;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Child as StdChild, ExitStatus};
use std::task::{Context, Poll, ready};

/// A process that was not seen to end.
pub(super) struct Process {
    /// There until the drop.
    child: Option<StdChild>,
    watch: Watch,
    /// The one that it was started in.
    runtime: Handle,
    pub(super) kill_on_drop: bool,
}

/// How its end is learned of.
enum Watch {
    Descriptor(Pidfd),
    /// There is a listener from the first wait on.
    Signal(Option<Listener>),
}

const THERE: &str = "the child is there until the drop";

impl Process {
    pub(super) fn new(child: StdChild, runtime: Handle, kill_on_drop: bool) -> Self {
        let pidfd = if is_ours(child.id()).is_ok() { Pidfd::open(child.id()) } else { None };
        let watch = pidfd.map_or(Watch::Signal(None), Watch::Descriptor);
        Self { child: Some(child), watch, runtime, kill_on_drop }
    }

    /// How it ended, if it was waited for before it came to us.
    pub(super) fn known_end(&mut self) -> Option<ExitStatus> {
        let reaped = matches!(self.watch, Watch::Signal(_)) && is_ours(self.id()).is_err();
        if reaped { self.try_wait().ok().flatten() } else { None }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.as_ref().expect(THERE).id()
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.as_mut().expect(THERE).try_wait()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        if let Watch::Descriptor(pidfd) = &self.watch {
            return pidfd.signal(libc::SIGKILL);
        }
        is_ours(self.id())?;
        self.child.as_mut().expect(THERE).kill()
    }

    /// Waits for the end. Of the tasks that call this only the last is woken.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        loop {
            let Watch::Descriptor(pidfd) = &mut self.watch else { return self.poll_signal(cx) };
            let Some(registration) = pidfd.registration() else {
                let coop = ready!(coop::poll_proceed(cx));
                if let Some(status) = self.try_wait()? {
                    coop.made_progress();
                    return Poll::Ready(Ok(status));
                }
                self.register()?;
                continue;
            };
            match ready!(registration.poll_read_ready(cx)) {
                Ok(_) => {}
                Err(error) if is_rt_shutdown_err(&error) => {
                    // Perhaps there is another one to wait in; if not, registering fails with the same error.
                    pidfd.deregister();
                    continue;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
            if let Some(status) = self.try_wait()? {
                return Poll::Ready(Ok(status));
            }
            // It is being traced; see the module's header.
            self.watch = Watch::Signal(None);
        }
    }

    fn poll_signal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let coop = ready!(coop::poll_proceed(cx));
        self.register()?;
        loop {
            // Listen first, look then: an end in between is told of.
            let told = match &mut self.watch {
                Watch::Signal(Some(listener)) => listener.poll_heard(cx).is_ready(),
                _ => unreachable!("there is a listener from the first wait on"),
            };
            if let Some(status) = self.try_wait()? {
                coop.made_progress();
                return Poll::Ready(Ok(status));
            }
            if !told {
                return Poll::Pending;
            }
        }
    }

    /// Has the runtime that we are called in wait; or the one that the process was started in. A listener to the signal serves in any
    /// runtime, if that one passes signals on.
    fn register(&mut self) -> io::Result<()> {
        let here = Handle::try_current().ok().filter(Handle::has_io);
        let runtime = here.as_ref().unwrap_or(&self.runtime);
        match &mut self.watch {
            Watch::Descriptor(pidfd) => pidfd.register(runtime.clone()),
            Watch::Signal(Some(listener)) => listener.also_by(runtime),
            Watch::Signal(listener) => {
                *listener = Some(Listener::new(libc::SIGCHLD, runtime)?);
                Ok(())
            }
        }
    }
}

/// Whether `pid` is that of a child of ours, running or a zombie. If it is not it may be anybody's: the child was reaped, by somebody else
/// or by a kernel that was told to.
fn is_ours(pid: u32) -> io::Result<()> {
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    // SAFETY: `info` has room for what the call writes. It takes nothing: a zombie stays one.
    match unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, info.as_mut_ptr(), how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it is not ours to reap.
        if !matches!(self.try_wait(), Ok(None)) {
            return;
        }
        if self.kill_on_drop {
            let _ = self.kill();
        }
        let child = self.child.take().expect(THERE);
        let pidfd = match std::mem::replace(&mut self.watch, Watch::Signal(None)) {
            Watch::Descriptor(pidfd) => Some(pidfd.into_fd()),
            Watch::Signal(_) => None,
        };
        orphans::take_in(Orphan { child, pidfd });
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("pid", &self.id())
            .field("kill_on_drop", &self.kill_on_drop)
            .finish_non_exhaustive()
    }
}
