//! The workloads on Tokio.

use ::tokio as rt;

use crate::case::{Case, Side};

#[path = "workloads/mod.rs"]
mod workloads;

/// Built as users build it.
fn tune(_: &mut rt::runtime::Builder) {}

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = workloads::all();
    cases.extend(crate::http::cases(Side::Tokio));
    cases.sort_by_key(|case| case.number);
    cases.into_iter().map(|case| case.on(Side::Tokio)).collect()
}
