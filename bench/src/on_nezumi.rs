//! The workloads on Nezumi.

use ::nezumi as rt;

#[path = "workloads/mod.rs"]
pub(crate) mod workloads;
