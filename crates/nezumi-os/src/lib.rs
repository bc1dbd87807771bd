//! Sockets, pipes, file descriptors, files and signals on the Nezumi runtime.
//!
//! Everything here but [`fs`] holds a resource of the OS together with its registration with the runtime's I/O driver
//! (`evented`), tries its operation, and waits for the driver where that would block. Files cannot be waited for, and go to
//! blocking threads. Programs use the crate `nezumi`.

#[cfg(unix)]
pub mod async_fd;
mod evented;
pub mod fs;
pub mod net;
pub mod signal;
