//! Waker plumbing that needs no runtime.
//!
//! - [`AtomicWaker`]: one waker, stored by one side, taken by any.
//! - [`WakeList`]: wakers collected under a lock, woken after it.
//! - [`coop`]: how much a task may do before it must let others run.
//! - [`defer`]: wakes that wait until the I/O driver has been looked at.
//! - [`entered`]: whether this thread drives tasks, and so may not block.
//! - [`leaf`]: polls that only look where a future waits.
//! - [`rng`]: fair choices, repeatable where a runtime was seeded.
//! - [`sleep`](mod@sleep): how to sleep, told by the runtime.
//! - [`block_on`]: runs one future on this thread, by parking it.
//! - [`contain`] and [`FirstPanic`]: where a panic of the program's code ends, or waits until all is done.
//!
//! Nothing here knows a task, a queue or a scheduler; the scheduler tells this crate what it must know through
//! thread-locals that are const-initialised and have no destructor.

pub mod coop;
pub mod defer;
pub mod entered;
pub mod leaf;
pub mod rng;
pub mod sleep;

mod atomic_waker;
mod block_on;
mod contain;
mod wake_list;

pub use atomic_waker::AtomicWaker;
pub use block_on::{block_on, block_on_timeout};
pub use contain::{FirstPanic, contain, drop_each, drop_payload, wake_and_drop};
pub use wake_list::{WakeList, wake_each};
