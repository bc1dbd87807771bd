//! Sockets, pipes, file descriptors, files, signals, processes and the standard streams on the Nezumi runtime.
//!
//! Most of what is here holds a resource of the OS together with its registration with the runtime's I/O driver
//! (`evented`), tries its operation, and waits for the driver where that would block. Files and the standard streams cannot
//! be waited for, and go to blocking threads. Programs use the crate `nezumi`.

#[cfg(unix)]
pub mod async_fd;
mod evented;
pub mod fs;
pub mod net;
pub mod process;
pub mod signal;
pub mod stdio;
