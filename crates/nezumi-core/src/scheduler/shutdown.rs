//! How a runtime ends.
//!
//! Called by `runtime` (to begin) and `thread` (each worker's part). Every worker cancels the tasks of its own shard, drops what is in its
//! ring, and leaves; the last one does the same for the outside shards and the shared queues, then ends the driver and the timers. A worker
//! that sits in a task that blocks leaves when that is over; whoever waits for it waits as long as they said.
//!
//! Promise: every task is dropped exactly once: those that are idle or queued by this, those that run by their poller when it sees
//! the mark. A task spawned meanwhile is refused and dropped at once. No future is dropped under a lock.

use super::Shard;
use super::shared::Shared;
use super::worker::Worker;
use nezumi_queue::Ring;
use nezumi_wake::contain;
use std::sync::atomic::Ordering;

/// Begins the shutdown of a multi-threaded runtime. Idempotent.
pub(crate) fn begin(shared: &Shared) {
    if shared.set_shutting_down() {
        for inject in &shared.inject {
            inject.close();
        }
        for index in 0..shared.crew() {
            shared.wake(index);
        }
        shared.watch.stop();
    }
}

/// Waits for the watch to end, at last: the threads of the pool have had their time meanwhile. If `patient` also for a hook that the watch is in.
pub(crate) fn join_watch(shared: &Shared, patient: bool) {
    shared.watch.join(patient);
}

/// The worker has seen the shutdown, and ends.
pub(super) fn end_worker(worker: &Worker) {
    let shard = worker.shard();
    let shared = worker.shared();
    // What it did since its last look was work, too; and a worker that was built counts as having been busy.
    worker.upkeep.measure(worker);
    let counters = shard.counters();
    if counters.parked.get() == 0 {
        // One whose thread came only for the end finds nothing to do, as Tokio's does: there it parks before it looks whether that is all.
        counters.parked.add(1);
        counters.parked_unparked.add(2);
    }
    if worker.searching.replace(false) {
        // Whatever was pushed and trusted this searcher is cancelled with the rest.
        let _ = shared.idle.stop_searching();
    }
    // SAFETY: this thread owns the shard, and is where its tasks may be dropped.
    unsafe {
        let len = shard.registry.close();
        shard.registry.shut_down(len);
        worker.drop_deferred();
        drain(shard);
    }
    worker.given_up.set(true);
    super::context::give_up_worker();
    if let Some(spare) = worker.spare {
        shared.spares.ended(spare);
    }
    leave(shared, shard);
}

/// A worker whose thread could not be started ends without having begun.
pub(super) fn worker_never_ran(shared: &Shared, index: usize) {
    leave(shared, shared.shard(index));
}

/// One more worker, a spare, must leave before the runtime is at its end. Whether it may still begin.
pub(super) fn spare_begins(shared: &Shared) -> bool {
    let one_more = |left: usize| (left > 0).then_some(left + 1);
    // Relaxed: only the count matters; what the spare needs is handed to it with its job.
    shared.workers_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
}

/// A spare has left, and its shard lies dormant.
pub(super) fn spare_left(shared: &Shared) {
    one_has_left(shared);
}

fn one_has_left(shared: &Shared) {
    // AcqRel: the last to leave sees all that the others did.
    if shared.workers_left.fetch_sub(1, Ordering::AcqRel) == 1 {
        end_rest(shared);
    }
}

fn leave(shared: &Shared, shard: &Shard) {
    one_has_left(shared);
    // SAFETY: the owner's part ends here, for this thread has been, or would have been, the owner; `handle`, which the caller holds,
    // keeps the shared part past this.
    unsafe { shard.disown() };
}

/// Cancels what was spawned from outside, and has what comes from there refused. Idempotent.
pub(super) fn cancel_outside_tasks(shared: &Shared) {
    for shard in shared.outside_shards() {
        let len = {
            let _owner = shard.registry_lock.lock();
            // SAFETY: the lock makes us the owner.
            unsafe { shard.registry.close() }
        };
        // SAFETY: tasks spawned from outside are `Send`, and their futures may be dropped on any thread.
        unsafe { shard.registry.shut_down(len) };
    }
}

/// All workers have left: ends what belongs to none of them.
pub(super) fn end_rest(shared: &Shared) {
    cancel_outside_tasks(shared);
    for shard in shared.outside_shards() {
        // SAFETY: outside shards have no other owner than the last worker, for the counts of homes.
        unsafe { shard.disown() };
    }
    for (spare, shard) in shared.spare_shards() {
        if shared.spares.is_dormant(spare) {
            // SAFETY: a dormant shard has no owner, and will have none any more: that makes us its last. Its queues are empty, and its tasks,
            // as all of a runtime that has spares, are `Send`.
            unsafe {
                let len = shard.registry.close();
                shard.registry.shut_down(len);
                shard.disown();
            }
        }
    }
    for inject in &shared.inject {
        // Whoever began the shutdown may be half way through its own close: this one does not return before the queue is closed, and what is
        // in it is waited for, not passed by. What stayed in it would keep its task, and so the runtime, for ever.
        inject.close();
        drop(inject.take_all());
    }
    while let Some(batch) = shared.relay.pop(0) {
        drop(batch);
    }
    if let Some(handle) = &shared.driver {
        let driver = shared.driver_seat.lock().take();
        if let Some(mut driver) = driver {
            driver.shutdown(handle);
        }
    }
    for shard in shared.crew_shards() {
        // Wakers are user code: one that panics must not keep the rest from being told.
        contain(|| shard.timers.shutdown());
    }
}

/// Drops what is in a shard's rings.
///
/// # Safety
///
/// The caller owns the shard.
pub(super) unsafe fn drain(shard: &Shard) {
    fn all<const N: usize>(ring: &Ring<crate::task::Runnable, N>) {
        // SAFETY: the caller of `drain` owns the shard.
        while let Some(runnable) = unsafe { ring.pop_front() } {
            drop(runnable);
        }
    }
    all(&shard.ring);
    all(&shard.high);
    all(&shard.background);
    // SAFETY: as said.
    drop(unsafe { shard.yielded.take_all() });
}
