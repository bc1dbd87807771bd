//! Scenes: what programs do, a few milliseconds at a time.
//!
//! Each follows from a seed, enters its tasks in the ledger, and checks its own outcome: what was sent has arrived, what was counted adds up, no
//! timer was early. A scene that panics has found a fault.

mod cancel;
mod channels;
mod compute;
mod panics;
mod runtimes;
mod sockets;
mod timers;

pub(crate) use panics::{OnPurpose, silence_those_on_purpose};

use crate::ledger;
use crate::seed::{Rand, Seed};
use crate::task::{Output, cancellable, tracked};
use crate::watchdog::OnStage;
use nezumi::task::JoinHandle;
use std::future::Future;
use std::pin::Pin;

type Play = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One kind of scene.
#[derive(Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// How often it is chosen, next to the others.
    weight: u32,
    play: fn(Rand) -> Play,
}

macro_rules! scenes {
    ($($weight:literal $module:ident::$name:ident)*) => {
        &[$(Scene {
            name: concat!(stringify!($module), "::", stringify!($name)),
            weight: $weight,
            play: |rand| Box::pin($module::$name(rand)),
        }),*]
    };
}

/// All there are.
pub(crate) const SCENES: &[Scene] = scenes! {
    10 compute::spawn_storm
    8 compute::chains
    8 compute::yields
    6 compute::priorities
    5 compute::blocks_in_polls
    8 compute::block_in_place
    8 compute::blocking_jobs
    6 compute::spawns_from_outside
    10 timers::sleeps
    6 timers::moved
    6 timers::timeouts
    4 timers::intervals
    10 sockets::tcp_echo
    5 sockets::tcp_broken_off
    8 sockets::unix_streams
    5 sockets::datagrams
    8 cancel::aborts
    8 cancel::sets
    8 cancel::selects
    8 panics::in_polls
    6 panics::in_drops
    10 channels::many_to_one
    8 channels::ping_pong
    6 channels::watch_and_broadcast
    8 channels::locks
    6 channels::notify
    4 runtimes::of_one_thread
    3 runtimes::of_several
    1 runtimes::child_processes
};

/// A choice among those whose name contains `filter`, by their weights.
pub(crate) fn choose(rand: &mut Rand, filter: &str) -> Option<Scene> {
    let scenes = || SCENES.iter().filter(|scene| scene.name.contains(filter));
    let sum: u32 = scenes().map(|scene| scene.weight).sum();
    if sum == 0 {
        return None;
    }
    let mut left = rand.below(sum);
    scenes().copied().find(|scene| {
        let is_it = left < scene.weight;
        left = left.saturating_sub(scene.weight);
        is_it
    })
}

/// Plays one scene to its end. What it finds to be wrong is a fault.
pub(crate) async fn play(scene: Scene, seed: Seed) {
    let on_stage = OnStage::enter(scene.name, seed);
    let task = spawn((scene.play)(seed.rand()));
    if let Err(error) = task.await {
        ledger::fault(&format!("{} with seed {seed}: {error}", scene.name));
    }
    drop(on_stage);
}

/// Spawns a task that must complete.
fn spawn<F>(future: F) -> JoinHandle<Output<F::Output>>
where
    F: Future<Output: Send> + Send + 'static,
{
    nezumi::spawn(tracked(future))
}

/// Spawns a task that may be cancelled; also one that nobody waits for, since the runtime may end first.
fn spawn_cancellable<F>(future: F) -> JoinHandle<Output<F::Output>>
where
    F: Future<Output: Send> + Send + 'static,
{
    nezumi::spawn(cancellable(future))
}
