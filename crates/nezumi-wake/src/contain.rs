//! Where a panic of the program's code ends.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code that is not ours, and says whether it panicked. That has been reported by the panic hook by then.
pub fn contain(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => false,
        Err(payload) => {
            drop_payload(payload);
            true
        }
    }
}

/// Drops what a panic carried. That is the program's code, too: where it panics in turn, what that one carries is leaked, since there is no
/// knowing how long it would go on.
pub fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::contain;
    use std::panic::panic_any;

    /// Panics when dropped, with another of its kind.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }

    #[test]
    fn a_payload_that_panics_goes_no_further() {
        assert!(!contain(|| ()));
        assert!(contain(|| panic_any(Bomb)));
    }
}
