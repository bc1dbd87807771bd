//! Whether this thread drives tasks.
//!
//! A thread that polls tasks must not sleep in a blocking call of ours: the tasks behind it would sleep, too. Runtimes
//! say here that they have entered a thread; the `blocking_*` functions and `block_on` ask.

use std::cell::Cell;
use std::marker::PhantomData;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entered {
    No,
    Yes { allow_block_in_place: bool },
}

nezumi_prim::thread_local! {
    static ENTERED: Cell<Entered> = Cell::new(Entered::No);
}

/// Whether code on this thread may block it.
#[must_use]
pub fn may_block() -> bool {
    ENTERED.with(Cell::get) == Entered::No
}

/// Whether `block_in_place` would be meaningful or harmless here: not inside a scheduler that has a single thread.
#[must_use]
pub fn may_block_in_place() -> bool {
    !matches!(ENTERED.with(Cell::get), Entered::Yes { allow_block_in_place: false })
}

/// Panics with Tokio's words where blocking is not allowed.
///
/// # Panics
///
/// When this thread drives tasks.
#[track_caller]
pub fn assert_may_block() {
    assert!(
        may_block(),
        "Cannot block the current thread from within a runtime. This happens because a function attempted to block the \
         current thread while the thread is being used to drive asynchronous tasks. Await the asynchronous form of the \
         call instead, or move the call into `spawn_blocking`."
    );
}

/// Restores what stood before when dropped. Not `Send`: it belongs to its thread.
#[derive(Debug)]
pub struct EnteredGuard {
    former: Entered,
    _not_send: PhantomData<*const ()>,
}

impl EnteredGuard {
    fn replace(now: Entered) -> Self {
        Self { former: ENTERED.with(|cell| cell.replace(now)), _not_send: PhantomData }
    }
}

impl Drop for EnteredGuard {
    fn drop(&mut self) {
        ENTERED.with(|cell| cell.set(self.former));
    }
}

/// Marks this thread as driving tasks, or returns `None` if it does already.
#[must_use]
pub fn enter(allow_block_in_place: bool) -> Option<EnteredGuard> {
    may_block().then(|| EnteredGuard::replace(Entered::Yes { allow_block_in_place }))
}

/// Marks this thread as free to block, as `block_in_place` and threads of the blocking pool are.
#[must_use]
pub fn leave() -> EnteredGuard {
    EnteredGuard::replace(Entered::No)
}

/// Forbids `block_in_place` in what follows, as `LocalSet` needs. Without effect on a thread that drives no tasks.
#[must_use]
pub fn forbid_block_in_place() -> EnteredGuard {
    let former = ENTERED.with(Cell::get);
    EnteredGuard::replace(match former {
        Entered::No => Entered::No,
        Entered::Yes { .. } => Entered::Yes { allow_block_in_place: false },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_once_and_restore() {
        assert!(may_block());
        let guard = enter(true).unwrap();
        assert!(!may_block() && may_block_in_place());
        assert!(enter(true).is_none());
        {
            let _left = leave();
            assert!(may_block());
            assert!(enter(false).is_some());
        }
        {
            let _forbidden = forbid_block_in_place();
            assert!(!may_block_in_place());
        }
        assert!(may_block_in_place());
        drop(guard);
        assert!(may_block());
    }
}
