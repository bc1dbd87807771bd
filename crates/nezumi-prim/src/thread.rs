//! Threads, as the model checkers see them.

#[cfg(nezumi_loom)]
pub use loom::thread::{Builder, JoinHandle, current, park, spawn, yield_now};
#[cfg(nezumi_shuttle)]
pub use shuttle::thread::{Builder, JoinHandle, current, park, spawn, yield_now};
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
pub use std::thread::{Builder, JoinHandle, current, park, spawn, yield_now};
