//! Task ids.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many ids a thread takes at once, so that threads that spawn do not share a counter.
const BLOCK: u64 = 1024;

/// The identity of a task: unique among all tasks of the process that have not been dropped, and in practice for ever.
///
/// Ids say nothing about the order in which tasks were spawned.
///
/// # Examples
///
/// ```
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let task = nezumi::spawn(async { nezumi::task::id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Hash, Eq, PartialEq, PartialOrd, Ord)]
pub struct Id(pub(crate) NonZeroU64);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

nezumi_prim::thread_local! {
    /// The next id of this thread's block; a multiple of the block's size when the block is used up.
    static NEXT: Cell<u64> = Cell::new(0);
    static CURRENT: Cell<Option<Id>> = Cell::new(None);
}

impl Id {
    #[inline]
    pub(crate) fn next() -> Id {
        NEXT.with(|cell| {
            let mut next = cell.get();
            if next % BLOCK == 0 {
                next = new_block();
            }
            cell.set(next + 1);
            match NonZeroU64::new(next) {
                Some(id) => Id(id),
                None => unreachable!("the first block starts at 1"),
            }
        })
    }

    /// The id as a number, for tools.
    #[doc(hidden)]
    #[must_use]
    pub fn as_u64(self) -> u64 {
        self.0.get()
    }
}

#[cold]
fn new_block() -> u64 {
    static BLOCKS: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only uniqueness matters. Ids of a block run from 1 to BLOCK - 1 above its start.
    BLOCKS.fetch_add(1, Ordering::Relaxed) * BLOCK + 1
}

/// Sets the id that [`try_id`] answers, and returns the one that stood there.
#[inline]
pub(crate) fn replace_current(id: Option<Id>) -> Option<Id> {
    CURRENT.try_with(|cell| cell.replace(id)).unwrap_or(None)
}

/// The id of the task that runs on this thread.
///
/// # Panics
///
/// Outside a task. `block_on` does not make one.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// let handle = nezumi::spawn(async { nezumi::task::id() });
/// let seen_from_outside = handle.id();
/// assert_eq!(handle.await.unwrap(), seen_from_outside);
/// # }
/// ```
#[track_caller]
#[must_use]
pub fn id() -> Id {
    try_id().expect("Can't get a task id when not inside a task")
}

/// The id of the task that runs on this thread; `None` outside a task.
///
/// # Examples
///
/// ```
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// assert!(nezumi::spawn(async { nezumi::task::try_id() }).await.unwrap().is_some());
/// // What a runtime blocks on is no task.
/// assert_eq!(nezumi::task::try_id(), None);
/// # }
/// ```
#[must_use]
pub fn try_id() -> Option<Id> {
    CURRENT.try_with(Cell::get).unwrap_or(None)
}

#[cfg(test)]
mod tests {
    use super::Id;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_across_threads_and_blocks() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    (0..if cfg!(miri) { 10 } else { 3000 }).map(|_| Id::next()).collect::<Vec<_>>()
                })
            })
            .collect();
        let all: Vec<Id> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
