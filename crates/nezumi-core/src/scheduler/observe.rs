//! Polls that somebody wants to see: with hooks around them, with their duration or the wait before them measured, with a
//! priority for the children, or with a name for the watch to tell.
//!
//! Called by the schedulers, only where the builder asked for it.

use super::shared::Shared;
use super::{Home, Shard};
use crate::runtime::TaskMeta;
use crate::task::{self, Priority, Runnable, TaskRef};
use std::cell::Cell;
use std::time::{Duration, Instant};

nezumi_prim::thread_local! {
    /// Of the task that is polled here, where its children inherit it.
    static PRIORITY: Cell<Option<Priority>> = Cell::new(None);
}

/// The priority of the task that runs on this thread, in a runtime whose tasks inherit it.
pub(super) fn current_priority() -> Option<Priority> {
    PRIORITY.with(Cell::get)
}

/// Runs the task with what the configuration asks for around it.
pub(super) fn run(shared: &Shared, shard: &Shard, runnable: Runnable) {
    let hooks = &shared.config.hooks;
    // The task may be over, and gone, after its poll: a reference of our own keeps what the hooks are told.
    let task = runnable.task_ref();
    let now = (shard.waits().is_some() || shard.poll_times().is_some()).then(Instant::now);
    let waited = now.and_then(|now| end_of_wait(shard, &task, now));
    let meta = TaskMeta::of(&task).polled_after(waited);
    if hooks.stuck.is_some() {
        shard.polling.is_of(task.id(), task.spawned_at());
    }
    if let Some(hook) = &hooks.before_poll {
        hook(&meta);
    }
    // The hook is not part of the poll.
    let began = if hooks.before_poll.is_some() { now.map(|_| Instant::now()) } else { now };
    // No panic comes out of a poll.
    let outer =
        PRIORITY.with(|priority| priority.replace(shared.config.inherit_priority.then(|| task.priority())));
    shared.dumps.poll(task.id(), runnable);
    PRIORITY.with(|priority| priority.set(outer));
    if let (Some(times), Some(began)) = (shard.poll_times(), began) {
        times.record(began.elapsed());
    }
    if let Some(hook) = &hooks.after_poll {
        hook(&meta);
    }
}

/// How long the task has been runnable, where that is measured; counted for this worker.
#[cold]
fn end_of_wait(shard: &Shard, task: &TaskRef, now: Instant) -> Option<Duration> {
    let waits = shard.waits()?;
    // SAFETY: what a worker or a core polls was spawned on a runtime, and so with a home; the reference keeps it.
    let home: &Home = unsafe { task::scheduler_of(task.as_ptr()) };
    let waited = home.shard().waits()?.until(now, task)?;
    waits.record(waited);
    Some(waited)
}
