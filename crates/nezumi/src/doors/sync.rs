//! Ways for tasks to wait for each other, and to share.
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
//! Nothing here needs a runtime: a value can be sent from one runtime to another, or from a thread of no runtime by the
//! `blocking_*` methods. Waiters are served first come, first served.
//!
//! For a lock that is held for a few lines without an `.await`, `std::sync::Mutex` is the better choice, also in
//! asynchronous code. [`Mutex`] is for a guard that must live across an `.await`.

#[doc(inline)]
pub use nezumi_sync::{
    AcquireError, Barrier, BarrierWaitResult, MappedMutexGuard, Mutex, MutexGuard, Notify, OnceCell,
    OwnedMappedMutexGuard, OwnedMutexGuard, OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard,
    OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, RwLockMappedWriteGuard, RwLockReadGuard,
    RwLockWriteGuard, Semaphore, SemaphorePermit, SetError, SetOnce, SetOnceError, TryAcquireError,
    TryLockError,
};
#[doc(inline)]
pub use nezumi_sync::{broadcast, futures, mpsc, oneshot, watch};
