//! Which of the types here may be sent, shared and moved: a table of facts that programs compile against.
//!
//! `Nn` is neither `Send` nor `Sync`, `Yn` is `Send` alone, `Yy` is both.

use crate::testing::{Nn, Yn, Yy, auto_traits};
use crate::*;

const ALL: &str = "Send Sync Unpin";
const MOVED: &str = "Send Unpin";
const LOCAL: &str = "Unpin";
const PINNED: &str = "Send Sync ";

#[test]
fn types_without_a_value() {
    assert_eq!(auto_traits!(AcquireError), ALL);
    assert_eq!(auto_traits!(TryAcquireError), ALL);
    assert_eq!(auto_traits!(TryLockError), ALL);
    assert_eq!(auto_traits!(Barrier), ALL);
    assert_eq!(auto_traits!(BarrierWaitResult), ALL);
    assert_eq!(auto_traits!(Notify), ALL);
    assert_eq!(auto_traits!(Semaphore), ALL);
    assert_eq!(auto_traits!(SemaphorePermit<'static>), ALL);
    assert_eq!(auto_traits!(OwnedSemaphorePermit), ALL);
    assert_eq!(auto_traits!(futures::Notified<'static>), PINNED);
    assert_eq!(auto_traits!(futures::OwnedNotified), PINNED);
}

#[test]
fn mutex() {
    assert_eq!(
        [auto_traits!(Mutex<Nn>), auto_traits!(Mutex<Yn>), auto_traits!(Mutex<Yy>)],
        [LOCAL, ALL, ALL]
    );
    assert_eq!(auto_traits!(MutexGuard<'static, Nn>), LOCAL);
    assert_eq!(auto_traits!(MutexGuard<'static, Yn>), MOVED);
    assert_eq!(auto_traits!(MutexGuard<'static, Yy>), ALL);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, Nn>), LOCAL);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, Yn>), MOVED);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, Yy>), ALL);
    assert_eq!(auto_traits!(OwnedMutexGuard<Nn>), LOCAL);
    assert_eq!(auto_traits!(OwnedMutexGuard<Yn>), MOVED);
    assert_eq!(auto_traits!(OwnedMutexGuard<Yy>), ALL);
}

#[test]
fn owned_mapped_mutex_guard() {
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Nn, Nn>), LOCAL);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Nn, Yn>), LOCAL);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Nn, Yy>), LOCAL);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Yn, Nn>), LOCAL);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Yn, Yn>), MOVED);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Yn, Yy>), MOVED);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Yy, Nn>), LOCAL);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Yy, Yn>), MOVED);
    assert_eq!(auto_traits!(OwnedMappedMutexGuard<Yy, Yy>), ALL);
}

#[test]
fn rwlock() {
    assert_eq!(
        [auto_traits!(RwLock<Nn>), auto_traits!(RwLock<Yn>), auto_traits!(RwLock<Yy>)],
        [LOCAL, MOVED, ALL]
    );
    assert_eq!(auto_traits!(RwLockReadGuard<'static, Nn>), LOCAL);
    assert_eq!(auto_traits!(RwLockReadGuard<'static, Yn>), LOCAL);
    assert_eq!(auto_traits!(RwLockReadGuard<'static, Yy>), ALL);
    assert_eq!(auto_traits!(RwLockWriteGuard<'static, Nn>), LOCAL);
    assert_eq!(auto_traits!(RwLockWriteGuard<'static, Yn>), LOCAL);
    assert_eq!(auto_traits!(RwLockWriteGuard<'static, Yy>), ALL);
    assert_eq!(auto_traits!(RwLockMappedWriteGuard<'static, Nn>), LOCAL);
    assert_eq!(auto_traits!(RwLockMappedWriteGuard<'static, Yn>), LOCAL);
    assert_eq!(auto_traits!(RwLockMappedWriteGuard<'static, Yy>), ALL);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<Nn>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<Yn>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<Yy>), ALL);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<Yy, Yn>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<Yn, Yy>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockWriteGuard<Nn>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockWriteGuard<Yn>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockWriteGuard<Yy>), ALL);
    assert_eq!(auto_traits!(OwnedRwLockMappedWriteGuard<Nn>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockMappedWriteGuard<Yn>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockMappedWriteGuard<Yy>), ALL);
    assert_eq!(auto_traits!(OwnedRwLockMappedWriteGuard<Yn, Yy>), LOCAL);
    assert_eq!(auto_traits!(OwnedRwLockMappedWriteGuard<Yy, Yn>), LOCAL);
}

#[test]
fn cells() {
    assert_eq!(
        [auto_traits!(OnceCell<Nn>), auto_traits!(OnceCell<Yn>), auto_traits!(OnceCell<Yy>)],
        [LOCAL, MOVED, ALL]
    );
    assert_eq!(
        [auto_traits!(SetOnce<Nn>), auto_traits!(SetOnce<Yn>), auto_traits!(SetOnce<Yy>)],
        [LOCAL, MOVED, ALL]
    );
    assert_eq!(auto_traits!(SetError<Yn>), MOVED);
    assert_eq!(auto_traits!(SetOnceError<Yn>), MOVED);
}

struct Probe<T>(std::marker::PhantomData<T>);

fn probe<T>(_: impl FnOnce() -> T) -> Probe<T> {
    Probe(std::marker::PhantomData)
}

// A method that is found without another reference wins over one that needs it, where its bounds hold.
trait IfSend {
    fn send(&self) -> &'static str {
        "Send "
    }
}
impl<T: Send> IfSend for Probe<T> {}

trait IfSync {
    fn sync(&self) -> &'static str {
        "Sync "
    }
}
impl<T: Sync> IfSync for Probe<T> {}

trait IfUnpin {
    fn unpin(&self) -> &'static str {
        "Unpin"
    }
}
impl<T: Unpin> IfUnpin for Probe<T> {}

trait Otherwise {
    fn send(&self) -> &'static str {
        ""
    }
    fn sync(&self) -> &'static str {
        ""
    }
    fn unpin(&self) -> &'static str {
        ""
    }
}
impl<T> Otherwise for &Probe<T> {}

/// What [`auto_traits`] says, for futures, which have no name. The expression is not run.
macro_rules! future_traits {
    ($future:expr) => {{
        let probe = probe(|| $future);
        [(&probe).send(), (&probe).sync(), (&probe).unpin()].concat()
    }};
}

fn any<T>() -> T {
    unreachable!("only the type is asked for")
}

#[test]
fn futures_without_a_value() {
    assert_eq!(future_traits!(std::future::ready(Nn::new(1))), LOCAL);
    assert_eq!(future_traits!(std::future::ready(1)), ALL);
    assert_eq!(future_traits!(any::<&Barrier>().wait()), PINNED);
    assert_eq!(future_traits!(any::<&Notify>().notified()), PINNED);
    assert_eq!(future_traits!(any::<&Semaphore>().acquire()), PINNED);
    assert_eq!(future_traits!(any::<&Semaphore>().acquire_many(1)), PINNED);
    assert_eq!(future_traits!(any::<std::sync::Arc<Semaphore>>().acquire_owned()), PINNED);
    assert_eq!(future_traits!(any::<std::sync::Arc<Semaphore>>().acquire_many_owned(1)), PINNED);
}

#[test]
fn futures_of_locks() {
    use std::sync::Arc;
    assert_eq!(future_traits!(any::<&Mutex<Nn>>().lock()), "");
    assert_eq!(future_traits!(any::<&Mutex<Yn>>().lock()), PINNED);
    assert_eq!(future_traits!(any::<&Mutex<Yy>>().lock()), PINNED);
    assert_eq!(future_traits!(any::<Arc<Mutex<Nn>>>().lock_owned()), "");
    assert_eq!(future_traits!(any::<Arc<Mutex<Yn>>>().lock_owned()), PINNED);
    assert_eq!(future_traits!(any::<&RwLock<Nn>>().read()), "");
    assert_eq!(future_traits!(any::<&RwLock<Yn>>().read()), "");
    assert_eq!(future_traits!(any::<&RwLock<Yy>>().read()), PINNED);
    assert_eq!(future_traits!(any::<&RwLock<Yn>>().write()), "");
    assert_eq!(future_traits!(any::<&RwLock<Yy>>().write()), PINNED);
}

#[test]
fn futures_of_cells() {
    use std::future::{Future, Ready};
    use std::pin::Pin;
    type SendSync<T> = Pin<Box<dyn Future<Output = T> + Send + Sync>>;
    type SendOnly<T> = Pin<Box<dyn Future<Output = T> + Send>>;
    type Neither<T> = Pin<Box<dyn Future<Output = T>>>;
    assert_eq!(future_traits!(any::<&OnceCell<Nn>>().get_or_init(any::<fn() -> SendSync<Nn>>())), "");
    assert_eq!(future_traits!(any::<&OnceCell<Yn>>().get_or_init(any::<fn() -> SendSync<Yn>>())), "");
    assert_eq!(future_traits!(any::<&OnceCell<Yy>>().get_or_init(any::<fn() -> SendSync<Yy>>())), PINNED);
    assert_eq!(future_traits!(any::<&OnceCell<Yy>>().get_or_init(any::<fn() -> SendOnly<Yy>>())), "Send ");
    assert_eq!(future_traits!(any::<&OnceCell<Yy>>().get_or_init(any::<fn() -> Neither<Yy>>())), "");
    type Tries<T> = Ready<Result<T, ()>>;
    assert_eq!(future_traits!(any::<&OnceCell<Yy>>().get_or_try_init(any::<fn() -> Tries<Yy>>())), PINNED);
    assert_eq!(
        future_traits!(any::<&OnceCell<Yy>>().get_or_try_init(any::<fn() -> SendOnly<Result<Yy, ()>>>())),
        "Send "
    );
    assert_eq!(future_traits!(any::<&SetOnce<Nn>>().wait()), "");
    assert_eq!(future_traits!(any::<&SetOnce<Yn>>().wait()), "");
    assert_eq!(future_traits!(any::<&SetOnce<Yy>>().wait()), PINNED);
}

#[test]
fn unwind_safety() {
    fn is_unwind_safe<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    is_unwind_safe::<Notify>();
    is_unwind_safe::<Semaphore>();
    is_unwind_safe::<RwLockWriteGuard<'static, Yy>>();
    is_unwind_safe::<broadcast::Sender<Yn>>();
    is_unwind_safe::<broadcast::WeakSender<Yn>>();
    is_unwind_safe::<broadcast::Receiver<Yn>>();
}
