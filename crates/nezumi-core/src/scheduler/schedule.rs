//! Where a runnable goes.
//!
//! Called by the wakers of tasks, by `spawn`, and by `task::run` when a task ends. Decides between the ring of the worker that this thread
//! is, the core of a single-threaded runtime, and the inject queue.

use super::worker::Worker;
use super::{Home, Shard, context};
use crate::task::{Header, Runnable};
use std::ptr::{self, NonNull};

/// A task was woken. `shard` is its home; valid until the runnable is given away.
#[inline]
pub(super) fn woken(shard: NonNull<Shard>, runnable: Runnable) {
    place(shard, runnable, |worker, runnable| worker.push(runnable, true));
}

/// A task was woken during its own poll.
#[inline]
pub(super) fn yielded(shard: NonNull<Shard>, runnable: Runnable) {
    place(shard, runnable, |worker, runnable| worker.push_again(runnable));
}

#[inline]
fn place(shard: NonNull<Shard>, runnable: Runnable, push: impl FnOnce(&Worker, Runnable)) {
    // SAFETY: valid at this point.
    let home = unsafe { shard.as_ref() };
    home.becomes_runnable(runnable.header());
    let shared = ptr::from_ref(home.shared());
    context::with(|context| {
        if let Some(worker) = context.running_worker() {
            if ptr::eq(worker.shared(), shared) {
                return push(worker, runnable);
            }
        } else if let Some(core) = context.running_core() {
            if ptr::eq(core.shared(), shared) {
                return core.push(runnable);
            }
        }
        place_from_outside(shard, runnable);
    });
}

#[cold]
#[inline(never)]
fn place_from_outside(shard: NonNull<Shard>, runnable: Runnable) {
    // The task may be run and freed, and its runtime with it, while we are still waking a worker: a home of our own keeps it.
    // SAFETY: valid at this point, since the runnable has not been given away.
    let home = unsafe { Home::of(shard) };
    home.shared().inject(runnable);
}

/// A task of `shard` is complete. Whether the registry gave up its reference.
#[inline]
pub(super) fn release(shard: NonNull<Shard>, task: &Header) -> bool {
    // SAFETY: the task's home keeps the shard.
    let shard = unsafe { shard.as_ref() };
    context::with(|context| {
        let by_owner = context.owns(shard);
        // SAFETY: the task was inserted in this registry, or in none; `by_owner` was just looked up.
        let released = unsafe { shard.registry.remove(task, by_owner) };
        if let Some(worker) = context.running_worker() {
            worker.shard().counters.completed.add(1);
        } else if let Some(core) = context.running_core() {
            core.shard().counters.completed.add(1);
        } else {
            shard.shared().outside_completed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        released
    })
}
