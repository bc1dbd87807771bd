//! How a runtime is built, entered and left.
//!
//! [`Builder`] decides, [`Runtime`] is what it makes, [`Handle`] reaches it from everywhere. All work is done in `scheduler`; here is what a
//! program sees.

mod builder;
mod config;
mod handle;
mod histogram;
mod hooks;
mod id;
mod local;
mod metrics;
#[allow(clippy::module_inception)]
mod runtime;
mod seed;

pub(crate) use builder::processors;
pub use builder::{Builder, UnhandledPanic};
pub(crate) use config::{Config, Flavor};
pub(crate) use handle::NO_RUNTIME;
pub use handle::{EnterGuard, Handle, TryCurrentError};
pub(crate) use histogram::Histogram;
pub use histogram::{
    HistogramConfiguration, HistogramScale, InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder,
};
pub use hooks::{StuckTask, TaskMeta};
pub use id::Id;
pub(crate) use local::spawn_on_current as spawn_local_on_current;
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;
pub use runtime::Runtime;
pub use seed::RngSeed;

use nezumi_wake::entered::{self, EnteredGuard};
use std::io;

/// Which scheduler a runtime has.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Handle, RuntimeFlavor};
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// // `block_in_place` needs other threads that take over.
/// let may_block_in_place = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
/// assert!(!may_block_in_place);
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeFlavor {
    /// Everything on the thread that calls `block_on`.
    CurrentThread,
    /// Workers that steal from each other.
    MultiThread,
}

/// Whether an error came from a socket, or another resource, whose runtime has been shut down.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::is_rt_shutdown_err;
///
/// assert!(!is_rt_shutdown_err(&std::io::Error::other("something else")));
/// ```
#[must_use]
pub fn is_rt_shutdown_err(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Other
        && error.get_ref().is_some_and(|inner| {
            inner.source().is_none() && inner.to_string() == crate::driver::gone().to_string()
        })
}

/// The number of the worker that runs here; `None` off the workers. A spare has the number of the worker that it stands in for.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Builder, worker_index};
///
/// let rt = Builder::new_multi_thread().worker_threads(2).build().unwrap();
/// let index = rt.block_on(rt.spawn(async { worker_index() })).unwrap();
/// assert!(index.unwrap() < 2);
/// assert_eq!(worker_index(), None);
/// ```
#[must_use]
pub fn worker_index() -> Option<usize> {
    use crate::scheduler::context;
    context::with(|context| match context.running_worker() {
        Some(worker) => Some(worker.stands_for()),
        None => context.running_core().map(|_| 0),
    })
}

/// Marks this thread as one that drives tasks.
#[track_caller]
fn enter_or_panic(allow_block_in_place: bool) -> EnteredGuard {
    match entered::enter(allow_block_in_place) {
        Some(guard) => guard,
        // Not in a closure, which would be the place of the panic.
        None => panic!(
            "Cannot start a runtime from within a runtime. This happens because a function (like `block_on`) attempted to block the \
             current thread while the thread is being used to drive asynchronous tasks. If you are in an async function, use `.await` \
             on the future instead of blocking on it. In code that must block, call this in `spawn_blocking` or `block_in_place`."
        ),
    }
}
