//! Sockets, pipes and descriptors on a running runtime.

#![cfg(unix)]

mod async_fd;
mod faults;
mod ready;
mod support;
mod tcp;
mod types;
mod udp;
mod unix;
