//! The macros of the public face, and what their expansions call.
//!
//! Every expansion reaches its helpers by `$crate`, so the macros work under any name a program knows this crate by,
//! and through the facade `tokio`, which re-exports them.

#[cfg(feature = "macros")]
mod join;
mod pin;
#[cfg(feature = "macros")]
mod select;
#[cfg(feature = "rt")]
mod task_local;
#[cfg(feature = "macros")]
mod try_join;

pub mod support;
