//! Runtime ids.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// The identity of a runtime, unique in the process.
///
/// # Examples
///
/// ```
/// use nezumi::runtime::{Handle, Runtime};
///
/// let (one, other) = (Runtime::new().unwrap(), Runtime::new().unwrap());
/// assert_ne!(one.handle().id(), other.handle().id());
/// assert_eq!(one.block_on(async { Handle::current().id() }), one.handle().id());
/// ```
#[derive(Clone, Copy, Debug, Hash, Eq, PartialEq)]
pub struct Id(NonZeroU64);

impl Id {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NonZeroU64::new(NEXT.fetch_add(1, Ordering::Relaxed)).expect("2^64 runtimes are not made"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
