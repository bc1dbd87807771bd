//! Files and directories on a running runtime.

#![cfg(unix)]

mod behind;
mod cached;
mod dirs;
mod faults;
mod file;
mod model;
mod options;
mod paths;
mod special;
mod support;
mod types;
mod whole;
