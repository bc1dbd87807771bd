//! Polls that somebody wants to see: with hooks around them, with their duration measured, with a priority for the
//! children, or with a name for the watch to tell.
//!
//! Called by the schedulers, only where the builder asked for it.

use super::Shard;
use super::shared::Shared;
use crate::runtime::TaskMeta;
use crate::task::{Priority, Runnable};
use std::cell::Cell;
use std::time::Instant;

thread_local! {
    /// Of the task that is polled here, where its children inherit it.
    static PRIORITY: Cell<Option<Priority>> = const { Cell::new(None) };
}

/// The priority of the task that runs on this thread, in a runtime whose tasks inherit it.
pub(super) fn current_priority() -> Option<Priority> {
    PRIORITY.get()
}

/// Runs the task with what the configuration asks for around it.
pub(super) fn run(shared: &Shared, shard: &Shard, runnable: Runnable) {
    let hooks = &shared.config.hooks;
    // The task may be over, and gone, after its poll: a reference of our own keeps what the hooks are told.
    let task = runnable.task_ref();
    let meta = TaskMeta::of(&task);
    if hooks.stuck.is_some() {
        shard.polling.is_of(task.id(), task.spawned_at());
    }
    if let Some(hook) = &hooks.before_poll {
        hook(&meta);
    }
    let began = shard.poll_times().map(|_| Instant::now());
    // No panic comes out of a poll.
    let outer = PRIORITY.replace(shared.config.inherit_priority.then(|| task.priority()));
    shared.dumps.poll(task.id(), runnable);
    PRIORITY.set(outer);
    if let (Some(times), Some(began)) = (shard.poll_times(), began) {
        times.record(began.elapsed());
    }
    if let Some(hook) = &hooks.after_poll {
        hook(&meta);
    }
}
