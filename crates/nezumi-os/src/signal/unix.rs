//! Signals of Unix.

use super::line::Listener;
use nezumi_core::runtime::Handle;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

/// Which signal.
///
/// # Examples
///
/// ```
/// use nezumi::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::terminate().as_raw_value(), 15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalKind(libc::c_int);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:ident;)*) => {
        impl SignalKind {
            $(
                $(#[$doc])*
                #[must_use]
                pub const fn $name() -> Self {
                    Self(libc::$number)
                }
            )*
        }
    };
}

kinds! {
    /// `SIGALRM`: a timer of the process ran out. By default it ends the process.
    alarm = SIGALRM;
    /// `SIGCHLD`: a child ended or stopped. By default it is ignored.
    child = SIGCHLD;
    /// `SIGHUP`: the terminal is gone; to many daemons: read the configuration again. By default it ends the process.
    hangup = SIGHUP;
    /// `SIGINT`: Ctrl-C. By default it ends the process.
    interrupt = SIGINT;
    /// `SIGIO`: a descriptor is ready. By default it is ignored, or ends the process.
    io = SIGIO;
    /// `SIGPIPE`: written to a pipe that nobody reads. Rust programs ignore it.
    pipe = SIGPIPE;
    /// `SIGQUIT`: Ctrl-\. By default it ends the process with a core dump.
    quit = SIGQUIT;
    /// `SIGTERM`: please end. By default it ends the process.
    terminate = SIGTERM;
    /// `SIGUSR1`: what the program makes of it. By default it ends the process.
    user_defined1 = SIGUSR1;
    /// `SIGUSR2`: what the program makes of it. By default it ends the process.
    user_defined2 = SIGUSR2;
    /// `SIGWINCH`: the terminal has another size. By default it is ignored.
    window_change = SIGWINCH;
}

impl SignalKind {
    /// A signal by its number, such as a real-time signal.
    #[must_use]
    pub const fn from_raw(signum: std::ffi::c_int) -> Self {
        Self(signum)
    }

    /// The number of the signal.
    #[must_use]
    pub const fn as_raw_value(&self) -> std::ffi::c_int {
        self.0
    }
}

impl From<std::ffi::c_int> for SignalKind {
    fn from(signum: std::ffi::c_int) -> Self {
        Self::from_raw(signum)
    }
}

impl From<SignalKind> for std::ffi::c_int {
    fn from(kind: SignalKind) -> Self {
        kind.as_raw_value()
    }
}

/// Listens to one signal.
///
/// Signals of one kind that come faster than they are received become one, as they do in the OS.
///
/// # Examples
///
/// ```no_run
/// use nezumi::signal::unix::{SignalKind, signal};
///
/// # #[nezumi::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut hangups = signal(SignalKind::hangup())?;
/// while hangups.recv().await.is_some() {
///     println!("reading the configuration again");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a signal is heard only by way of its listener"]
pub struct Signal {
    listener: Listener,
}

/// Begins to listen to a signal.
///
/// The first call for a signal changes what it does to the process, for good: its default action no longer happens, also when all
/// listeners are gone. All listeners of a signal hear it.
///
/// # Errors
///
/// For signals that cannot be handled (`SIGKILL`, `SIGSTOP`) or not without danger (`SIGILL`, `SIGFPE`, `SIGSEGV`), for numbers that are
/// none, and when the OS refuses.
///
/// # Panics
///
/// Outside a runtime that has I/O enabled.
///
/// # Examples
///
/// ```
/// use nezumi::signal::unix::{SignalKind, signal};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut hangups = signal(SignalKind::hangup()).unwrap();
/// let pid = std::process::id().to_string();
/// nezumi::process::Command::new("kill").args(["-HUP", &pid]).status().await.unwrap();
/// hangups.recv().await;
/// println!("the configuration is read again");
/// # }
/// ```
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let runtime = Handle::current();
    assert!(
        runtime.has_io(),
        "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime builder to enable IO."
    );
    Ok(Signal { listener: Listener::new(kind.0, &runtime)? })
}

impl Signal {
    /// Waits for the signal. `None` never comes: it is there for the shape of streams.
    ///
    /// # Cancel safety
    ///
    /// A signal that came is not lost: the next call returns at once.
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the signal. Of several tasks, the one that polled last is woken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.listener.poll_recv(cx)
    }
}
