//! A cheap way to hold on to a runtime.

/// A counted reference to one shard of a runtime: the worker on whose thread it was made, or, off the workers, a shard
/// shared by outside threads. Cloning it touches a cache line of that shard only, never one that all workers share.
///
/// Timers, tasks and whatever else must find its runtime again holds one of these. It keeps the runtime's memory alive,
/// not the runtime running.
#[derive(Debug)]
pub struct Home(());

impl Home {
    /// The shard of this thread: of the worker it is, else of the runtime it has entered. `None` outside a runtime.
    pub fn current() -> Option<Home> {
        todo!()
    }

    /// Whether both are of the same runtime.
    pub fn same_runtime(&self, _other: &Home) -> bool {
        todo!()
    }

    /// Whether both are the same shard.
    pub fn same_shard(&self, _other: &Home) -> bool {
        todo!()
    }

    /// Whether this thread is at home here: `Home::current` would return the same shard. Counts nothing.
    pub fn is_current(&self) -> bool {
        todo!()
    }

    /// The timers of this shard.
    pub fn timers(&self) -> &crate::timer::Timers {
        todo!()
    }

    /// The runtime's clock.
    pub fn clock(&self) -> &crate::timer::Clock {
        todo!()
    }

    /// Whether the runtime was built with time enabled.
    pub fn time_enabled(&self) -> bool {
        todo!()
    }

    /// Tells the scheduler that `deadline_ms` is now the earliest of this shard's timers. Called under no lock. Wakes
    /// whoever sleeps past it.
    pub fn timer_armed(&self, _deadline_ms: u64) {
        todo!()
    }
}

impl Clone for Home {
    fn clone(&self) -> Self {
        todo!()
    }
}
