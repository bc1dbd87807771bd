//! A chain of blocks of slots, as long as the messages under way need it, with blocks used over and over.
//!
//! Called by `store`. Knows nothing of what is in the slots.
//!
//! A sender claims a position by one `fetch_add` on the tail's word and finds its slot through the tail's block pointer, if
//! that block is the one of its position. Once in `BLOCK` messages it is not, and the *book* is opened: a lock, held for
//! a few instructions and never over an allocation, under which blocks are found, added, and given back. The receiver opens
//! it when it has finished a block.
//!
//! Promise: a claimed position's slot exists until its message is received; a block is used again, or freed, only when
//! nobody can touch it any more; a channel whose length is steady allocates nothing.
//!
//! Who may touch a block:
//! 1. The sender of a position in it, until that message is READY. The receiver has not passed it until then.
//! 2. The receiver, while its head is in it.
//! 3. Any sender that has just read the block pointer, to compare `start`. That is the one to look out for:
//!
//! ```text
//! sender                                   whoever moves the pointer on, under the lock
//! S1 fetch_add the word: claim p           M1 store the pointer to a later block
//! S2 load the pointer: block b             M2 known_until(b) = fetch_add(word, 0)
//! S3 read b.start
//! ```
//!
//! If S1 is first (before M2), then p is before known_until(b), and the receiver's head does not pass p before the sender is
//! done. If M2 is first, S1 sees M1 and S2 finds a later block. So b is free once the head has come to known_until(b).
//!
//! A sender that is slow between S1 and S2 may find the pointer beyond its block: it looks it up in the book, from the oldest
//! block on. Blocks only ever are in one of three places: in the chain from `oldest` to `newest`, in `limbo` (finished by the
//! receiver, perhaps known to a sender), or among the `spare`.
//!
//! Tests: `tests::chain` (steady state allocates nothing, surplus is freed, wrap); loom: `models` with blocks of two, among them
//! `who_claims_late_does_not_touch_a_block_that_is_used_again`.

use super::position::{BLOCK, Position};
use super::slot::Slot;
use super::store::Tail;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::Ordering;
use std::ptr::{self, NonNull};

/// How many unused blocks a channel keeps.
const SPARES: usize = 2;

pub(super) struct Block<T> {
    /// The position of the first slot. Written while nobody else knows the block.
    start: UnsafeCell<Position>,
    /// Guarded by the book's lock.
    page: UnsafeCell<Page<T>>,
    slots: [Slot<T>; BLOCK],
}

struct Page<T> {
    /// The next in the chain, in limbo, or among the spare.
    next: *mut Block<T>,
    /// A sender that claimed a position before this may know the block. Set when the pointer moves past it.
    known_until: Position,
}

type BlockPtr<T> = NonNull<Block<T>>;

impl<T> Block<T> {
    /// A block of empty slots, made in place: it may be too large for the stack.
    fn allocate(start: Position) -> BlockPtr<T> {
        let mut block = Box::<Self>::new_uninit();
        let place = block.as_mut_ptr();
        // SAFETY: the fields are written one by one, inside the fresh allocation.
        unsafe {
            (&raw mut (*place).start).write(UnsafeCell::new(start));
            (&raw mut (*place).page)
                .write(UnsafeCell::new(Page { next: ptr::null_mut(), known_until: start }));
            let slots = (&raw mut (*place).slots).cast::<Slot<T>>();
            for index in 0..BLOCK {
                slots.add(index).write(Slot::new());
            }
        }
        // SAFETY: every field was written.
        NonNull::from(Box::leak(unsafe { block.assume_init() }))
    }

    /// # Safety
    ///
    /// The block is live and not used by anybody else.
    unsafe fn free(block: BlockPtr<T>) {
        // SAFETY: it came from `allocate`, and its slots are empty.
        drop(unsafe { Box::from_raw(block.as_ptr()) });
    }

    /// # Safety
    ///
    /// The block is live: the caller may touch it by one of the three rules above.
    #[inline]
    unsafe fn start(block: BlockPtr<T>) -> Position {
        // SAFETY: handed on; it is written only while nobody else knows the block.
        unsafe { block.as_ref() }.start.with(|start| unsafe { *start })
    }

    /// # Safety
    ///
    /// As for [`start`](Self::start), and the block outlives `'a` by the same rule.
    #[inline]
    pub(super) unsafe fn slot<'a>(block: BlockPtr<T>, at: Position) -> &'a Slot<T> {
        // SAFETY: handed on.
        &unsafe { block.as_ref() }.slots[at.offset()]
    }

    /// # Safety
    ///
    /// The block is in the book, whose lock is held.
    unsafe fn page<R>(block: BlockPtr<T>, f: impl FnOnce(&mut Page<T>) -> R) -> R {
        // SAFETY: the lock is held, and guards the page; the reference ends with the call.
        unsafe { block.as_ref() }.page.with_mut(|page| f(unsafe { &mut *page }))
    }

    /// # Safety
    ///
    /// As for [`page`](Self::page).
    unsafe fn next(block: BlockPtr<T>) -> Option<BlockPtr<T>> {
        // SAFETY: handed on.
        unsafe { Self::page(block, |page| NonNull::new(page.next)) }
    }
}

pub(super) struct Chain<T> {
    book: Mutex<Book<T>>,
}

struct Book<T> {
    oldest: BlockPtr<T>,
    newest: BlockPtr<T>,
    /// Finished by the receiver, in that order.
    limbo: List<T>,
    spare: List<T>,
}

/// A list of blocks, through their pages.
struct List<T> {
    first: Option<BlockPtr<T>>,
    last: Option<BlockPtr<T>>,
    len: usize,
}

impl<T> Chain<T> {
    /// A chain of one block, which holds `start`.
    pub(super) fn new(start: Position) -> (Self, BlockPtr<T>) {
        let block = Block::allocate(start.block());
        let book = Book { oldest: block, newest: block, limbo: List::new(), spare: List::new() };
        (Self { book: Mutex::new(book) }, block)
    }

    /// The slot of a position.
    ///
    /// # Safety
    ///
    /// The caller claimed `at` on `tail`, which is this chain's, and has not filled it yet.
    #[inline]
    pub(super) unsafe fn claimed<'a>(&self, tail: &Tail<T>, at: Position) -> &'a Slot<T> {
        // SAFETY: the pointer is set when the tail is made, to a block of this chain, and never to null after.
        let block = unsafe { NonNull::new_unchecked(tail.block.load(Ordering::Acquire)) };
        // SAFETY: rule 3 (module header): `at` was claimed before the load.
        let block = if unsafe { Block::start(block) } == at.block() { block } else { self.find(tail, at) };
        // SAFETY: rule 1.
        unsafe { Block::slot(block, at) }
    }

    /// The block of a position that the receiver has not passed.
    #[cold]
    pub(super) fn find(&self, tail: &Tail<T>, at: Position) -> BlockPtr<T> {
        self.open(tail, at, |_, block| block)
    }

    /// The receiver has finished `block`, and its head has come to the start of the next one, which is returned.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, `head` is where it stands, and `block` is the oldest. It does not touch it again.
    #[cold]
    pub(super) unsafe fn finish(&self, tail: &Tail<T>, block: BlockPtr<T>, head: Position) -> BlockPtr<T> {
        let mut surplus = List::new();
        let next = self.open(tail, head, |book, next| {
            debug_assert!(book.oldest == block);
            book.oldest = next;
            // SAFETY: it is out of the chain now.
            unsafe { book.limbo.push(block) };
            book.leave_limbo(head, &mut surplus);
            next
        });
        surplus.free();
        next
    }

    /// Opens the book at the block of `at`, which is found or added, and moves the pointer on to it.
    fn open<R>(&self, tail: &Tail<T>, at: Position, then: impl FnOnce(&mut Book<T>, BlockPtr<T>) -> R) -> R {
        let mut fresh = None;
        loop {
            let mut book = self.book.lock();
            if let Some(fresh) = fresh.take() {
                // SAFETY: nobody else knows it yet.
                unsafe { book.spare.push(fresh) };
            }
            if let Some(block) = book.find(at.block()) {
                book.move_pointer(tail, block);
                return then(&mut book, block);
            }
            drop(book);
            // The allocator may be the user's code.
            fresh = Some(Block::allocate(at.block()));
        }
    }

    /// Shows every slot that may hold a message, in order.
    pub(super) fn for_each(&mut self, mut f: impl FnMut(&Slot<T>)) {
        let book = self.book.get_mut();
        let mut block = Some(book.oldest);
        while let Some(this) = block {
            // SAFETY: `&mut self`: nobody else is here, which is as good as the lock.
            unsafe { this.as_ref() }.slots.iter().for_each(&mut f);
            // SAFETY: as above.
            block = unsafe { Block::next(this) };
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
impl<T> Chain<T> {
    /// How many blocks are in the chain, in limbo and spare.
    pub(super) fn census(&self) -> [usize; 3] {
        let book = self.book.lock();
        let mut len = 0;
        let mut block = Some(book.oldest);
        while let Some(this) = block {
            len += 1;
            // SAFETY: in the book, whose lock is held.
            block = unsafe { Block::next(this) };
        }
        [len, book.limbo.len, book.spare.len]
    }
}

impl<T> Drop for Chain<T> {
    fn drop(&mut self) {
        let book = self.book.get_mut();
        book.limbo.take().free();
        book.spare.take().free();
        // SAFETY: the chain from `oldest` to `newest` is a list, and nobody else is here.
        List { first: Some(book.oldest), last: Some(book.newest), len: 0 }.free();
    }
}

// SAFETY: the book is a set of blocks, of which each slot is reached by one thread at a time (`slot`); a message may go
// wherever `T: Send` may.
unsafe impl<T: Send> Send for Chain<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Chain<T> {}

impl<T> Book<T> {
    /// The block that begins at `start`, which is not before the oldest. Adds blocks if the chain does not reach so far;
    /// `None` if there are no more to add.
    fn find(&mut self, start: Position) -> Option<BlockPtr<T>> {
        // SAFETY: blocks in the book are live, and the lock is held (`&mut self`), here and below.
        let mut end = unsafe { Block::start(self.newest) };
        while end.is_before(start) {
            let block = self.spare.pop()?;
            end = end.next_block();
            // SAFETY: a spare block is known to nobody but the book.
            unsafe { block.as_ref() }.start.with_mut(|place| unsafe { *place = end });
            // SAFETY: as at the top.
            unsafe { Block::page(self.newest, |page| page.next = block.as_ptr()) };
            self.newest = block;
        }
        if end == start {
            return Some(self.newest);
        }
        let mut block = self.oldest;
        // SAFETY: as at the top.
        while unsafe { Block::start(block) } != start {
            // SAFETY: as at the top. The chain has no gaps, and `start` is between its ends.
            block = unsafe { Block::next(block) }?;
        }
        Some(block)
    }

    /// Moves the tail's pointer on to `block`, if that is later.
    fn move_pointer(&self, tail: &Tail<T>, block: BlockPtr<T>) {
        // Relaxed: only written under the lock, which is held.
        let Some(mut behind) = NonNull::new(tail.block.load(Ordering::Relaxed)) else { return };
        // SAFETY: both are in the chain: the pointer is moved on before its block is finished.
        if !unsafe { Block::start(behind).is_before(Block::start(block)) } {
            return;
        }
        // M1 of the module header. Release: publishes `start`, and whatever the block was before, to the Acquire in `claimed`.
        tail.block.store(block.as_ptr(), Ordering::Release);
        // M2. Release: a claim that comes after sees M1. Of one that came before nothing but its place matters.
        let known_until = Position::of(tail.word.fetch_add(0, Ordering::Release));
        while behind != block {
            // SAFETY: as above, and the lock is held.
            let next = unsafe {
                Block::page(behind, |page| {
                    page.known_until = known_until;
                    NonNull::new(page.next)
                })
            };
            let Some(next) = next else { break };
            behind = next;
        }
    }

    /// Makes spare what nobody knows any more, now that the receiver stands at `head`. What is too many goes to `surplus`.
    fn leave_limbo(&mut self, head: Position, surplus: &mut List<T>) {
        while let Some(block) = self.limbo.first {
            // SAFETY: in the book, and the lock is held.
            if head.is_before(unsafe { Block::page(block, |page| page.known_until) }) {
                break;
            }
            self.limbo.pop();
            let place = if self.spare.len < SPARES { &mut self.spare } else { &mut *surplus };
            // SAFETY: it is out of limbo. Whoever knew it is done with it (module header).
            unsafe { place.push(block) };
        }
    }
}

impl<T> List<T> {
    const fn new() -> Self {
        Self { first: None, last: None, len: 0 }
    }

    /// # Safety
    ///
    /// The block is in no list, and the lock is held, or nobody else knows the block.
    unsafe fn push(&mut self, block: BlockPtr<T>) {
        // SAFETY: handed on.
        unsafe { Block::page(block, |page| page.next = ptr::null_mut()) };
        match self.last {
            // SAFETY: blocks of a list are guarded together.
            Some(last) => unsafe { Block::page(last, |page| page.next = block.as_ptr()) },
            None => self.first = Some(block),
        }
        self.last = Some(block);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<BlockPtr<T>> {
        let block = self.first?;
        // SAFETY: blocks of a list are guarded together, and whoever has `&mut self` has the guard.
        self.first = unsafe {
            Block::page(block, |page| NonNull::new(std::mem::replace(&mut page.next, ptr::null_mut())))
        };
        if self.first.is_none() {
            self.last = None;
        }
        self.len = self.len.saturating_sub(1);
        Some(block)
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new())
    }

    /// Frees blocks that nobody else knows.
    fn free(mut self) {
        while let Some(block) = self.pop() {
            // SAFETY: by the callers: surplus from limbo, or all of them when the chain is dropped.
            unsafe { Block::free(block) };
        }
    }
}
