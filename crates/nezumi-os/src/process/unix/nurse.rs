//! The thread that waits for orphans.
//!
//! Started by `orphans` when there is one, gone soon after the last. It has a selector of its own, in which each orphan's descriptor is
//! registered; for those without one it listens to `SIGCHLD`, by a handler of its own that writes into a pipe. It sleeps until one of them
//! ends, or another comes.
//!
//! Promise: it blocks all signals but `SIGCHLD`, so that it takes none that a thread of the program's was to have.

use super::orphans::{self, Orphan};
use crate::signal::registry::keep_errno;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use signal_hook_registry::SigId;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Somebody rang: there are newcomers. Every other token but one is the number of a process.
const NEWCOMERS: Token = Token(usize::MAX);
/// `SIGCHLD` came.
const SIGNAL: Token = Token(usize::MAX - 1);

/// How long she stays with nobody to look after: where children are killed one after the other, she need not come for each.
const STAYS: Duration = Duration::from_millis(200);

pub(super) struct Nurse {
    poll: Poll,
    /// By number of the process.
    by_descriptor: HashMap<usize, Orphan>,
    by_signal: Vec<Orphan>,
    signal: Option<Signal>,
}

impl Nurse {
    /// Starts the thread. What is returned rings for it.
    pub(super) fn start() -> io::Result<Waker> {
        let poll = Poll::new()?;
        let bell = Waker::new(poll.registry(), NEWCOMERS)?;
        let nurse = Nurse { poll, by_descriptor: HashMap::new(), by_signal: Vec::new(), signal: None };
        std::thread::Builder::new()
            .name("nezumi-orphans".to_owned())
            .stack_size(128 << 10)
            .spawn(move || nurse.run())?;
        Ok(bell)
    }

    fn run(mut self) {
        block_signals();
        let mut events = Events::with_capacity(64);
        loop {
            for orphan in orphans::newcomers() {
                self.admit(orphan);
            }
            let idle = self.by_descriptor.is_empty() && self.by_signal.is_empty();
            if let Err(error) = self.poll.poll(&mut events, self.patience()) {
                assert!(error.kind() == io::ErrorKind::Interrupted, "a selector failed: {error}");
                continue;
            }
            if idle && events.is_empty() && orphans::may_leave() {
                return;
            }
            let mut look = self.signal.is_none();
            for event in &events {
                match event.token() {
                    NEWCOMERS => {}
                    SIGNAL => look = true,
                    Token(pid) => self.ended(pid),
                }
            }
            if look {
                self.look();
            }
        }
    }

    /// How long she may sleep.
    fn patience(&self) -> Option<Duration> {
        let idle = self.by_descriptor.is_empty() && self.by_signal.is_empty();
        let deaf = !self.by_signal.is_empty() && self.signal.is_none();
        (idle || deaf).then_some(STAYS)
    }

    fn admit(&mut self, orphan: Orphan) {
        let pid = orphan.child.id() as usize;
        let registered = orphan.pidfd.as_ref().is_some_and(|fd| {
            self.poll
                .registry()
                .register(&mut SourceFd(&fd.as_raw_fd()), Token(pid), Interest::READABLE)
                .is_ok()
        });
        if registered {
            self.by_descriptor.insert(pid, orphan);
        } else {
            self.admit_by_signal(orphan);
        }
    }

    fn admit_by_signal(&mut self, mut orphan: Orphan) {
        if self.signal.is_none() {
            // Without it she looks every now and then.
            self.signal = Signal::listen(&self.poll).ok();
        }
        // Listen first, look then: an end in between is told of.
        if orphan.runs() {
            self.by_signal.push(orphan);
        }
    }

    /// The descriptor of `pid` says that it has ended.
    fn ended(&mut self, pid: usize) {
        let Some(mut orphan) = self.by_descriptor.remove(&pid) else { return };
        if let Some(fd) = &orphan.pidfd {
            let _ = self.poll.registry().deregister(&mut SourceFd(&fd.as_raw_fd()));
        }
        if orphan.runs() {
            // It is being traced: see `unix`.
            self.admit_by_signal(orphan);
        }
    }

    /// Sees who of those without a descriptor has ended.
    fn look(&mut self) {
        if let Some(signal) = &mut self.signal {
            signal.drain();
        }
        self.by_signal.retain_mut(Orphan::runs);
    }
}

/// The pipe that a handler of `SIGCHLD` writes into.
struct Signal {
    reader: UnixStream,
    handler: SigId,
}

impl Signal {
    fn listen(poll: &Poll) -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        poll.registry().register(&mut SourceFd(&reader.as_raw_fd()), SIGNAL, Interest::READABLE)?;
        let tell = move || keep_errno(|| drop((&writer).write(&[1])));
        // SAFETY: the action writes to a descriptor that it owns, which is async-signal-safe, and leaves `errno` alone.
        let handler = unsafe { signal_hook_registry::register(libc::SIGCHLD, tell) }?;
        Ok(Self { reader, handler })
    }

    fn drain(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.reader.read(&mut bytes), Ok(count) if count > 0) {}
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        signal_hook_registry::unregister(self.handler);
    }
}

/// Leaves all signals but `SIGCHLD` to the other threads.
fn block_signals() {
    // SAFETY: a set of numbers; zero is a value of it, and `sigfillset` writes all of it.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes to the set that it is given.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: as above.
    unsafe { libc::sigdelset(&mut all, libc::SIGCHLD) };
    // SAFETY: reads the set; where the former one would go is null. It concerns this thread only.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut()) };
}
