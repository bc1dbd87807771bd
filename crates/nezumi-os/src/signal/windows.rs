//! Signals of the console, of logging off and of shutting down, on Windows.
//!
//! The system calls a handler on a thread that it makes for the purpose, so ours may do what any thread may: it tells the listeners itself,
//! and no runtime has to pass anything on. A signal that nobody listens to is left to the next handler, at last to that of the system, which
//! ends the process.
//!
//! Proof: of the listening, in `line`. Tests: below, which call the handler as the system does.

use super::line::{Line, Listener};
use nezumi_prim::sync::Mutex;
use std::io;
use std::task::{Context, Poll};
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::core::BOOL;

macro_rules! signals {
    ($(
        $event:ident on $line:ident;
        $(#[$of_type:meta])* $name:ident;
        $(#[$of_function:meta])* $function:ident;
    )*) => {
        $(
            static $line: Line = Line::new();

            $(#[$of_type])*
            ///
            /// Signals that come faster than they are received become one.
            #[derive(Debug)]
            #[must_use = "a signal is heard only by way of its listener"]
            pub struct $name(Listener);

            $(#[$of_function])*
            ///
            /// All listeners hear the signal. While there is one, what the system does by default does not happen.
            ///
            /// # Errors
            ///
            /// When the system refuses the handler.
            pub fn $function() -> io::Result<$name> {
                install()?;
                Ok($name($line.listen()))
            }

            impl $name {
                /// Waits for the signal. `None` never comes: it is there for the shape of streams.
                ///
                /// # Cancel safety
                ///
                /// A signal that came is not lost: the next call returns at once.
                pub async fn recv(&mut self) -> Option<()> {
                    std::future::poll_fn(|cx| self.poll_recv(cx)).await
                }

                /// Polls for the signal. Of several tasks, the one that polled last is woken.
                pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
                    self.0.poll_recv(cx)
                }
            }
        )*

        fn line_of(event: u32) -> Option<&'static Line> {
            match event {
                $($event => Some(&$line),)*
                _ => None,
            }
        }
    };
}

signals! {
    CTRL_C_EVENT on CTRL_C;
    /// Listens to Ctrl-C.
    CtrlC;
    /// Begins to listen to Ctrl-C.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # #[cfg(windows)]
    /// # #[nezumi::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut presses = nezumi::signal::windows::ctrl_c()?;
    /// for more in (0..3).rev() {
    ///     presses.recv().await;
    ///     println!("{more} more to stop");
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(windows))]
    /// # fn main() {}
    /// ```
    ctrl_c;

    CTRL_BREAK_EVENT on CTRL_BREAK;
    /// Listens to Ctrl-Break.
    CtrlBreak;
    /// Begins to listen to Ctrl-Break.
    ctrl_break;

    CTRL_CLOSE_EVENT on CTRL_CLOSE;
    /// Listens to the closing of the console.
    CtrlClose;
    /// Begins to listen to the closing of the console.
    ///
    /// The system ends the process some seconds after.
    ctrl_close;

    CTRL_SHUTDOWN_EVENT on CTRL_SHUTDOWN;
    /// Listens to the system shutting down.
    CtrlShutdown;
    /// Begins to listen to the system shutting down. Only services are told.
    ///
    /// The system ends the process some seconds after.
    ctrl_shutdown;

    CTRL_LOGOFF_EVENT on CTRL_LOGOFF;
    /// Listens to a user logging off.
    CtrlLogoff;
    /// Begins to listen to a user logging off. Only services are told, and not of which user.
    ///
    /// The system ends the process some seconds after.
    ctrl_logoff;
}

/// Has the system call us, from the first listener on and for good.
fn install() -> io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock();
    if !*installed {
        // SAFETY: `handle` is a function, so there for as long as the process.
        if unsafe { SetConsoleCtrlHandler(Some(handle), 1) } == 0 {
            return Err(io::Error::last_os_error());
        }
        *installed = true;
    }
    Ok(())
}

/// What the system calls. `1` ends the matter, `0` leaves it to the next handler.
unsafe extern "system" fn handle(event: u32) -> BOOL {
    let heard = line_of(event).is_some_and(Line::tell);
    if heard && matches!(event, CTRL_CLOSE_EVENT | CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT) {
        // The process ends when we return: the program is to have the time that the system grants it.
        loop {
            std::thread::park();
        }
    }
    BOOL::from(heard)
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::task::Waker;

    fn send(event: u32) -> BOOL {
        // SAFETY: it asks for nothing.
        unsafe { handle(event) }
    }

    #[test]
    fn each_signal_is_heard_by_its_listeners_alone() {
        let (mut presses, mut breaks) = (ctrl_c().unwrap(), ctrl_break().unwrap());
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(send(CTRL_C_EVENT), 1);
        assert_eq!(presses.poll_recv(&mut cx), Poll::Ready(Some(())));
        assert!(breaks.poll_recv(&mut cx).is_pending());
    }

    #[test]
    fn a_signal_that_nobody_listens_to_is_left_to_the_system() {
        assert_eq!(send(CTRL_LOGOFF_EVENT), 0);
        assert_eq!(send(u32::MAX), 0);
    }

    #[test]
    fn the_handler_of_an_end_does_not_return_while_somebody_listens() {
        let mut closes = ctrl_close().unwrap();
        let handler = std::thread::spawn(|| send(CTRL_CLOSE_EVENT));
        nezumi_wake::block_on(closes.recv());
        assert!(!handler.is_finished());
    }
}
