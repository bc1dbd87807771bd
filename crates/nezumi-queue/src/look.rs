//! The load before a CAS, and what a model must do for loom to see it.
//!
//! Loom orders its search by the *last* access to each word. A thread that loads and then tries a CAS replaces, with its
//! own load, the one of another thread that would have to be tried the other way round; so of two threads that both load
//! and CAS, it tries few interleavings. A model that calls [`densely`] has these loads made as a CAS that fails, which loom
//! does remember, and which sees the newest value only. Every model runs both ways: densely for the interleavings, and
//! plainly for stale values.

use nezumi_prim::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Loads the cursors of a ring.
#[inline(always)]
pub(crate) fn cursors(word: &AtomicU64, order: Ordering) -> u64 {
    #[cfg(all(test, nezumi_loom))]
    if is_dense() {
        // No cursors look like this.
        return word.compare_exchange(u64::MAX, u64::MAX, order, order).unwrap_or_else(|seen| seen);
    }
    word.load(order)
}

/// Loads the head of a chain.
#[inline(always)]
pub(crate) fn chain(word: &AtomicPtr<()>, order: Ordering) -> *mut () {
    #[cfg(all(test, nezumi_loom))]
    if is_dense() {
        // No item has this address.
        let nobody = std::ptr::without_provenance_mut(3);
        return word.compare_exchange(nobody, nobody, order, order).unwrap_or_else(|seen| seen);
    }
    word.load(order)
}

#[cfg(all(test, nezumi_loom))]
pub(crate) use dense::check;

#[cfg(all(test, nezumi_loom))]
use dense::is_dense;

#[cfg(all(test, nezumi_loom))]
mod dense {
    use std::cell::Cell;

    // Loom runs all threads of a model on the thread that called it.
    thread_local! {
        static DENSE: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn is_dense() -> bool {
        DENSE.get()
    }

    /// Runs the model plainly, then densely.
    pub(crate) fn check(model: impl Fn() + Sync + Send + Copy + 'static) {
        for dense in [false, true] {
            DENSE.set(dense);
            loom::model(model);
        }
    }
}
