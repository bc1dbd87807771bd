//! Whether the gateway takes work, finishes it, or drops it.
//!
//! Shared by `serve`, every session and every tunnel; turned by `serve` alone, and only forward.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The three stages of a gateway's life: serving, then `drain`, then `cut`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Life {
    /// Take nothing new, finish what is under way.
    pub(crate) drain: CancellationToken,
    /// Drop what is still under way.
    pub(crate) cut: CancellationToken,
    /// All that a drain waits for.
    pub(crate) tasks: TaskTracker,
}
