//! Has another thread copy its registers and its stack.
//!
//! Called by `native`, on a thread that may wait. There is one place for the copy, and whoever wants one waits for his turn.
//!
//! ```text
//!          who asks                  the handler, on the thread      who asks
//! FREE ────────────────▶ WANTED ──────────────────────▶ WRITING ────────────▶ DONE ─────▶ FREE
//!                           │ who asks, when the time is over
//!                           └────────────────────────────────────────────────────────────▶ FREE
//! ```
//!
//! The word also holds a ticket, a new one each time, so that a handler which was held up cannot take a later request for its own. A signal that comes late (the thread had blocked it) or from somebody else
//! finds nothing wanted of its thread, and does nothing. A handler that is held up while it writes keeps the place: then there are no copies until it is done.
//!
//! The handler uses: atomics; `gettid`, `getpid`, `process_vm_readv`; the errno of its thread, which it puts back. No thread-local of ours, no
//! allocation, no lock.
//!
//! Tests: below, and `tests/it/stuck.rs`.

use std::cell::UnsafeCell;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much of a stack is copied at most: the innermost part.
const STACK_BYTES: usize = 64 * 1024;
/// What may be mapped, or not, by itself. No system has smaller pages.
const PAGE: usize = 4096;
/// As many pieces are read.
const PIECES: usize = STACK_BYTES / PAGE + 1;
/// Between two looks whether the copy is there.
const LOOK_EVERY: Duration = Duration::from_micros(50);
/// How long is waited for a handler that has begun, beyond the time that was given to it.
const WRITES_WITHIN: Duration = Duration::from_millis(20);

const FREE: u64 = 0;
const WANTED: u64 = 1;
const WRITING: u64 = 2;
const DONE: u64 = 3;
const PHASES: u64 = 4;

/// The registers that unwinding may need, in the order of their DWARF numbers; last the program counter.
#[cfg(target_arch = "x86_64")]
pub(super) const REGISTERS: usize = 17;
#[cfg(target_arch = "aarch64")]
pub(super) const REGISTERS: usize = 33;

/// What a thread was at.
pub(super) struct Sample {
    pub(super) registers: [u64; REGISTERS],
    /// Where the copied part of the stack begins.
    pub(super) stack_at: usize,
    pub(super) stack: Box<[u8]>,
}

/// The place for the copy.
struct Place {
    /// A ticket and a phase.
    state: AtomicU64,
    thread: AtomicI32,
    /// The end of what is wanted of the stack.
    until: AtomicUsize,
    copy: UnsafeCell<Copy>,
}

struct Copy {
    registers: [u64; REGISTERS],
    len: usize,
    stack: [u8; STACK_BYTES],
}

// SAFETY: `copy` is the handler's from `WANTED` to `DONE`, and then that of who asked, of whom there is one at a time.
unsafe impl Sync for Place {}

static PLACE: Place = Place {
    state: AtomicU64::new(FREE),
    thread: AtomicI32::new(0),
    until: AtomicUsize::new(0),
    copy: UnsafeCell::new(Copy { registers: [0; REGISTERS], len: 0, stack: [0; STACK_BYTES] }),
};

/// Held by who asks.
static ASKING: Mutex<()> = Mutex::new(());

/// Installs the handler, for good.
pub(super) fn install(signal: i32) -> io::Result<()> {
    if signal < libc::SIGRTMIN() || signal > libc::SIGRTMAX() {
        let message =
            format!("signal {signal} is no realtime signal, which are those from SIGRTMIN to SIGRTMAX");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let _one_at_a_time = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let handler = handle as extern "C" fn(_, _, _) as usize;
    // SAFETY: both actions are plain structures of ours, of which all that is read is set; and the handler does only what a handler may.
    unsafe {
        let mut former: libc::sigaction = std::mem::zeroed();
        check(libc::sigaction(signal, ptr::null(), &raw mut former))?;
        if former.sa_sigaction == handler {
            return Ok(());
        }
        if former.sa_sigaction != libc::SIG_DFL {
            let message = format!(
                "signal {signal} is handled by the program already: name another one for backtraces of stuck tasks"
            );
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        check(libc::sigaction(signal, &raw const action, ptr::null_mut()))
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks a thread of this process for its registers and its stack up to the address `until`. `None` if it does not answer in time.
pub(super) fn take(signal: i32, thread: i32, until: usize, within: Duration) -> Option<Sample> {
    let _one_at_a_time = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = PLACE.state.load(Ordering::Acquire);
    if before % PHASES == WRITING {
        return None;
    }
    let ticket = (before / PHASES + 1) * PHASES;
    PLACE.thread.store(thread, Ordering::Relaxed);
    PLACE.until.store(until, Ordering::Relaxed);
    // Release: pairs with the Acquire in `handle`.
    PLACE.state.store(ticket + WANTED, Ordering::Release);
    // SAFETY: the call takes numbers. A thread that has ended is an error; and one that has its number since is not the worker, or finds that out.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) } == 0;
    if !sent || !is_done(ticket, within) {
        // Nothing is wanted any more, unless the handler has begun.
        let _ =
            PLACE.state.compare_exchange(ticket + WANTED, ticket + FREE, Ordering::AcqRel, Ordering::Relaxed);
        return None;
    }
    // SAFETY: `DONE`, seen with Acquire, and nobody else asks: the copy is ours until the next request.
    let copy = unsafe { &*PLACE.copy.get() };
    let sample = Sample {
        registers: copy.registers,
        stack_at: stack_pointer(&copy.registers) as usize,
        stack: copy.stack[..copy.len].into(),
    };
    PLACE.state.store(ticket + FREE, Ordering::Release);
    Some(sample)
}

fn is_done(ticket: u64, within: Duration) -> bool {
    let began = Instant::now();
    loop {
        // Acquire: pairs with the Release in `handle`.
        let state = PLACE.state.load(Ordering::Acquire);
        if state == ticket + DONE {
            return true;
        }
        let time = if state == ticket + WRITING { within + WRITES_WITHIN } else { within };
        if began.elapsed() >= time {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The handler.
extern "C" fn handle(_signal: libc::c_int, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // Acquire: pairs with the Release in `take`.
    let state = PLACE.state.load(Ordering::Acquire);
    // SAFETY: the call has no conditions.
    if state % PHASES != WANTED || PLACE.thread.load(Ordering::Relaxed) != unsafe { libc::gettid() } {
        return;
    }
    let writing = state - WANTED + WRITING;
    if PLACE.state.compare_exchange(state, writing, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    // SAFETY: `WRITING` is ours, and with it the copy. The kernel gave us the context, and errno is this thread's.
    unsafe {
        let copy = &mut *PLACE.copy.get();
        let errno = libc::__errno_location();
        let former = *errno;
        copy.registers = registers(&*context.cast::<libc::ucontext_t>());
        copy.len = copy_stack(
            stack_pointer(&copy.registers) as usize,
            PLACE.until.load(Ordering::Relaxed),
            &mut copy.stack,
        );
        *errno = former;
    }
    // Release: pairs with the Acquire in `is_done`.
    PLACE.state.store(writing - WRITING + DONE, Ordering::Release);
}

/// Copies what is mapped between two addresses, from the lower one on. How many bytes.
fn copy_stack(from: usize, until: usize, to: &mut [u8; STACK_BYTES]) -> usize {
    let wanted = until.checked_sub(from).unwrap_or(STACK_BYTES).min(STACK_BYTES);
    // Piece by piece: the call leaves out a piece with an address that is not mapped, and what follows it.
    let mut pieces = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; PIECES];
    let (mut used, mut at, end) = (0, from, from.saturating_add(wanted));
    while at < end && used < PIECES {
        let piece_end = (at | (PAGE - 1)).saturating_add(1).min(end);
        pieces[used] = libc::iovec { iov_base: ptr::without_provenance_mut(at), iov_len: piece_end - at };
        (used, at) = (used + 1, piece_end);
    }
    let whole = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: at - from };
    // SAFETY: what is written to is `to`, and large enough; what is read is checked by the kernel. The call is but that.
    let copied = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const whole, 1, pieces.as_ptr(), used as libc::c_ulong, 0)
    };
    usize::try_from(copied).unwrap_or(0)
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> [u64; REGISTERS] {
    use libc::{
        REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RBP, REG_RBX,
        REG_RCX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP,
    };
    let all = &context.uc_mcontext.gregs;
    [
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10,
        REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
    ]
    .map(|register| all[register as usize] as u64)
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> [u64; REGISTERS] {
    let machine = &context.uc_mcontext;
    let mut all = [0; REGISTERS];
    all[..31].copy_from_slice(&machine.regs);
    (all[31], all[32]) = (machine.sp, machine.pc);
    all
}

fn stack_pointer(registers: &[u64; REGISTERS]) -> u64 {
    registers[super::unwind::STACK_POINTER]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn a_copy_of_the_stack_holds_what_is_on_it_and_ends_where_it_is_told() {
        let mark = black_box([0x5eed_5eed_5eed_5eedu64; 4]);
        let at = mark.as_ptr().addr();
        let mut to = Box::new([0; STACK_BYTES]);
        assert_eq!(copy_stack(at, at + 32, &mut to), 32);
        assert!(to[..32].chunks(8).all(|bytes| bytes == mark[0].to_ne_bytes()));
    }

    #[test]
    fn what_is_not_mapped_ends_the_copy_and_nothing_else() {
        let mut to = Box::new([0; STACK_BYTES]);
        assert_eq!(copy_stack(8, 64, &mut to), 0);
        assert_eq!(copy_stack(usize::MAX - 7, 0, &mut to), 0);
        // SAFETY: a mapping of our own, whose second half is taken away again.
        unsafe {
            let len = 2 * 65536;
            let map = libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(map, libc::MAP_FAILED);
            libc::munmap(map.byte_add(65536), 65536);
            assert_eq!(copy_stack(map.addr() + 65536 - 100, usize::MAX, &mut to), 100);
            libc::munmap(map, 65536);
        }
    }

    #[test]
    fn signals_that_are_not_ours_are_refused() {
        assert_eq!(install(libc::SIGTERM).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let signal = libc::SIGRTMIN() + 3;
        // SAFETY: nobody else uses this one in this process; to ignore it is an action as any.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
        assert_eq!(install(signal).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let signal = libc::SIGRTMIN() + 4;
        install(signal).unwrap();
        install(signal).unwrap();
    }
}
