//! Memory for what is made and freed all the time: tasks, and channels for one value.
//!
//! A thread that runs a scheduler keeps a few of the blocks that it freed, by size, and makes the next ones of them: a pop from a list of its own
//! where the allocator takes some twenty nanoseconds for the pair. All other threads go to the allocator.
//!
//! A block may be freed on another thread than it was made on; it then stays with that one. Nothing is shared, so there is nothing to
//! synchronise. What is kept is bounded by `KEPT_BYTES` for each size.
//!
//! Tests: below.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// Sizes are multiples of this.
const STEP: usize = 64;
/// How many sizes are kept; what is larger goes to the allocator.
const SIZES: usize = 8;
/// How much of each size a thread keeps at most. None under Miri, which is there to see each block freed.
const KEPT_BYTES: usize = if cfg!(miri) { 0 } else { 16 * 1024 };

/// In the first word of a block that is kept.
struct Link {
    next: *mut Link,
}

/// The blocks that one thread keeps.
pub struct Blocks {
    lists: [List; SIZES],
}

struct List {
    first: Cell<*mut Link>,
    len: Cell<usize>,
}

crate::thread_local! {
    static HERE: Cell<*const Blocks> = Cell::new(ptr::null());
}

/// Gives the thread back what it kept its blocks in before.
#[derive(Debug)]
pub struct Kept<'a> {
    former: *const Blocks,
    _blocks: PhantomData<&'a Blocks>,
}

impl Blocks {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { lists: [const { List { first: Cell::new(ptr::null_mut()), len: Cell::new(0) } }; SIZES] }
    }

    /// This thread keeps its blocks here until the guard is dropped.
    ///
    /// # Safety
    ///
    /// The guard is dropped, on this thread, before `self` goes or moves to another thread; guards are dropped in the reverse order.
    pub unsafe fn keep_here(&self) -> Kept<'_> {
        Kept { former: HERE.with(|here| here.replace(self)), _blocks: PhantomData }
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.lists.iter().map(|list| list.len.get());
        f.debug_list().entries(kept).finish()
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        HERE.with(|here| here.set(self.former));
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (size, list) in self.lists.iter().enumerate() {
            while let Some(block) = list.pop() {
                // SAFETY: it was allocated with the layout of its size, and is in nobody else's hands.
                unsafe { dealloc(block.as_ptr().cast(), layout_of(size)) };
            }
        }
    }
}

impl List {
    #[inline]
    fn pop(&self) -> Option<NonNull<Link>> {
        let block = NonNull::new(self.first.get())?;
        // SAFETY: what is in the list is ours, and its first word is a link.
        self.first.set(unsafe { block.as_ref().next });
        self.len.set(self.len.get() - 1);
        Some(block)
    }

    #[inline]
    fn push(&self, block: NonNull<Link>) {
        // SAFETY: the block is ours, and at least a link long.
        unsafe { block.write(Link { next: self.first.get() }) };
        self.first.set(block.as_ptr());
        self.len.set(self.len.get() + 1);
    }
}

/// Which size a `T` takes; `None` if the allocator is to be asked for each.
const fn size_of_block<T>() -> Option<usize> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 || layout.size() > STEP * SIZES || layout.align() > 16 {
        return None;
    }
    Some((layout.size() - 1) / STEP)
}

const fn layout_of(size: usize) -> Layout {
    match Layout::from_size_align((size + 1) * STEP, 16) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

/// Room for a `T` on the heap, to be written in place: what is built elsewhere and moved here costs a copy of all of it.
#[inline]
#[must_use]
pub fn room<T>() -> NonNull<T> {
    const { assert!(size_of::<T>() > 0, "what takes no room needs none") };
    let Some(size) = (const { size_of_block::<T>() }) else {
        return allocate(Layout::new::<T>()).cast();
    };
    // SAFETY: what stands there is valid, by the contract of `keep_here`.
    let kept = unsafe { HERE.with(Cell::get).as_ref() }.and_then(|blocks| blocks.lists[size].pop());
    kept.unwrap_or_else(|| allocate(layout_of(size)).cast()).cast()
}

#[inline(never)]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: `room` lets nothing through that is of size zero.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Drops a value that was written into [`room`], and frees the room.
///
/// # Safety
///
/// `value` stands in a `room`, and nobody uses it any more.
#[inline]
pub unsafe fn free<T>(value: NonNull<T>) {
    /// Frees the memory also when the value's drop panics.
    struct Block<T>(NonNull<T>);

    impl<T> Drop for Block<T> {
        #[inline]
        fn drop(&mut self) {
            let layout = match const { size_of_block::<T>() } {
                None => Layout::new::<T>(),
                Some(size) => {
                    // SAFETY: as in `room`.
                    let kept = unsafe { HERE.with(Cell::get).as_ref() };
                    if let Some(list) = kept.map(|blocks| &blocks.lists[size]) {
                        if (list.len.get() + 1) * (size + 1) * STEP <= KEPT_BYTES {
                            return list.push(self.0.cast());
                        }
                    }
                    layout_of(size)
                }
            };
            // SAFETY: `allocate` made it, with this layout.
            unsafe { dealloc(self.0.as_ptr().cast(), layout) };
        }
    }

    let block = Block(value);
    // SAFETY: the caller's promise.
    unsafe { block.0.drop_in_place() };
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{Blocks, KEPT_BYTES, STEP, free, room};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr::NonNull;
    use std::sync::Arc;

    fn boxed<T>(value: T) -> NonNull<T> {
        let room = room();
        // SAFETY: it is ours.
        unsafe { room.write(value) };
        room
    }

    #[test]
    fn a_freed_block_is_the_next_of_its_size() {
        let blocks = Blocks::new();
        // SAFETY: the guard goes before the blocks.
        let _here = unsafe { blocks.keep_here() };
        let first = boxed([1u8; 100]);
        // SAFETY: made above, and not used again; so below.
        unsafe { free(first) };
        let (other, second) = (boxed([3u8; 50]), boxed([2u8; 120]));
        if !cfg!(miri) {
            assert_eq!(second.cast(), first);
        }
        assert_ne!(other.cast(), first);
        // SAFETY: as above.
        unsafe {
            assert_eq!((other.as_ref()[49], second.as_ref()[119]), (3, 2));
            free(other);
            free(second);
        }
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let blocks = Blocks::new();
        // SAFETY: as above.
        let _here = unsafe { blocks.keep_here() };
        let all: Vec<_> = (0..2 * KEPT_BYTES / STEP + 2).map(|_| boxed([0u64; 8])).collect();
        // SAFETY: as above.
        all.into_iter().for_each(|block| unsafe { free(block) });
        assert_eq!(blocks.lists[0].len.get(), KEPT_BYTES / STEP);
    }

    #[test]
    fn a_block_may_be_freed_where_it_was_not_made() {
        let blocks = Blocks::new();
        let value = Arc::new(());
        let made = {
            // SAFETY: as above.
            let _here = unsafe { blocks.keep_here() };
            boxed((value.clone(), [0u64; 20]))
        };
        // Here nobody keeps any.
        // SAFETY: as above.
        unsafe { free(made) };
        assert_eq!(Arc::strong_count(&value), 1);
        assert_eq!(blocks.lists.iter().map(|list| list.len.get()).sum::<usize>(), 0);
    }

    #[test]
    fn a_value_whose_drop_panics_gives_its_block_back() {
        struct Panics([u64; 4]);

        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("{} on purpose", self.0[0]);
            }
        }

        let blocks = Blocks::new();
        // SAFETY: as above.
        let _here = unsafe { blocks.keep_here() };
        let made = boxed(Panics([7; 4]));
        // SAFETY: as above.
        assert!(catch_unwind(AssertUnwindSafe(|| unsafe { free(made) })).is_err());
        assert_eq!(blocks.lists[0].len.get(), usize::from(!cfg!(miri)));
    }

    #[test]
    fn what_is_large_or_widely_aligned_goes_to_the_allocator() {
        #[repr(align(64))]
        struct Wide([u8; 64]);

        let blocks = Blocks::new();
        // SAFETY: as above.
        let _here = unsafe { blocks.keep_here() };
        let (large, wide) = (boxed([0u8; 5000]), boxed(Wide([0; 64])));
        assert_eq!(wide.as_ptr().addr() % 64, 0);
        // SAFETY: as above.
        unsafe {
            assert_eq!((large.as_ref()[4999], wide.as_ref().0[63]), (0, 0));
            free(large);
            free(wide);
        }
        assert_eq!(blocks.lists.iter().map(|list| list.len.get()).sum::<usize>(), 0);
    }
}
