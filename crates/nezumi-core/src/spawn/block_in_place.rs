//! `block_in_place`.

use crate::scheduler::{context, thread};
use nezumi_wake::{coop, entered};

/// Runs `func`, which may block, on this thread, after handing the worker that this thread is to another one.
///
/// The other tasks of the worker go on there. Everything else in the *same* task stops while `func` runs, also what is joined to it by
/// `join!` or `select!`: [`spawn_blocking`](super::spawn_blocking) has no such catch. Outside a runtime, and on threads of the blocking
/// pool, it only runs `func`.
///
/// # Panics
///
/// On a current-thread runtime and in a `LocalSet`, which have no other thread to go on.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// let text = nezumi::task::block_in_place(|| std::fs::read_to_string("/dev/null"));
/// assert_eq!(text.unwrap(), "");
/// # }
/// ```
#[track_caller]
pub fn block_in_place<F, R>(func: F) -> R
where
    F: FnOnce() -> R,
{
    assert!(
        entered::may_block_in_place(),
        "can call blocking only when running on the multi-threaded runtime; use `spawn_blocking` here"
    );
    give_up_worker();
    let _left = entered::leave();
    coop::with_unconstrained(func)
}

/// If this thread is a worker, has another thread go on with it.
fn give_up_worker() {
    context::with(|context| {
        let Some(worker) = context.running_worker() else { return };
        let handle = worker.shared().handle();
        let index = worker.index();
        worker.give_up();
        // The other thread may have the worker from this line on. If the system has no thread for it, it stays ours: the tasks behind
        // this one wait, as they would without us.
        if thread::hand_over(&handle, index).is_err() {
            worker.take_back();
        }
    });
}
