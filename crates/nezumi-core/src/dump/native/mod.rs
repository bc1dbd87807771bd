//! The stack of a thread that does not come back from a poll.
//!
//! Called by `make` and by the watch, each on a thread where it may wait. `sample` has the thread copy its registers and its stack, in the handler of a
//! signal; `unwind` makes frames of the copy. On Linux, x86-64 and AArch64, with the feature `taskdump`; elsewhere there is no stack.
//!
//! # Why a copy
//!
//! A handler may only do what cannot wait for what it interrupted. To walk a stack is not of that kind: the unwinder looks tables up under
//! locks of the dynamic loader and of its own, allocates in some versions, and the thread may have been interrupted in exactly these. So the handler does not walk. It makes two
//! system calls and copies numbers: `process_vm_readv`, of its own process, reads the stack from the stack pointer on, as far as it is
//! mapped, up to the frame in which the worker's loop runs or to 64 KiB, into memory that was set aside. That call reports a bad address
//! instead of faulting, so that a stack pointer that is none (a program may have stacks of its own) does no harm. Everything else is done here, on the copy, in no hurry.
//!
//! # Why it is off by default
//!
//! A signal's number belongs to the whole process, and its handler interrupts system calls of the thread. Neither is a library's to take unasked. A program that
//! asks for it (`Builder::stuck_backtraces`) has its handler installed with `SA_RESTART` once, for good: a late signal must always find one. What still sees `EINTR` then, in the stuck thread only, and
//! as a rule once for each report: `nanosleep` and relatives, `poll`, `select`, `epoll_wait`, `sigtimedwait`, `pause`, `semtimedop`, `msgrcv` and `msgsnd`,
//! `io_getevents`, and reads and writes of sockets that have a time limit (`SO_RCVTIMEO`, `SO_SNDTIMEO`). The standard library begins all of
//! these again that it uses. Reads, writes, `accept`, `connect`, `wait`, `flock` and futexes without a time limit are begun again by the kernel.
//!
//! Which signal: a realtime signal from the middle of their range, `SIGRTMAX - 4`. The lowest are taken by C libraries and by .NET, the highest by Valgrind; the
//! ones below have meanings. A program that uses this one names another.

#[cfg(all(
    feature = "taskdump",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, nezumi_loom, nezumi_shuttle))
))]
mod sample;
#[cfg(all(
    feature = "taskdump",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, nezumi_loom, nezumi_shuttle))
))]
mod unwind;

#[cfg(all(
    feature = "taskdump",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, nezumi_loom, nezumi_shuttle))
))]
mod there {
    use super::super::trace::{Stack, Trace};
    use super::{sample, unwind};
    use crate::scheduler::Polling;
    use std::io;
    use std::time::Duration;

    /// The signal, where the program names none.
    pub(crate) fn default_signal() -> i32 {
        libc::SIGRTMAX() - 4
    }

    /// Makes ready for asking threads by this signal.
    ///
    /// # Errors
    ///
    /// When it is no realtime signal, or has another handler.
    pub(crate) fn install(signal: i32) -> io::Result<()> {
        sample::install(signal)
    }

    /// The stack of the thread that is the worker, if it is in the poll with this number, answers within this time, and is then still in that poll.
    pub(crate) fn stack_of(signal: i32, polling: &Polling, begun: u64, within: Duration) -> Option<Trace> {
        let (thread, outermost) = polling.stack()?;
        let sample = sample::take(signal, thread, outermost.addr(), within)?;
        if polling.begun() != begun || !polling.is_driven() {
            return None;
        }
        let frames = unwind::frames(&sample, outermost.addr());
        Some(Trace { stacks: vec![Stack { frames: frames.into(), is_rooted: false }] })
    }
}

#[cfg(not(all(
    feature = "taskdump",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(miri, nezumi_loom, nezumi_shuttle))
)))]
mod there {
    use super::super::trace::Trace;
    use crate::scheduler::Polling;
    use std::io;
    use std::time::Duration;

    /// There is none.
    pub(crate) fn default_signal() -> i32 {
        0
    }

    /// Nothing to be done.
    pub(crate) fn install(_signal: i32) -> io::Result<()> {
        Ok(())
    }

    /// There is none to be had.
    pub(crate) fn stack_of(
        _signal: i32,
        _polling: &Polling,
        _begun: u64,
        _within: Duration,
    ) -> Option<Trace> {
        None
    }
}

pub(crate) use there::{default_signal, install, stack_of};
