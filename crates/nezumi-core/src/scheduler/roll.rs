//! A call of the roll: which tasks a runtime has, and what they are at.
//!
//! Called by `dump`, and by `watch` for the task of one poll, from a thread that owns none of it. It looks through the registries of all shards in one look of the grace period
//! (`dump::grace`), so that no task is freed meanwhile; no worker is asked for anything, and none can keep it waiting.
//!
//! What it says was true of each task at some moment of the look. Which worker a running task is polled by follows from the address that each
//! worker writes down at the beginning of a poll: addresses are not used again during the look.
//!
//! Tests: `tests/it/dump.rs`.

#![cfg_attr(any(nezumi_loom, nezumi_shuttle), allow(dead_code))]

use super::shared::Shared;
use crate::dump::{Grace, Refused};
use crate::task::{Header, Id, Runnable};
use std::panic::Location;
use std::ptr;
use std::time::{Duration, Instant};

/// A task that is alive.
#[derive(Debug)]
pub(crate) struct Present {
    pub(crate) id: Id,
    pub(crate) name: Option<Box<str>>,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) doing: Doing,
}

impl Present {
    fn of(task: &Header, doing: Doing) -> Self {
        Self { id: task.id(), name: task.name().map(Into::into), spawned_at: task.spawned_at(), doing }
    }
}

/// What a task was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Idle,
    Scheduled,
    /// In a poll; of this worker, where that is known.
    Polled(Option<CurrentPoll>),
}

/// A poll that may still be going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CurrentPoll {
    /// The number of the shard.
    pub(crate) shard: usize,
    /// The number of the poll.
    pub(crate) begun: u64,
}

/// All tasks of the runtime. If `wake`, those that are idle are woken, and those that are polled will be once more: the runnables are to be submitted.
///
/// # Errors
///
/// Where the system refuses what a look rests on.
pub(crate) fn call(
    shared: &Shared,
    grace: &Grace,
    wake: bool,
) -> Result<(Vec<Present>, Vec<Runnable>), Refused> {
    let (mut present, mut woken) = (Vec::new(), Vec::new());
    grace.look(|| {
        let polls = current_polls(shared);
        for shard in shared.all_shards() {
            let look_at = |task: &Header| {
                let state = task.state();
                if state.is_complete() {
                    return;
                }
                let doing = if state.is_running() {
                    Doing::Polled(poll_of(shared, &polls, ptr::from_ref(task).cast()))
                } else if state.is_notified() {
                    Doing::Scheduled
                } else {
                    Doing::Idle
                };
                present.push(Present::of(task, doing));
                if wake {
                    // SAFETY: it is not freed during the look, and it was in a slot, so that the registry, or who shuts it down, holds a reference
                    // until it is polled.
                    woken.extend(unsafe { Runnable::of_idle(task) });
                }
            };
            // SAFETY: this is a look of the grace that tasks of a runtime name.
            unsafe { shard.registry.look(look_at) };
        }
    })?;
    Ok((present, woken))
}

/// The task of this poll, as long as its worker begins no other. Of other tasks no more than their addresses is looked at.
pub(crate) fn polled_in(shared: &Shared, grace: &Grace, poll: CurrentPoll) -> Option<Present> {
    let polling = &shared.shard(poll.shard).polling;
    // Read before the heavy fence of the look: if it is the task of a later poll, the number of that one is seen after the fence.
    let running = polling.running();
    let mut found = None;
    let looked = grace.look(|| {
        if polling.begun() != poll.begun {
            return;
        }
        for shard in shared.all_shards() {
            let look_at = |task: &Header| {
                if ptr::eq(ptr::from_ref(task).cast(), running) && task.state().is_running() {
                    found = Some(Present::of(task, Doing::Polled(Some(poll))));
                }
            };
            // SAFETY: this is a look of the grace that tasks of a runtime name.
            unsafe { shard.registry.look(look_at) };
        }
    });
    looked.ok().and(found)
}

/// How long a worker has been in this poll, as far as the watch and the other workers have seen.
pub(crate) fn lasts(shared: &Shared, poll: CurrentPoll) -> Option<Duration> {
    let since_us = shared.shard(poll.shard).sight.since(poll.begun)?;
    Some(Duration::from_micros(shared.micros(Instant::now()).saturating_sub(since_us)))
}

/// The polls that workers are in, or were in last, with the addresses of their tasks.
fn current_polls(shared: &Shared) -> Vec<(*const (), CurrentPoll)> {
    let of_shard = |shard: &super::Shard| {
        let polling = &shard.polling;
        let begun = polling.begun();
        let is_awake =
            polling.is_driven() && !(shared.is_multi_thread() && shared.idle.is_sleeping(shard.index()));
        is_awake.then(|| (polling.running(), CurrentPoll { shard: shard.index(), begun }))
    };
    shared.crew_shards().filter_map(of_shard).collect()
}

/// The poll of the task at this address. Where two workers have written it down, one of them has left it since; which one is seen at another look.
fn poll_of(shared: &Shared, polls: &[(*const (), CurrentPoll)], task: *const ()) -> Option<CurrentPoll> {
    if !shared.is_multi_thread() {
        // There is one who polls, and he writes no addresses down.
        return polls.first().map(|(_, poll)| *poll);
    }
    let mut of_task = polls.iter().filter(|(running, _)| ptr::eq(*running, task)).map(|(_, poll)| *poll);
    of_task.next().filter(|_| of_task.next().is_none())
}
