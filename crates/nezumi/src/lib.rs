//! Nezumi

#[doc(hidden)]
pub mod macros;

#[cfg(feature = "rt")]
pub mod task {
    //! Tasks.
    pub use nezumi_core::spawn::task_local::LocalKey;
    pub mod futures {
        //! Futures.
        pub use nezumi_core::spawn::task_local::TaskLocalFuture;
    }
}
