//! What a poll does to its own task's state, put down here and settled when the poll ends.
//!
//! Called by `waker` (a clone, a drop, a wake of the task that is being polled), `run` (opens and closes) and nobody else.
//!
//! A future clones the waker that it is polled with, drops clones that it kept, and wakes itself to yield. Each of these would be a
//! read-modify-write of the state word; but while the poll lasts only their sum matters, and the poll ends with a read-modify-write of that word
//! in any case. So what happens on the polling thread is added up in a thread-local, the *tally*, and goes into the word with the end
//! of the poll. Other threads count in the word, as ever. It is biased reference counting (Choi, Shull, Torrellas 2018), with the poller as
//! the owner, and only for as long as it polls.
//!
//! ```text
//! poller                                         any other thread that holds a clone
//! start: word += HELD references                 drop:  word -= 1; the last one frees
//! clone: tally += 1, and hands the clone out
//! stop:  word -= HELD - tally
//! ```
//!
//! Promise: the word never falls to zero while a reference exists. A reference that only the tally knows makes the word too small, but at
//! most by `HELD - 1` (the tally goes no further, and then the word is counted in), and `HELD` references stand in the word as long as the poll
//! lasts. A reference given up that only the tally knows makes it too large, until the poll ends.
//!
//! A wake of its own by the task is seen by nobody before the poll ends, and need not be: the poller would submit the task only then. What
//! the task wrote before is published by the read-modify-write that ends the poll.
//!
//! Polls nest, where a task polls other tasks (`LocalSet`): each has a tally of its own, and only the innermost counts.
//!
//! Tests: `tests::clones_in_a_poll_*`; the models `clones_of_a_poll_are_dropped_elsewhere` and `redundant_wake_publishes`.

use super::Header;
use std::cell::Cell;
use std::ptr;

/// How many references stand in the word for the poller while it polls.
pub(super) const HELD: usize = 1 << 16;

/// The poll that runs on this thread.
struct Tally {
    /// Null outside a poll.
    task: Cell<*const Header>,
    /// References made, less those given up.
    refs: Cell<isize>,
    woken: Cell<bool>,
}

impl Tally {
    const fn new() -> Self {
        Self { task: Cell::new(ptr::null()), refs: Cell::new(0), woken: Cell::new(false) }
    }
}

nezumi_prim::thread_local! {
    static TALLY: Tally = Tally::new();
}

/// An open tally. Puts back the one before when it is closed.
pub(super) struct Open {
    task: *const Header,
    refs: isize,
    woken: bool,
}

/// What has come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    /// How many references are to be taken out of the word, of those that stand there for the poller.
    pub(super) owed: usize,
    /// The task woke itself.
    pub(super) woken: bool,
}

/// Opens the tally of a task, in whose word `HELD` references stand for it.
#[inline]
pub(super) fn open(task: *const Header) -> Open {
    TALLY.with(|tally| Open {
        task: tally.task.replace(task),
        refs: tally.refs.replace(0),
        woken: tally.woken.replace(false),
    })
}

impl Open {
    /// From here on this thread counts in the word as all others do.
    #[inline]
    pub(super) fn close(self) -> Sum {
        TALLY.with(|tally| {
            tally.task.set(self.task);
            let refs = tally.refs.replace(self.refs);
            Sum { owed: HELD.wrapping_sub(refs as usize), woken: tally.woken.replace(self.woken) }
        })
    }
}

/// Whether `task` is being polled here, and `f` has put down what happened to it; if not, the caller does that in the word.
#[inline]
fn put_down(task: *const Header, f: impl FnOnce(&Tally) -> bool) -> bool {
    TALLY.with(|tally| ptr::eq(tally.task.get(), task) && f(tally))
}

/// Counts a new reference to `task`, if that is being polled here. Whether it did.
#[inline]
pub(super) fn add_ref(task: *const Header) -> bool {
    put_down(task, |tally| {
        let refs = tally.refs.get() + 1;
        let has_room = refs < HELD as isize;
        if has_room {
            tally.refs.set(refs);
        }
        has_room
    })
}

/// Counts a reference to `task` as given up, if that is being polled here. Whether it did.
#[inline]
pub(super) fn drop_ref(task: *const Header) -> bool {
    put_down(task, |tally| {
        tally.refs.set(tally.refs.get() - 1);
        true
    })
}

/// Notes that `task` was woken, if it is being polled here, and that so many references went with the wake. Whether it did.
#[inline]
pub(super) fn wake(task: *const Header, given_up: isize) -> bool {
    put_down(task, |tally| {
        tally.woken.set(true);
        tally.refs.set(tally.refs.get() - given_up);
        true
    })
}
