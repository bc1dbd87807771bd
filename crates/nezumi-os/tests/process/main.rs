//! Child processes on a running runtime: how they start, end, and what is left of them.

#![cfg(target_os = "linux")]

mod orphans;
mod pipes;
mod start;
mod support;
mod traced;
mod wait;
