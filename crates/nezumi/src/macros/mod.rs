//! The macros of the public face, and what their expansions call.
//!
//! Every expansion reaches its helpers by `$crate`, so the macros work under any name a program knows this crate by,
//! and through the facade `tokio`, which re-exports them.

#[cfg(feature = "macro-rules")]
mod join;
mod pin;
#[cfg(feature = "macro-rules")]
mod select;
#[cfg(feature = "rt")]
mod task_local;
#[cfg(feature = "macro-rules")]
mod try_join;

pub mod support;
