//! What the tests have in common: runtimes, and a place for files.

use nezumi::runtime::{Builder, Runtime};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

pub(crate) fn current_thread() -> Runtime {
    // No driver is needed.
    Builder::new_current_thread().build().unwrap()
}

pub(crate) fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A runtime with one blocking thread, so that [`stall`] stops all of them.
pub(crate) fn one_blocking_thread() -> Runtime {
    Builder::new_current_thread().max_blocking_threads(1).build().unwrap()
}

/// Keeps the one blocking thread busy until what is returned is dropped: no hop ends before that.
pub(crate) fn stall() -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    nezumi::task::spawn_blocking(move || released.recv());
    release
}

/// Runs `test` on each kind of runtime.
pub(crate) fn on_each<F: Future<Output = ()>>(test: impl Fn() -> F) {
    current_thread().block_on(test());
    multi_thread().block_on(test());
}

/// Polls `future` once.
pub(crate) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A directory on a disk that goes away with it.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("fs-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir(&path).unwrap();
        TempDir(path)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// A file with these contents.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, contents).unwrap();
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// So many bytes, none of them like its neighbours.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}
