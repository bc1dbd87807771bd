//! Who listens to which signal, in this process.
//!
//! Called by `unix` (to listen), by the signal handler (to tell) and by the driver of whatever runtime wakes up first (to pass it on).
//!
//! A handler may do next to nothing. Ours sets a flag for its signal and writes a byte into a pipe. The other end of the pipe is registered
//! with the driver of every runtime that listens; whoever is woken empties it, and tells the listeners of each signal whose flag is set,
//! in all runtimes.
//!
//! Promise: a signal that comes after `listen` has returned is told to the listener; several that come before it looks are told once,
//! as the OS does. The handler allocates nothing, takes no lock, and leaves `errno` alone. A child made by `fork` gets a registry of its
//! own at its first use, and so never takes what was written for its parent.
//!
//! ```text
//! handler                           driver
//! H1 set the flag                   D1 empty the pipe
//! H2 write to the pipe              D2 take the flags, tell
//! ```
//!
//! H1 before H2 and D1 before D2: a byte that D1 took was written after its flag was set, so D2 sees that. A pipe that is full holds a
//! byte that D1 has not taken yet.
//!
//! Tests: `tests/signal.rs`.

use super::line::{Line, Listener};
use mio::unix::SourceFd;
use nezumi_core::runtime::Handle;
use nezumi_prim::sync::Mutex;
use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Signals have numbers below this on every platform there is.
const SIGNALS: usize = 128;

/// The registry of one process.
struct Registry {
    process: u32,
    writer: UnixStream,
    reader: UnixStream,
    wires: [Wire; SIGNALS],
    handled: Mutex<HashSet<libc::c_int>>,
}

/// One signal, as the handler knows it.
struct Wire {
    /// Came, and not told yet.
    flag: AtomicBool,
    line: Line,
}

/// What the handlers of this process write to.
static CURRENT: AtomicPtr<Registry> = AtomicPtr::new(ptr::null_mut());
static MAKING: Mutex<()> = Mutex::new(());

/// The registry of this process, made at its first use. It stays for ever: handlers cannot be told to let it go.
fn registry() -> io::Result<&'static Registry> {
    // SAFETY: what is stored in `CURRENT` is leaked.
    let now =
        || unsafe { CURRENT.load(Ordering::Acquire).as_ref() }.filter(|it| it.process == std::process::id());
    if let Some(registry) = now() {
        return Ok(registry);
    }
    let _making = MAKING.lock();
    if let Some(registry) = now() {
        return Ok(registry);
    }
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    writer.set_nonblocking(true)?;
    let registry = Box::leak(Box::new(Registry {
        process: std::process::id(),
        writer,
        reader,
        wires: [const { Wire { flag: AtomicBool::new(false), line: Line::new() } }; SIGNALS],
        handled: Mutex::new(HashSet::new()),
    }));
    // A child of `fork` has inherited the handlers of its parent, which tell by way of this pointer.
    CURRENT.store(registry, Ordering::Release);
    Ok(registry)
}

/// Runs in the signal handler.
fn handle(signal: libc::c_int) {
    // SAFETY: what is stored in `CURRENT` is leaked.
    if let Some(registry) = unsafe { CURRENT.load(Ordering::Acquire).as_ref() } {
        registry.wires[signal as usize].flag.store(true, Ordering::SeqCst);
        // A full pipe wakes its reader as well. `write` is async-signal-safe.
        keep_errno(|| drop((&registry.writer).write(&[1])));
    }
}

/// Runs `f` and restores `errno` after, for the code that the signal interrupted.
pub(crate) fn keep_errno(f: impl FnOnce()) {
    #[cfg(any(target_os = "illumos", target_os = "solaris"))]
    use libc::___errno as place;
    #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
    use libc::__errno as place;
    #[cfg(any(target_os = "linux", target_os = "emscripten"))]
    use libc::__errno_location as place;
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    use libc::__error as place;

    // SAFETY: the place is this thread's own, and always there.
    let errno = unsafe { *place() };
    f();
    // SAFETY: as above.
    unsafe { *place() = errno };
}

impl Registry {
    /// Installs the handler of a signal, once.
    fn handle(&self, signal: libc::c_int) -> io::Result<()> {
        let mut handled = self.handled.lock();
        if handled.contains(&signal) {
            return Ok(());
        }
        // SAFETY: the action touches atomics and a descriptor, allocates nothing and takes no lock.
        unsafe { signal_hook_registry::register(signal, move || handle(signal)) }?;
        handled.insert(signal);
        Ok(())
    }

    /// Tells the listeners of every signal that came. Called by a driver, under no lock.
    fn pass_on(&self) {
        let mut bytes = [0; 128];
        while matches!((&self.reader).read(&mut bytes), Ok(count) if count > 0) {}
        for wire in &self.wires {
            if wire.flag.load(Ordering::Relaxed) && wire.flag.swap(false, Ordering::SeqCst) {
                wire.line.tell();
            }
        }
    }
}

/// The number of the last signal that there is.
fn largest() -> libc::c_int {
    let wires = SIGNALS as libc::c_int - 1;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return libc::SIGRTMAX().min(wires);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    wires
}

impl Listener {
    /// Listens to `signal`, by way of the driver of `runtime`.
    pub(crate) fn new(signal: libc::c_int, runtime: &Handle) -> io::Result<Self> {
        let refuses =
            |why: &str| Err(io::Error::other(format!("Refusing to register signal {signal}: {why}")));
        if signal <= 0 {
            return refuses("there is no such signal");
        }
        if signal > largest() {
            return Err(io::Error::other(format!("signal too large: there is no signal {signal}")));
        }
        if signal_hook_registry::FORBIDDEN.contains(&signal) {
            return refuses("it cannot be handled, or not without danger");
        }
        let registry = registry()?;
        attach_once(registry, runtime)?;
        registry.handle(signal)?;
        Ok(registry.wires[signal as usize].line.listen())
    }

    /// Listens by way of the driver of `runtime`, too: the former one may be gone, or nobody may drive it.
    pub(crate) fn also_by(&self, runtime: &Handle) -> io::Result<()> {
        attach_once(registry()?, runtime)
    }
}

/// The reading end, as one more runtime sees it: a descriptor of its own for the same pipe.
struct Reader(UnixStream);

impl mio::event::Source for Reader {
    fn register(
        &mut self,
        registry: &mio::Registry,
        token: mio::Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        let fd: RawFd = self.0.as_raw_fd();
        SourceFd(&fd).register(registry, token, interests)
    }

    fn reregister(
        &mut self,
        registry: &mio::Registry,
        token: mio::Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        let fd: RawFd = self.0.as_raw_fd();
        SourceFd(&fd).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &mio::Registry) -> io::Result<()> {
        let fd: RawFd = self.0.as_raw_fd();
        SourceFd(&fd).deregister(registry)
    }
}

/// Has the driver of `runtime` pass on what comes.
fn attach_once(registry: &'static Registry, runtime: &Handle) -> io::Result<()> {
    runtime.once_per_runtime(|| {
        let reader = Reader(registry.reader.try_clone()?);
        runtime.io().add_hook(Box::new(reader), Arc::new(move || registry.pass_on()))
    })
}
