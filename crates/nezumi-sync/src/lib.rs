//! Ways for tasks to wait for each other, and to share.
//!
//! Nothing here needs a runtime: every type can be used from any executor, moved between runtimes, and from outside of
//! them through its `blocking_*` methods. Inside a runtime each of these futures takes part in cooperative scheduling:
//! it spends a unit of the task's budget, and yields when none is left.
//!
//! | to | use |
//! |---|---|
//! | hand over one value, once | [`oneshot`] |
//! | hand over many values to one receiver | [`mpsc`] |
//! | show every value to every receiver | [`broadcast`] |
//! | show the latest value to every receiver | [`watch`] |
//! | say that something happened | [`Notify`] |
//! | have one task at a time touch a value | [`Mutex`], [`RwLock`] |
//! | bound how much goes on at once | [`Semaphore`] |
//! | have tasks wait for each other at one point | [`Barrier`] |
//! | set a value once, or wait until it is set | [`OnceCell`], [`SetOnce`] |
//!
//! Waiters are served first come, first served, everywhere. Wakers are cloned, woken and dropped only while no lock of
//! this crate is held, so a waker may use the very thing that wakes it.

#[macro_use]
mod const_fn;
#[macro_use]
mod see_through;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod auto_traits;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod hand_polled;
#[cfg(all(test, nezumi_loom))]
mod modelling;
#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod testing;

pub mod broadcast;
pub mod mpsc;
pub mod oneshot;
pub mod watch;

mod waiters;

mod barrier;
mod batch_semaphore;
mod mutex;
mod notify;
mod once_cell;
mod rwlock;
mod semaphore;
mod set_once;
mod wakers;

pub use barrier::{Barrier, BarrierWaitResult};
pub use batch_semaphore::{AcquireError, TryAcquireError};
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::Notify;
pub use once_cell::{OnceCell, SetError};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, RwLockMappedWriteGuard,
    RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
pub use set_once::{SetOnce, SetOnceError};

/// The futures of this crate that have a name.
pub mod futures {
    pub use crate::notify::{Notified, OwnedNotified};
}
