//! The workloads on Tokio.

use ::tokio as rt;

use crate::case::{Case, Side};

#[path = "workloads/mod.rs"]
mod workloads;

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    workloads::all().into_iter().map(|case| case.on(Side::Tokio)).collect()
}
