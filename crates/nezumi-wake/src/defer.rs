//! Wakes that wait.
//!
//! A task that yields, or whose budget is used up, must let the I/O driver and the other tasks have a turn before it
//! runs again. It therefore does not wake itself at once: it hands its waker to the scheduler of this thread, which wakes
//! it after the next driver turn. Off a scheduler's thread, the wake happens at once.

use std::cell::Cell;
use std::ptr::NonNull;
use std::task::Waker;

/// What a scheduler does for the code that runs on its thread.
pub trait Host {
    /// Keeps `waker` and wakes it after the driver has been polled.
    fn defer(&self, waker: &Waker);

    /// A task is made to yield since its budget is used up: `waker` will be deferred. For the metrics.
    fn forced_yield(&self, _waker: &Waker) {}
}

nezumi_prim::thread_local! {
    static HOST: Cell<Option<NonNull<dyn Host>>> = Cell::new(None);
}

/// Puts the former host back when dropped.
#[derive(Debug)]
pub struct HostGuard {
    former: Option<NonNull<dyn Host>>,
}

/// Makes `host` the one that this thread defers to, until the guard is dropped.
///
/// # Safety
///
/// `host` must stay valid, and must stay at its address, until the guard is dropped; guards are dropped in the reverse
/// of the order in which they were made.
pub unsafe fn set_host(host: Option<NonNull<dyn Host>>) -> HostGuard {
    HostGuard { former: HOST.with(|cell| cell.replace(host)) }
}

impl Drop for HostGuard {
    fn drop(&mut self) {
        HOST.with(|cell| cell.set(self.former));
    }
}

/// Wakes `waker` after the driver of this thread's scheduler has been polled; at once where there is no scheduler.
pub fn defer(waker: &Waker) {
    match HOST.with(Cell::get) {
        // SAFETY: `set_host`'s caller keeps the host valid until its guard is dropped, which clears this cell.
        Some(host) => unsafe { host.as_ref() }.defer(waker),
        None => waker.wake_by_ref(),
    }
}

pub(crate) fn forced_yield(waker: &Waker) {
    if let Some(host) = HOST.with(Cell::get) {
        // SAFETY: as in `defer`.
        unsafe { host.as_ref() }.forced_yield(waker);
    }
}
