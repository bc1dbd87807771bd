//! What a builder has decided.

use super::histogram::HistogramConfiguration;
use super::hooks::Hooks;
use super::seed::Seeds;
use crate::task::Priority;
use std::thread::ThreadId;
use std::time::Duration;

/// Which scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    CurrentThread,
    MultiThread,
}

/// The settings of one runtime. Never changes once it is built.
pub(crate) struct Config {
    pub(crate) flavor: Flavor,
    /// The only thread that may run it, where that is so.
    pub(crate) local_to: Option<ThreadId>,
    pub(crate) workers: usize,
    pub(crate) name: Option<String>,
    pub(crate) enable_time: bool,
    pub(crate) start_paused: bool,
    /// Steps between two looks at driver and timers.
    pub(crate) event_interval: u32,
    /// Steps between two looks at the inject queue first; tuned by the workers where it is `None`.
    pub(crate) global_queue_interval: Option<u32>,
    pub(crate) events_per_busy_turn: Option<usize>,
    pub(crate) disable_lifo_slot: bool,
    pub(crate) eager_driver_handoff: bool,
    /// Timers end with the runtime, instead of failing.
    pub(crate) alt_timer: bool,
    pub(crate) shutdown_on_panic: bool,
    pub(crate) watch: bool,
    /// How many may stand in for blocked workers at once.
    pub(crate) max_spare_workers: usize,
    /// A poll that takes longer is reported.
    pub(crate) stuck_after: Duration,
    /// By which a stuck thread is asked for its stack.
    pub(crate) stuck_signal: Option<i32>,
    /// Of tasks for which the program says none.
    pub(crate) default_priority: Priority,
    /// Such tasks have that of the task that spawns them, if one does.
    pub(crate) inherit_priority: bool,
    /// Either of the two is not as usual.
    pub(crate) ranks_tasks: bool,
    /// The processors that the workers are bound to, in turn.
    #[cfg(target_os = "linux")]
    pub(crate) affinity: Option<Vec<usize>>,
    pub(crate) hooks: Hooks,
    /// A hook or a histogram wants to see each poll.
    pub(crate) observes_polls: bool,
    pub(crate) poll_time_histogram: Option<HistogramConfiguration>,
    /// How long tasks wait to be polled is measured: for the hooks, and for the histogram, where there is one.
    pub(crate) tracks_waits: bool,
    pub(crate) schedule_latency_histogram: Option<HistogramConfiguration>,
    pub(crate) seeds: Seeds,
}

impl Config {
    pub(crate) fn is_multi_thread(&self) -> bool {
        self.flavor == Flavor::MultiThread
    }

    /// The processor that a worker is bound to, if any.
    #[cfg(target_os = "linux")]
    pub(crate) fn core_of(&self, worker: usize) -> Option<usize> {
        let cores = self.affinity.as_ref()?;
        cores.get(worker % cores.len().max(1)).copied()
    }
}
