//! The workloads on Tokio.

use ::tokio as rt;

#[path = "workloads/mod.rs"]
pub(crate) mod workloads;
