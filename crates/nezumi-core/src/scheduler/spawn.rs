//! How a future becomes a task of a runtime.
//!
//! Called by `spawn` and `runtime`. On a worker: one allocation, one slot of the worker's own registry, one push on its own ring. From
//! elsewhere: the registry of an outside shard, under its lock, and the inject queue.

use super::{Home, Shard, Shared, context, current_thread, observe};
use crate::runtime::{Handle, TaskMeta};
use crate::task::{self, JoinHandle, Origin, Runnable, TaskRef};
use std::future::Future;
use std::ptr;
use std::sync::atomic::Ordering;

/// Spawns on the runtime of this thread.
///
/// # Errors
///
/// The future, outside a runtime.
#[inline]
pub(crate) fn on_current<F>(future: F, origin: Origin<'_>) -> Result<JoinHandle<F::Output>, F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    context::with(|context| {
        match context.current_shard() {
            // SAFETY: the future is `Send` and `'static`.
            Some(shard) => Ok(unsafe { on_shard(shard, future, origin) }),
            None => Err(future),
        }
    })
}

/// Spawns on this runtime, from whatever thread.
pub(crate) fn on<F>(shared: &Shared, future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    context::with(|context| {
        let here = context.current_shard().filter(|shard| ptr::eq(shard.shared(), shared));
        // SAFETY: the future is `Send` and `'static`.
        unsafe { on_shard(here.unwrap_or_else(|| shared.outside_shard()), future, origin) }
    })
}

/// Spawns in `shard` if this thread owns it, else in one that has no owner.
///
/// # Safety
///
/// Where the future is not `Send`, this thread owns the shard of a single-threaded runtime, and is the only one that ever does.
#[inline]
pub(crate) unsafe fn on_shard<F: Future>(
    shard: &Shard,
    future: F,
    origin: Origin<'_>,
) -> JoinHandle<F::Output> {
    let origin = with_priority(shard.shared(), origin);
    if context::with(|context| context.owns(shard)) {
        // SAFETY: `shard` is valid, and the caller vouches for the future.
        let (runnable, join) = unsafe { task::new_task(future, Home::of(shard.as_ptr()), origin) };
        shard.counters.spawned.add(1);
        // SAFETY: this thread owns the shard; the task is not shared yet, and one reference was counted for the registry.
        let registered = unsafe { shard.registry.insert(runnable.as_ptr()) };
        if registered.is_err() {
            refuse(runnable);
            return join;
        }
        report(shard.shared(), &runnable);
        shard.becomes_runnable(runnable.header());
        place(shard, runnable);
        return join;
    }
    // SAFETY: the caller vouches for the future.
    unsafe { from_outside(shard.shared(), future, origin) }
}

/// Where the program did not say how urgent the task is, the runtime does, if it was told to.
#[inline]
fn with_priority<'a>(shared: &Shared, origin: Origin<'a>) -> Origin<'a> {
    if origin.priority.is_some() || !shared.config.ranks_tasks {
        return origin;
    }
    let inherited = if shared.config.inherit_priority { observe::current_priority() } else { None };
    Origin { priority: inherited.or(Some(shared.config.default_priority)), ..origin }
}

#[inline]
fn place(shard: &Shard, runnable: Runnable) {
    context::with(|context| {
        if let Some(worker) = context.running_worker() {
            worker.push(runnable, true);
        } else if let Some(core) = context.running_core() {
            core.push(runnable);
        } else {
            // An owner that runs nothing now: in shutdown.
            shard.shared().inject(runnable);
        }
    });
}

/// # Safety
///
/// As for [`on_shard`].
#[cold]
#[inline(never)]
unsafe fn from_outside<F: Future>(shared: &Shared, future: F, origin: Origin<'_>) -> JoinHandle<F::Output> {
    let shard = shared.outside_shard();
    // SAFETY: `shard` is valid, and the caller vouches for the future.
    let (runnable, join) = unsafe { task::new_task(future, Home::of(shard.as_ptr()), origin) };
    shared.outside_spawned.fetch_add(1, Ordering::Relaxed);
    let registered = {
        let _owner = shard.registry_lock.lock();
        // SAFETY: the lock makes us the owner; the rest as above.
        unsafe { shard.registry.insert(runnable.as_ptr()) }
    };
    if registered.is_err() {
        refuse(runnable);
        return join;
    }
    report(shared, &runnable);
    shard.becomes_runnable(runnable.header());
    shared.inject(runnable);
    join
}

/// The runtime is shutting down: the future is dropped at once, and the handle says that it was cancelled.
#[cold]
fn refuse(runnable: Runnable) {
    // SAFETY: the reference that was counted for the registry, which did not take it.
    let registrys = unsafe { TaskRef::from_header(runnable.as_ptr()) };
    runnable.cancel();
    drop(registrys);
}

#[inline]
fn report(shared: &Shared, runnable: &Runnable) {
    if let Some(hook) = &shared.config.hooks.task_spawned {
        hook(&TaskMeta::of(runnable.header()));
    }
}

/// Spawns a future that need not be `Send` on a local runtime, whose thread this is.
#[track_caller]
pub(crate) fn local<F>(handle: &Handle, future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let shard = handle.shared().shard(0);
    if context::with(|context| context.owns(shard)) {
        // SAFETY: this thread owns the shard of a local runtime, and no other thread ever does.
        return unsafe { on_shard(shard, future, origin) };
    }
    // SAFETY: as above, while `f` runs.
    current_thread::as_owner(handle, |_| unsafe { on_shard(shard, future, origin) })
        .expect("a local runtime runs on one thread, so that nobody else has its core")
}
