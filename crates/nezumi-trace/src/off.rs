//! The same face with nothing behind it. Documented in `on`.
#![allow(missing_docs, clippy::missing_safety_doc)]

use crate::{Kind, Spawned, StuckPoll};
use std::time::Duration;

pub type Traced<F> = F;
pub type Operation<F> = F;

#[inline(always)]
pub fn task<F>(_kind: Kind, _spawned: Spawned<'_>, future: F) -> F {
    future
}

#[inline(always)]
pub fn block_on<F>(_next_id: impl FnOnce() -> u64, future: F) -> F {
    future
}

#[inline(always)]
pub fn blocking<C, F>(_spawned: Spawned<'_>, future: F) -> F {
    future
}

#[inline(always)]
#[must_use]
pub fn hears_of_stuck_polls() -> bool {
    false
}

#[inline(always)]
pub fn poll_is_stuck(_stuck: &StuckPoll<'_>) {}

#[inline(always)]
pub fn polled(_op_name: &'static str, _is_ready: bool) {}

/// Methods that do nothing.
macro_rules! nothing {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(#[inline(always)]
        pub fn $name(&self, $($argument: $type),*) {
            let _ = ($($argument,)*);
        })*
    };
}

#[derive(Clone, Copy, Debug)]
pub struct TaskSpan;

impl TaskSpan {
    #[inline(always)]
    pub fn of<F>(_future: &F) -> Self {
        Self
    }

    nothing! {
        waker_cloned();
        waker_woken();
        waker_woken_by_ref();
        waker_dropped();
    }
}

#[derive(Clone, Debug)]
pub struct Resource;

impl Resource {
    #[must_use]
    pub const fn none() -> Self {
        Self
    }

    #[inline(always)]
    pub fn in_scope<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }

    #[must_use]
    pub const fn barrier(_size: usize) -> Self {
        Self
    }

    #[must_use]
    pub const fn oneshot() -> Self {
        Self
    }

    #[must_use]
    pub const fn sleep() -> Self {
        Self
    }

    #[must_use]
    pub const fn interval() -> Self {
        Self
    }

    nothing! {
        arrived(is_leader: bool);
        tx_dropped();
        rx_dropped();
        value_sent();
        value_received();
        armed(duration: Duration);
    }

    #[inline(always)]
    pub fn operation<F>(&self, _source: &'static str, _poll_op: &'static str, make: impl FnOnce() -> F) -> F {
        make()
    }

    #[must_use]
    pub const fn receive(&self) -> Waiting {
        Waiting
    }

    #[must_use]
    pub const fn wait_for_timer(&self, _source: &'static str) -> Waiting {
        Waiting
    }
}

#[derive(Clone, Debug)]
pub struct Waiting;

#[must_use]
#[derive(Debug)]
pub struct Inside;

impl Inside {
    #[inline(always)]
    pub const fn leave(self) {}
}

impl Waiting {
    #[inline(always)]
    pub const fn enter(&self, _resource: &Resource) -> Inside {
        Inside
    }
}

#[derive(Clone, Debug)]
pub struct Permits;

impl Permits {
    #[must_use]
    pub const fn none() -> Self {
        Self
    }

    #[must_use]
    pub const fn of_channel() -> Self {
        Self
    }

    #[must_use]
    pub const fn of_semaphore(_permits: usize) -> Self {
        Self
    }

    #[must_use]
    pub const fn of_mutex() -> Self {
        Self
    }

    #[must_use]
    pub const fn of_rwlock(_max_readers: u32) -> Self {
        Self
    }

    #[inline(always)]
    pub fn operation<F>(&self, _source: &'static str, make: impl FnOnce() -> F) -> F {
        make()
    }

    #[inline(always)]
    pub fn acquisition<F>(&self, _source: &'static str, make: impl FnOnce() -> F) -> F {
        make()
    }

    #[must_use]
    pub const fn acquire(&self, _permits: usize) -> Waiting {
        Waiting
    }

    #[inline(always)]
    pub const fn enter(&self, _waiting: &Waiting) -> Inside {
        Inside
    }

    nothing! {
        polled(is_ready: bool);
        taken(permits: usize);
        added(permits: usize);
        obtained(permits: usize);
        served(granted: Granted);
        locked(locked: bool);
        reader_came();
        reader_left();
        write_locked(locked: bool);
    }
}

#[derive(Debug, Default)]
pub struct Slot;

impl Slot {
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub const unsafe fn keep(&self, _waiting: &Waiting) {}
}

#[derive(Debug, Default)]
pub struct Granted;

impl Granted {
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub const unsafe fn push(&mut self, _slot: &Slot, _permits: usize) {}
}
