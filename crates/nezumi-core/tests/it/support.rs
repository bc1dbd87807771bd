//! What several modules need.

use nezumi_core::runtime::{Builder, Runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A multi-threaded runtime with so many workers.
pub(crate) fn runtime(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all();
    if workers == 1 {
        // Who asks for one means that tasks run one after the other, also where the machine is so crowded that the worker seems stuck.
        builder.max_spare_workers(0);
    }
    builder.build().unwrap()
}

/// A current-thread runtime.
pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Counts what is alive.
#[derive(Clone, Default)]
pub(crate) struct Census(Arc<AtomicUsize>);

/// Alive until dropped.
pub(crate) struct Alive(Arc<AtomicUsize>);

impl Census {
    pub(crate) fn enter(&self) -> Alive {
        self.0.fetch_add(1, Ordering::SeqCst);
        Alive(self.0.clone())
    }

    pub(crate) fn alive(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for what other threads are about to do. Ten seconds are for ever.
#[track_caller]
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "still not so after 10 s: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Uses the processor for about so long.
pub(crate) fn burn(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}
