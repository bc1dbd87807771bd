//! An owned chain of items: how they travel from one queue to another.
//!
//! Called by every queue of this crate and by the scheduler. Knows nothing of threads: a batch has one owner, who reads
//! and writes the links with relaxed accesses; what hands the batch to another thread (a CAS, a lock) orders them.
//!
//! Promise: first in, first out; no allocation; what is dropped drops its items, the later ones even if one panics.
//!
//! Tests: `a_batch_keeps_its_order`, `a_dropped_batch_drops_its_items`, `a_panicking_item_does_not_keep_the_rest`.

use crate::Item;
use nezumi_prim::sync::atomic::Ordering::Relaxed;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// An owned, singly linked chain of items.
pub struct Batch<T: Item> {
    /// Null exactly when `len` is 0.
    head: *mut (),
    /// The last item. Meaningless when `len` is 0. Its link is meaningless, too.
    tail: *mut (),
    len: usize,
    _items: PhantomData<T>,
}

// SAFETY: a batch owns its items, and nothing else.
unsafe impl<T: Item + Send> Send for Batch<T> {}
// SAFETY: through `&Batch` one reads the length only.
unsafe impl<T: Item + Send> Sync for Batch<T> {}

impl<T: Item> Default for Batch<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Item> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("len", &self.len).finish()
    }
}

impl<T: Item> Batch<T> {
    /// A batch of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { head: ptr::null_mut(), tail: ptr::null_mut(), len: 0, _items: PhantomData }
    }

    /// How many items it holds.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds nothing.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an item after the others.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        // SAFETY: the pointer is fresh from `into_raw`, and owned by nobody else.
        unsafe { self.push_back_raw(item.into_raw()) }
    }

    /// Takes the first item out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = self.pop_front_raw()?;
        // SAFETY: it went in through `push_back_raw`, whose caller gave us the ownership, and has just left the chain.
        Some(unsafe { T::from_raw(item) })
    }

    /// Moves all items of `other` behind those of `self`.
    pub fn append(&mut self, other: &mut Batch<T>) {
        let Some((head, tail, len)) = other.take_chain() else { return };
        // SAFETY: a chain that was owned by `other`, which has let go of it.
        unsafe { self.append_chain(head, tail, len) }
    }

    /// Splits the first `count` items off, or all if there are fewer. Walks along them.
    #[must_use]
    pub fn split_front(&mut self, count: usize) -> Batch<T> {
        let mut front = Batch::new();
        if count >= self.len {
            std::mem::swap(&mut front, self);
            return front;
        }
        while front.len < count {
            let Some(item) = self.pop_front_raw() else { break };
            // SAFETY: owned by `self` until the line before.
            unsafe { front.push_back_raw(item) }
        }
        front
    }

    /// # Safety
    ///
    /// `item` came from `T::into_raw`, and the caller gives its ownership to the batch.
    #[inline]
    pub(crate) unsafe fn push_back_raw(&mut self, item: NonNull<()>) {
        // SAFETY: a chain of one, handed on.
        unsafe { self.append_chain(item, item, 1) }
    }

    #[inline]
    pub(crate) fn pop_front_raw(&mut self) -> Option<NonNull<()>> {
        let head = NonNull::new(self.head)?;
        self.len -= 1;
        self.head = if self.len == 0 {
            ptr::null_mut()
        } else {
            // SAFETY: the batch owns the item. It is not the last, so its link leads to the next.
            unsafe { T::link(head) }.load(Relaxed)
        };
        Some(head)
    }

    /// Gives the chain away: first item, last item, length. The last item's link is meaningless.
    pub(crate) fn take_chain(&mut self) -> Option<(NonNull<()>, NonNull<()>, usize)> {
        let head = NonNull::new(self.head)?;
        let tail = NonNull::new(self.tail)?;
        let len = std::mem::take(&mut self.len);
        self.head = ptr::null_mut();
        Some((head, tail, len))
    }

    /// # Safety
    ///
    /// From `head`, `len - 1` links lead to `tail`, and the caller gives the ownership of all these items to the batch.
    pub(crate) unsafe fn append_chain(&mut self, head: NonNull<()>, tail: NonNull<()>, len: usize) {
        match NonNull::new(self.tail) {
            // SAFETY: the batch is not empty and owns its last item.
            Some(last) if self.len > 0 => unsafe { T::link(last) }.store(head.as_ptr(), Relaxed),
            _ => self.head = head.as_ptr(),
        }
        self.tail = tail.as_ptr();
        self.len += len;
    }
}

impl<T: Item> Drop for Batch<T> {
    fn drop(&mut self) {
        while let Some(item) = self.pop_front() {
            // If the drop of an item panics, the rest goes with this.
            let rest = std::mem::take(self);
            drop(item);
            *self = rest;
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Batch;
    use crate::Item;
    use crate::item::tests::Num;
    use nezumi_prim::sync::atomic::AtomicPtr;
    use std::ptr::NonNull;
    use std::sync::Arc;

    fn batch(values: std::ops::Range<u32>) -> Batch<Num> {
        let mut batch = Batch::new();
        values.for_each(|value| batch.push_back(Num::new(value)));
        batch
    }

    fn values(mut batch: Batch<Num>) -> Vec<u32> {
        std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
    }

    #[test]
    fn a_batch_keeps_its_order() {
        let mut first = batch(0..3);
        let mut second = batch(3..6);
        first.append(&mut second);
        first.append(&mut second);
        assert!(second.is_empty() && second.pop_front().is_none());
        second.append(&mut first);
        assert_eq!((first.len(), second.len()), (0, 6));
        let front = second.split_front(2);
        second.push_back(Num::new(6));
        assert_eq!(values(front), [0, 1]);
        assert_eq!(values(second.split_front(9)), [2, 3, 4, 5, 6]);
        assert!(second.is_empty());
        second.push_back(Num::new(7));
        assert_eq!(values(second), [7]);
    }

    /// An item that counts by its `Arc`, and panics when it is dropped if its number is 1.
    struct Bomb {
        num: Num,
        _alive: Arc<()>,
    }

    // SAFETY: a box, leaked and found again, with the link beside the item.
    unsafe impl Item for Bomb {
        fn into_raw(self) -> NonNull<()> {
            let link = AtomicPtr::<()>::new(std::ptr::null_mut());
            NonNull::from(Box::leak(Box::new((self, link)))).cast()
        }

        unsafe fn from_raw(ptr: NonNull<()>) -> Self {
            // SAFETY: by contract from `into_raw`, which leaked a box of this type.
            let boxed = unsafe { Box::from_raw(ptr.cast::<(Bomb, AtomicPtr<()>)>().as_ptr()) };
            boxed.0
        }

        unsafe fn link<'a>(ptr: NonNull<()>) -> &'a AtomicPtr<()> {
            // SAFETY: by contract from `into_raw` and not freed yet.
            unsafe { &(*ptr.cast::<(Bomb, AtomicPtr<()>)>().as_ptr()).1 }
        }
    }

    impl Drop for Bomb {
        fn drop(&mut self) {
            assert_ne!(self.num.value(), 1, "an item that panics");
        }
    }

    fn bombs(values: std::ops::Range<u32>, alive: &Arc<()>) -> Batch<Bomb> {
        let mut batch = Batch::new();
        values.for_each(|value| batch.push_back(Bomb { num: Num::new(value), _alive: alive.clone() }));
        batch
    }

    #[test]
    fn a_dropped_batch_drops_its_items() {
        let alive = Arc::new(());
        drop(bombs(2..5, &alive));
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn a_panicking_item_does_not_keep_the_rest() {
        let alive = Arc::new(());
        let batch = bombs(0..4, &alive);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(batch))).unwrap_err();
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
