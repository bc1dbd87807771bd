//! Polls that somebody wants to see: with hooks around them, or with their duration measured.
//!
//! Called by the schedulers, only where the builder asked for it.

use super::Shard;
use super::shared::Shared;
use crate::runtime::TaskMeta;
use crate::task::Runnable;
use std::time::Instant;

/// Runs the task with what the configuration asks for around it.
pub(super) fn run(shared: &Shared, shard: &Shard, runnable: Runnable) {
    let hooks = &shared.config.hooks;
    // The task may be over, and gone, after its poll: a reference of our own keeps what the hooks are told.
    let task = runnable.task_ref();
    let meta = TaskMeta::of(&task);
    if let Some(hook) = &hooks.before_poll {
        hook(&meta);
    }
    let began = shard.poll_times().map(|_| Instant::now());
    runnable.run();
    if let (Some(times), Some(began)) = (shard.poll_times(), began) {
        times.record(began.elapsed());
    }
    if let Some(hook) = &hooks.after_poll {
        hook(&meta);
    }
}
