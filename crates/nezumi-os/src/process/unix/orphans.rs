//! Children that nobody waits for any more.
//!
//! Called by the drop of a `Process` that still runs, and before each start of another. One list for this process, and one thread, the
//! `nurse`, which is there while there are orphans. No runtime is asked: the one that started the child may be gone, or may not be driven
//! for hours, and a zombie is a zombie for as long. A thread asleep in the kernel costs less than a table of processes that fills up.
//!
//! Promise: an orphan is reaped when it ends. Where the OS refuses the thread, it is when the next child is started.
//!
//! `waiting` and `nurse` are under one lock: the nurse leaves only while nobody waits, and whoever adds to those who wait finds the nurse
//! to ring for, or none and starts one.
//!
//! Tests: `tests/process/orphans.rs`.

use super::nurse::Nurse;
use nezumi_prim::sync::Mutex;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::ptr;

/// A child that runs, and is not waited for.
pub(super) struct Orphan {
    pub(super) child: Child,
    pub(super) pidfd: Option<OwnedFd>,
}

impl Orphan {
    /// Whether it still runs. If it does not, it is reaped now, or was not ours to reap.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

struct Home {
    /// Whose children these are: a child made by `fork` inherits the list, but not the children.
    process: u32,
    /// Those whom the nurse does not know yet.
    waiting: Vec<Orphan>,
    /// How to ring for her.
    nurse: Option<mio::Waker>,
}

static HOME: Mutex<Home> = Mutex::new(Home { process: 0, waiting: Vec::new(), nurse: None });

/// Takes a child in.
pub(super) fn take_in(orphan: Orphan) {
    if kernel_reaps() {
        return;
    }
    let mut home = HOME.lock();
    let this = std::process::id();
    if home.process != this {
        *home = Home { process: this, waiting: Vec::new(), nurse: None };
    }
    home.waiting.push(orphan);
    home.call_nurse();
}

/// Sees to those whom no nurse has come for. To be called now and then.
pub(in super::super) fn look_again() {
    let mut home = HOME.lock();
    if home.nurse.is_none() && !home.waiting.is_empty() {
        home.waiting.retain_mut(Orphan::runs);
        if !home.waiting.is_empty() {
            home.call_nurse();
        }
    }
}

/// For the nurse: who is new.
pub(super) fn newcomers() -> Vec<Orphan> {
    std::mem::take(&mut HOME.lock().waiting)
}

/// For the nurse, when she has nothing to do: whether she may leave.
pub(super) fn may_leave() -> bool {
    let mut home = HOME.lock();
    let leaves = home.waiting.is_empty();
    if leaves {
        home.nurse = None;
    }
    leaves
}

impl Home {
    fn call_nurse(&mut self) {
        match &self.nurse {
            // That fails only if there are more rings than fit a counter of the kernel's; she has one to answer then.
            Some(bell) => drop(bell.wake()),
            // Without her, those who wait are looked at when the next child is started.
            None => self.nurse = Nurse::start().ok(),
        }
    }
}

/// Whether the program has `SIGCHLD` ignored, or has said `SA_NOCLDWAIT`: nothing becomes a zombie then.
fn kernel_reaps() -> bool {
    // SAFETY: a structure of numbers and pointers; zero is a value of each.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks, sets nothing, and writes to `action`.
    let asked = unsafe { libc::sigaction(libc::SIGCHLD, ptr::null(), &mut action) };
    asked == 0 && (action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0)
}
