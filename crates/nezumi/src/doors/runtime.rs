//! Building a runtime, entering it, and looking into it.
//!
//! Most programs need none of this: [`#[nezumi::main]`](crate::main) builds a runtime and runs `main` in it. Build one
//! yourself to set what the attribute cannot, to have more than one, or to embed one in a program that is not
//! asynchronous:
//!
//! ```
//! let runtime = nezumi::runtime::Builder::new_multi_thread()
//!     .worker_threads(2)
//!     .thread_name("work")
//!     .enable_all()
//!     .build()?;
//!
//! assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
//! # Ok::<_, std::io::Error>(())
//! ```

#[doc(inline)]
pub use nezumi_core::runtime::{
    Builder, EnterGuard, Handle, HistogramConfiguration, HistogramScale, Id, InvalidHistogramConfiguration,
    LocalOptions, LocalRuntime, LogHistogram, LogHistogramBuilder, RngSeed, Runtime, RuntimeFlavor,
    RuntimeMetrics, StuckTask, TaskMeta, TryCurrentError, UnhandledPanic, is_rt_shutdown_err, worker_index,
};

#[doc(inline)]
pub use self::dump::Dump;

/// What all tasks of a runtime are at, and where a future waits.
///
/// - [`Handle::dump`] asks all tasks of a runtime. Each tells by its [`Trace`](dump::Trace) where it waits.
/// - [`Trace::capture`](dump::Trace::capture) asks one future, from within the task that polls it.
/// - [`StuckTask::backtrace`] tells where a task is that does not come back from a poll.
///
/// Stacks are taken with the feature `taskdump`; without it all traces are empty.
pub mod dump {
    #[doc(inline)]
    pub use nezumi_core::dump::{
        Backtrace, BacktraceFrame, BacktraceSymbol, Dump, Root, Task, TaskState, Tasks, Trace, TraceMeta,
        trace_with,
    };
    #[doc(hidden)]
    pub use nezumi_wake::{defer::defer, leaf::trace_leaf};
}
