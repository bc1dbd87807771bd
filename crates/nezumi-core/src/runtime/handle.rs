//! A handle to a runtime.

/// A handle to a runtime.
#[derive(Clone, Debug)]
pub struct Handle(());

/// No runtime is entered on this thread.
#[derive(Debug)]
pub struct TryCurrentError(());

impl Handle {
    /// The runtime entered on this thread.
    #[track_caller]
    pub fn current() -> Handle {
        todo!()
    }

    /// The runtime entered on this thread, if any.
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        todo!()
    }

    /// The I/O driver of the runtime.
    ///
    /// # Panics
    ///
    /// When the runtime was built without one.
    #[track_caller]
    #[doc(hidden)]
    pub fn io(&self) -> &crate::driver::Handle {
        todo!()
    }
}
