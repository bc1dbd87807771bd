//! One file per question, named after it. The header says what is asked, and how the answer could mislead.
//!
//! These files are compiled once per runtime: `rt` is whichever it is.

use super::{rt, tune};
use crate::case::Case;

mod start;

mod chained_spawn;
mod churn;
mod fs;
mod growth;
mod idle;
mod interference;
mod million_sleep;
mod mpsc;
mod overload;
mod ping_pong;
mod remote_busy_spawn;
mod remote_busy_yield;
mod remote_idle;
mod remote_spawn_threads;
mod req_reply;
mod rescue;
mod ring;
mod skynet;
mod sparse;
mod spawn_blocking;
mod spawn_burst;
mod spawn_join;
mod spawn_many_local;
mod stranded;
mod sync;
mod tcp_echo;
mod timeout_storm;
mod timer_churn;
mod yield_many;

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    [
        spawn_join::cases(),
        spawn_burst::cases(),
        spawn_many_local::cases(),
        remote_idle::cases(),
        remote_busy_yield::cases(),
        remote_busy_spawn::cases(),
        remote_spawn_threads::cases(),
        yield_many::cases(),
        ping_pong::cases(),
        chained_spawn::cases(),
        skynet::cases(),
        ring::cases(),
        mpsc::cases(),
        req_reply::cases(),
        sync::cases(),
        timer_churn::cases(),
        timeout_storm::cases(),
        million_sleep::cases(),
        spawn_blocking::cases(),
        fs::cases(),
        tcp_echo::cases(),
        churn::cases(),
        sparse::cases(),
        stranded::cases(),
        idle::cases(),
        rescue::cases(),
        interference::cases(),
        overload::cases(),
        growth::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
