//! TODO

pub mod oneshot;

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod testing;
