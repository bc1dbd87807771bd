//! An `UnsafeCell` whose every access goes through a closure, so that loom can see it.

#[cfg(nezumi_loom)]
pub use loom::cell::UnsafeCell;

/// Interior mutability without checks. Under loom every access is tracked and a race is reported.
#[cfg(not(nezumi_loom))]
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized>(core::cell::UnsafeCell<T>);

#[cfg(not(nezumi_loom))]
impl<T> UnsafeCell<T> {
    /// Wraps `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Takes the value out.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

#[cfg(not(nezumi_loom))]
impl<T: ?Sized> UnsafeCell<T> {
    /// Runs `f` with a pointer for reading. The caller owes that no write overlaps.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        #[cfg(nezumi_chaos)]
        crate::chaos::point();
        f(self.0.get())
    }

    /// Runs `f` with a pointer for writing. The caller owes that no other access overlaps.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(nezumi_chaos)]
        crate::chaos::point();
        f(self.0.get())
    }
}
