//! How a workload gets onto a runtime.

use super::{rt, tune};
use crate::case::Setup;

/// A runtime as users build it.
pub(super) fn runtime(setup: &Setup) -> rt::runtime::Runtime {
    let mut builder = rt::runtime::Builder::new_multi_thread();
    builder.worker_threads(setup.workers).enable_all();
    tune(&mut builder);
    builder.build().expect("the runtime could not be built")
}

/// Runs `future` as a task, so that what it does is done by a worker and not by the thread that waits for it.
pub(super) fn on_worker<T: Send + 'static>(
    runtime: &rt::runtime::Runtime,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    runtime.block_on(async { rt::spawn(future).await.unwrap() })
}
