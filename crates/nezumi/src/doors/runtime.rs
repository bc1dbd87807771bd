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
    RuntimeMetrics, TaskMeta, TryCurrentError, UnhandledPanic, is_rt_shutdown_err, worker_index,
};
