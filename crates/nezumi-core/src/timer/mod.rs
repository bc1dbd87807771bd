//! Not written yet.

/// The timers of one shard.
#[derive(Debug)]
pub struct Timers(());

/// The clock of one runtime.
#[derive(Debug)]
pub struct Clock(());
