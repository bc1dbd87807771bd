//! The one switch between the standard library and the model checkers.
//!
//! Every lock-free structure of Nezumi takes its atomics, cells, locks and threads from here. An ordinary build gets
//! the standard library's; `--cfg nezumi_loom` gets loom's, `--cfg nezumi_shuttle` shuttle's, `--cfg nezumi_chaos` the standard
//! library's with hold-ups, and `--cfg nezumi_count` the same with counters. No other crate of the workspace names a model checker outside its tests.
//!
//! Beside the switch stand the few primitives that everything above needs: [`CachePadded`], [`Parker`],
//! [`FastRand`], and memory that a thread uses over and over ([`block`]).
//!
//! What a model cannot express is said where it is worked around: loom treats `SeqCst` accesses as `AcqRel` and honours
//! only `fence(SeqCst)`; shuttle treats every ordering as `SeqCst`.

pub mod block;
pub mod cell;
#[cfg(nezumi_chaos)]
pub mod chaos;
#[cfg(nezumi_count)]
pub mod count;
pub mod hint;
pub mod sync;
pub mod thread;
pub mod time;

#[doc(hidden)]
pub mod local;

mod pad;
mod parker;
mod rand;

pub use pad::CachePadded;
pub use parker::Parker;
pub use rand::FastRand;
