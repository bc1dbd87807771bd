//! What several modules need.

use nezumi_core::runtime::{Builder, Runtime};
use std::ffi::OsString;
use std::fs::DirEntry;
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

/// How many threads of this process have a name that begins so; `None` where the system does not say.
pub(crate) fn threads_called(name: &str) -> Option<usize> {
    Some(numbers_of_threads(name)?.len())
}

/// Which they are.
pub(crate) fn numbers_of_threads(name: &str) -> Option<Vec<OsString>> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    // The system keeps 15 bytes of a name. A thread may end while we look.
    let name = &name[..name.len().min(15)];
    let is_called = |thread: &DirEntry| {
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|found| found.starts_with(name))
    };
    Some(threads.flatten().filter(is_called).map(|thread| thread.file_name()).collect())
}

/// Runs `test` in a process of its own, in which no other test begins threads or opens descriptors. `name` is the test's.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "NEZUMI_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|alone| alone == name) {
        return test();
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
