//! Sockets, pipes, file descriptors and signals on the Nezumi runtime.
//!
//! Everything here holds a resource of the OS together with its registration with the runtime's I/O driver
//! (`evented`), tries its operation, and waits for the driver where that would block. Programs use the crate `nezumi`.

#[cfg(unix)]
pub mod async_fd;
mod evented;
pub mod net;
pub mod signal;
