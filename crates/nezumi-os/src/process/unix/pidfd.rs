//! A descriptor of a process, and its registration. Linux has them since 5.3.
//!
//! It stands for the process itself, not for its number: a signal by way of it reaches that process or none. It becomes readable when the
//! process ends.

use mio::unix::SourceFd;
use nezumi_core::driver::Registration;
use nezumi_core::runtime::Handle;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

pub(super) struct Pidfd {
    /// There until the drop, or until it is taken out.
    fd: Option<OwnedFd>,
    registration: Option<Registration>,
}

const THERE: &str = "the descriptor is there until it is taken out for good";

impl Pidfd {
    /// `None` where there is no such thing. The number must be that of a child that was not reaped.
    pub(super) fn open(pid: u32) -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::FromRawFd;

            // SAFETY: touches no memory of ours.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
            // SAFETY: what the call returns, unless it fails, is a new descriptor.
            let fd = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })?;
            Some(Self { fd: Some(fd), registration: None })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = pid;
            None
        }
    }

    /// Sends the process a signal. That it has ended, and was not reaped, is no error.
    pub(super) fn signal(&self, signal: libc::c_int) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            let info = std::ptr::null::<libc::siginfo_t>();
            // SAFETY: touches no memory of ours; a null pointer stands for what `kill` would say.
            match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.raw(), signal, info, 0) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = signal;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    pub(super) fn registration(&self) -> Option<&Registration> {
        self.registration.as_ref()
    }

    /// Has `runtime` wait for the end of the process.
    pub(super) fn register(&mut self, runtime: Handle) -> io::Result<()> {
        let registration = Registration::new(&mut SourceFd(&self.raw()), mio::Interest::READABLE, runtime)?;
        self.registration = Some(registration);
        Ok(())
    }

    pub(super) fn deregister(&mut self) {
        if let Some(mut registration) = self.registration.take() {
            // What the OS says to it does not matter: the registration has ended in any case.
            let _ = registration.deregister(&mut SourceFd(&self.raw()));
        }
    }

    /// Ends the registration, and takes the descriptor out.
    pub(super) fn into_fd(mut self) -> OwnedFd {
        self.deregister();
        self.fd.take().expect(THERE)
    }

    fn raw(&self) -> libc::c_int {
        self.fd.as_ref().expect(THERE).as_raw_fd()
    }
}

impl Drop for Pidfd {
    fn drop(&mut self) {
        if self.fd.is_some() {
            self.deregister();
        }
    }
}
