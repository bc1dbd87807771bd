//! Timers: from a deadline to a wake.
//!
//! In reading order: [`Clock`] (what time it is, and how it may be stopped), `node` (one timer, as the wheel sees it),
//! [`Wheel`] (pure: in which order timers are due), [`Timers`] (one shard's wheel behind its lock, and the time until which
//! its worker may sleep), `notes` (timers that need no wheel yet), [`Entry`] (one timer, as a future sees it).
//!
//! Called by `crate::time` (arms and cancels) and by the scheduler (sleeps no longer than [`Timers::next_deadline_ms`], then
//! calls [`Timers::advance`]). Knows of the scheduler only [`Home`](crate::scheduler::Home).
//!
//! Units: a *tick* is a millisecond since the runtime started, a `u64`. The present is rounded down to a tick and a deadline
//! up, so that no timer is ever early. [`NEVER`] stands for no deadline.
//!
//! Promise: a timer armed while the worker of its shard falls asleep is not slept past.
//!
//! ```text
//! armer                                   sleeper (the shard's worker)
//! A1 insert, store `earliest`             S1 set my idle bit
//! A2 fence(SeqCst)                        S2 fence(SeqCst)
//! A3 `Home::timer_armed`: read idle bit   S3 read `earliest`, sleep until then at the most
//! ```
//!
//! If A2 is first, S3 sees the deadline. If S2 is first, A3 sees the sleeper and wakes it. A1 to A3 are needed only when the
//! new deadline is earlier than `earliest`, which is never later than the first timer of the wheel: it is lowered when a
//! timer is armed, and raised only by who has looked in the wheel, both under the lock. A cancelled timer leaves it too
//! early, which costs one vain look. Loom: `models::armed_while_falling_asleep`.

mod clock;
mod entry;
mod lock;
mod node;
pub(crate) mod notes;
mod timers;
mod wheel;

#[cfg(all(test, nezumi_loom))]
mod models;

pub use clock::Clock;
pub(crate) use clock::now;
pub use entry::{Entry, ShutDown};
pub use node::Node;
pub use timers::Timers;
pub use wheel::{Popped, Wheel};

/// No deadline at all: later than every tick.
pub const NEVER: u64 = u64::MAX;

/// The latest deadline there is. Whatever would be later is this: 584 million years.
///
/// The few values between this and [`NEVER`] are states of a [`Node`] that has no deadline.
pub const LATEST_MS: u64 = u64::MAX - 16;
