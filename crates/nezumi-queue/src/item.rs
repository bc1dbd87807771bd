use nezumi_prim::sync::atomic::AtomicPtr;
use std::ptr::NonNull;

/// An owned pointer with one link word inside what it points to: what the queues hold.
///
/// The runtime implements it for the right to poll a task once. Whoever holds the item holds the link: nobody else reads
/// or writes it, and a queue leaves in it whatever it last needed.
///
/// # Safety
///
/// - `into_raw` gives the ownership away until `from_raw` is called, once, with the same pointer.
/// - `link` finds the same word each time, which lives at least as long as the item is owned as a raw pointer.
/// - If the type is `Send`, then so is what `into_raw` returned, and the link may be used from wherever it went.
pub unsafe trait Item: Sized {
    /// Turns the item into its pointer.
    fn into_raw(self) -> NonNull<()>;

    /// Turns the pointer back into the item.
    ///
    /// # Safety
    ///
    /// `ptr` came from `into_raw`, and has not been turned back since.
    unsafe fn from_raw(ptr: NonNull<()>) -> Self;

    /// The link word of the item.
    ///
    /// # Safety
    ///
    /// `ptr` came from `into_raw`, and is not turned back for as long as the reference is used.
    unsafe fn link<'a>(ptr: NonNull<()>) -> &'a AtomicPtr<()>;
}

/// What the tests of this crate put in queues.
#[cfg(test)]
pub(crate) mod tests {
    use super::Item;
    use nezumi_prim::sync::atomic::AtomicPtr;
    use std::ptr::{self, NonNull};

    /// Between two looks of a thread that has nothing else to do. Miri, which runs one thread at a time, would wait long for it to stop by chance.
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    pub(crate) fn take_turns() {
        if cfg!(miri) {
            std::thread::yield_now();
        }
    }

    /// An owned number. Lost ones are leaks that Miri reports; doubled ones are double frees.
    #[derive(Debug)]
    pub(crate) struct Num(Box<Node>);

    #[derive(Debug)]
    struct Node {
        value: u32,
        link: AtomicPtr<()>,
    }

    impl Num {
        pub(crate) fn new(value: u32) -> Self {
            Num(Box::new(Node { value, link: AtomicPtr::new(ptr::null_mut()) }))
        }

        pub(crate) fn value(&self) -> u32 {
            self.0.value
        }
    }

    // SAFETY: a box, leaked and found again; the link is a field of what it points to.
    unsafe impl Item for Num {
        fn into_raw(self) -> NonNull<()> {
            NonNull::from(Box::leak(self.0)).cast()
        }

        unsafe fn from_raw(ptr: NonNull<()>) -> Self {
            // SAFETY: by contract from `into_raw`, which leaked a box.
            Num(unsafe { Box::from_raw(ptr.cast::<Node>().as_ptr()) })
        }

        unsafe fn link<'a>(ptr: NonNull<()>) -> &'a AtomicPtr<()> {
            // SAFETY: by contract from `into_raw` and not freed yet.
            unsafe { &(*ptr.cast::<Node>().as_ptr()).link }
        }
    }
}
