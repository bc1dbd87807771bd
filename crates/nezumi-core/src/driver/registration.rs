//! One resource of the OS, registered with one runtime: what sockets hold.
//!
//! Called by `nezumi-os`. Spends the coop budget, and turns shut-down readiness into the error that
//! `runtime::is_rt_shutdown_err` recognises.
//!
//! Promise: while the registration lives its slot does; the slot is given back exactly once, whether
//! [`Registration::deregister`] was called or not; who clears readiness says which event he clears.
//!
//! Tests: in `tests`.

use super::handle::Handle;
use super::slot::Slot;
use super::slots::Token;
use super::waiter::Wait;
use super::word::{Place, ReadyEvent};
use super::{Readiness, gone};
use crate::runtime;
use nezumi_wake::coop;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

/// What keeps a driver's [`Handle`] in place: a handle to its runtime.
///
/// # Safety
///
/// `driver` gives the same `Handle` each time, and that one neither moves nor goes while `self`, wherever it is moved, lives.
pub unsafe trait Keeper {
    /// The driver that is kept.
    ///
    /// # Panics
    ///
    /// May panic where there is none; if it has not done so once, it never does.
    #[track_caller]
    fn driver(&self) -> &Handle;
}

// SAFETY: the driver is part of the runtime's shared state, which a runtime handle keeps alive by a count.
unsafe impl Keeper for runtime::Handle {
    #[track_caller]
    fn driver(&self) -> &Handle {
        self.io()
    }
}

// SAFETY: what is in an `Arc` stays there while a count is held.
unsafe impl Keeper for std::sync::Arc<Handle> {
    fn driver(&self) -> &Handle {
        self
    }
}

/// A resource of the OS that is registered with a runtime.
///
/// The wait of one reader and one writer costs no lock and no allocation: [`poll_read_ready`](Self::poll_read_ready) and
/// [`poll_write_ready`](Self::poll_write_ready) each wake the task that called last. Any number of tasks may wait beside them with
/// [`readiness`](Self::readiness).
pub struct Registration<K: Keeper = runtime::Handle> {
    keeper: K,
    /// Lives as long as the driver, hence as `keeper`.
    slot: NonNull<Slot>,
    token: Token,
    /// Whether the slot is still ours.
    registered: bool,
}

// SAFETY: `slot` is a reference to a `Slot`, which is `Sync`, that `keeper` keeps valid.
unsafe impl<K: Keeper + Send> Send for Registration<K> {}
// SAFETY: as above.
unsafe impl<K: Keeper + Sync> Sync for Registration<K> {}

impl<K: Keeper> Registration<K> {
    /// Registers `source` with the driver that `keeper` keeps.
    ///
    /// # Errors
    ///
    /// What the OS says to it, or that the runtime is gone. Nothing is left behind then.
    ///
    /// # Panics
    ///
    /// When the runtime has no I/O driver.
    #[track_caller]
    pub fn new(source: &mut impl mio::event::Source, interest: mio::Interest, keeper: K) -> io::Result<Self> {
        let (token, slot) = keeper.driver().register(source, interest)?;
        let slot = NonNull::from(slot);
        Ok(Registration { keeper, slot, token, registered: true })
    }

    /// Ends the registration of `source`, the one that it was made for. To be called before `source` is closed. Nothing but
    /// a drop may follow; what the OS says to it does not matter to the slot, which is given back in any case.
    ///
    /// # Errors
    ///
    /// What the OS says to it.
    pub fn deregister(&mut self, source: &mut impl mio::event::Source) -> io::Result<()> {
        let result = self.keeper.driver().forget_source(source);
        self.give_back();
        result
    }

    fn give_back(&mut self) {
        if std::mem::take(&mut self.registered) {
            self.keeper.driver().give_back(self.token, self.slot());
        }
    }

    #[inline]
    fn slot(&self) -> &Slot {
        // SAFETY: `keeper` keeps the driver, and the driver its slots.
        unsafe { self.slot.as_ref() }
    }

    /// Waits until a read would do something. Of the tasks that call this only the last is woken.
    ///
    /// # Errors
    ///
    /// When the runtime is gone.
    #[inline]
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<ReadyEvent>> {
        self.poll_ready(cx, Place::Reader)
    }

    /// Waits until a write would do something. Of the tasks that call this only the last is woken.
    ///
    /// # Errors
    ///
    /// When the runtime is gone.
    #[inline]
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<ReadyEvent>> {
        self.poll_ready(cx, Place::Writer)
    }

    #[inline]
    fn poll_ready(&self, cx: &mut Context<'_>, place: Place) -> Poll<io::Result<ReadyEvent>> {
        let coop = ready!(coop::poll_proceed(cx));
        let event = ready!(self.slot().poll(place, cx.waker()));
        if event.is_shut_down {
            return Poll::Ready(Err(gone()));
        }
        coop.made_progress();
        Poll::Ready(Ok(event))
    }

    /// Runs `operation` whenever a read would do something, until it does not say that it would block.
    ///
    /// # Errors
    ///
    /// Those of `operation`, and when the runtime is gone.
    #[inline]
    pub fn poll_read_io<R>(
        &self,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io(cx, Place::Reader, operation)
    }

    /// Runs `operation` whenever a write would do something, until it does not say that it would block.
    ///
    /// # Errors
    ///
    /// Those of `operation`, and when the runtime is gone.
    #[inline]
    pub fn poll_write_io<R>(
        &self,
        cx: &mut Context<'_>,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io(cx, Place::Writer, operation)
    }

    #[inline]
    fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        place: Place,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            let event = ready!(self.poll_ready(cx, place))?;
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear_readiness(event),
                result => return Poll::Ready(result),
            }
        }
    }

    /// Says that what `event` promised was not so, or is used up. An event that has come since stays.
    #[inline]
    pub fn clear_readiness(&self, event: ReadyEvent) {
        self.slot().clear(event);
    }

    /// Takes readiness for granted that the OS has not told of yet: an operation that finds it wrong clears it.
    #[inline]
    pub fn assume_ready(&self, ready: Readiness) {
        self.slot().assume(ready);
    }

    /// Tries `operation` if the resource is known to be ready for something in `wants`.
    ///
    /// # Errors
    ///
    /// Those of `operation`; `WouldBlock`, without calling it, where nothing is known.
    pub fn try_io<R>(&self, wants: Readiness, operation: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        let event = self.slot().word().event(wants);
        if event.ready.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        operation().map_err(|error| {
            if error.kind() != io::ErrorKind::WouldBlock {
                return error;
            }
            self.clear_readiness(event);
            // The same error whether the system had to be asked or not.
            io::ErrorKind::WouldBlock.into()
        })
    }

    /// Waits until the resource is ready for something in `wants`. Any number of tasks may wait.
    ///
    /// # Errors
    ///
    /// When the runtime is gone.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it is done, it has changed nothing.
    pub async fn readiness(&self, wants: Readiness) -> io::Result<ReadyEvent> {
        let event = Wait::new(self.slot(), wants).await;
        if event.is_shut_down { Err(gone()) } else { Ok(event) }
    }

    /// Runs `operation` whenever the resource is ready for something in `wants`, until it does not say that it would
    /// block. Any number of tasks may do so.
    ///
    /// # Errors
    ///
    /// Those of `operation`, and when the runtime is gone.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it is done, it has not completed an operation.
    pub async fn async_io<R>(
        &self,
        wants: Readiness,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let event = self.readiness(wants).await?;
            let coop = poll_fn(coop::poll_proceed).await;
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear_readiness(event),
                result => {
                    coop.made_progress();
                    return result;
                }
            }
        }
    }
}

impl<K: Keeper> Drop for Registration<K> {
    fn drop(&mut self) {
        // Without the source nothing can be said to the OS; should events still come, they are for nobody.
        self.give_back();
    }
}

impl<K: Keeper> fmt::Debug for Registration<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("token", &self.token)
            .field("word", &self.slot().word())
            .finish_non_exhaustive()
    }
}
