//! The workloads on Nezumi.

use ::nezumi as rt;

use crate::case::{Case, Setup, Side};
use std::cell::Cell;

#[path = "workloads/mod.rs"]
mod workloads;

thread_local! {
    /// Runtimes that this thread builds have a watch.
    static WATCH: Cell<bool> = const { Cell::new(true) };
}

fn tune(builder: &mut rt::runtime::Builder) {
    builder.watch(WATCH.get());
}

/// Those whose runtime is built in this process: without its watch, and as it is.
pub(crate) fn without_watch_and_with() -> [Vec<Case>; 2] {
    let without = workloads::all().into_iter().map(|case| without(case.on(Side::Unwatched)));
    let with = workloads::all().into_iter().map(|case| case.on(Side::Nezumi));
    [without.collect(), with.collect()]
}

fn without(case: Case) -> Case {
    let prepare = case.prepare;
    let prepare = move |setup: &Setup| {
        WATCH.set(false);
        let round = prepare(setup);
        WATCH.set(true);
        round
    };
    Case { prepare: Box::new(prepare), ..case }
}

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = workloads::all();
    cases.extend(crate::http::cases(Side::Nezumi));
    cases.sort_by_key(|case| case.number);
    cases.into_iter().map(|case| case.on(Side::Nezumi)).collect()
}
