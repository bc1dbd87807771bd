//! Who is alive: the tasks of one shard.
//!
//! Called by `scheduler` at spawn (insert), at completion (remove) and at shutdown (close, then shut down), and by `dump`, whose promise is its own
//! (look). Knows nothing of queues.
//!
//! An array of slots that grows by chunks and never moves. A slot holds a task (a pointer, and with it one reference), or a link of a
//! free list (odd). The *owner*, the shard's worker, inserts and takes free slots from a list of its own, without any atomic
//! read-modify-write; whoever else completes a task of this shard gives the slot back on a second list, a Treiber stack (Treiber
//! 1986) of which the owner takes all at once, so that there is no ABA. Shards of outside threads have no owner: their callers hold a
//! lock instead.
//!
//! Promise: insert touches no lock and no line that another worker writes, as long as tasks complete where they were spawned; the
//! reference in a slot is taken out by exactly one of `remove` and shutdown; a task inserted after `close` is refused.
//!
//! ```text
//! remover                           shutdown (the owner)
//! R1 CAS slot: task -> a link        S1 CAS slot: task -> a link
//! R2 the winner owns the reference  S2 the winner owns the reference
//! R3 link the slot (its own now)
//! ```
//!
//! Tests: `slots_are_reused_and_chunks_grow`, `what_others_free_comes_back_to_the_owner`, `closed_refuses`; the models
//! `remove_races_shutdown` and `remote_frees_race_insert`; of `look`, `a_task_is_seen_whole_or_not_at_all` in `dump`.

use super::{Header, TaskRef};
use nezumi_prim::CachePadded;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::ptr::{self, NonNull};

/// log2 of the first chunk's length. Each chunk is twice as long as the one before.
const FIRST_BITS: u32 = if cfg!(nezumi_loom) { 1 } else { 6 };
pub(crate) const CHUNKS: usize = if cfg!(nezumi_loom) { 3 } else { 26 };

/// The end of a free list.
const NONE: u32 = u32::MAX >> 1;

/// The place of a task that no registry holds.
pub(super) const NOWHERE: u32 = u32::MAX;

struct Slot(AtomicPtr<Header>);

/// What only the owner touches.
struct Owner {
    /// First slot of the owner's free list.
    free: u32,
    /// How many slots there are.
    len: u32,
    closed: bool,
}

/// The tasks of one shard.
pub(crate) struct Registry {
    owner: UnsafeCell<Owner>,
    chunks: [AtomicPtr<Slot>; CHUNKS],
    /// First slot of the list of those freed by others.
    remote_free: CachePadded<AtomicUsize>,
}

// SAFETY: `owner` is touched only by the owner (contract of the unsafe functions), all else is atomic.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

/// The registry is closed: the runtime is shutting down.
#[derive(Debug)]
pub(crate) struct Closed;

/// A link in a free list: odd, so that it is never a pointer.
fn link_to(next: u32) -> *mut Header {
    ptr::without_provenance_mut(((next as usize) << 1) | 1)
}

/// The slot after one with this content.
fn linked(content: *mut Header) -> u32 {
    (content.addr() >> 1) as u32
}

fn is_task(content: *mut Header) -> bool {
    content.addr() & 1 == 0
}

/// Chunk and offset of a slot. Beyond the last chunk for the place of a task that no registry holds.
pub(crate) fn locate(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + (1 << FIRST_BITS);
    let top = shifted.ilog2();
    ((top - FIRST_BITS) as usize, (shifted - (1 << top)) as usize)
}

/// How many slots a chunk has.
pub(crate) fn chunk_len(chunk: usize) -> usize {
    1 << (FIRST_BITS as usize + chunk)
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            owner: UnsafeCell::new(Owner { free: NONE, len: 0, closed: false }),
            chunks: std::array::from_fn(|_| AtomicPtr::default()),
            remote_free: CachePadded::new(AtomicUsize::new(NONE as usize)),
        }
    }

    fn slot(&self, index: u32) -> &AtomicPtr<Header> {
        let (chunk, offset) = locate(index);
        // Relaxed: who asks is the owner, or was given the index by way of a task, which the owner put there after the chunk.
        let chunk = self.chunks[chunk].load(Ordering::Relaxed);
        debug_assert!(!chunk.is_null());
        // SAFETY: an index is handed out only once its chunk stands, with `chunk_len` slots; chunks live as long as we do.
        unsafe { &(*chunk.add(offset)).0 }
    }

    /// Adds a task that is not shared yet, with one reference of it.
    ///
    /// # Errors
    ///
    /// After `close`; the reference is then still the caller's.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn insert(&self, task: NonNull<Header>) -> Result<(), Closed> {
        self.owner.with_mut(|owner| {
            // SAFETY: the caller is the owner, and no code of others runs in here.
            let owner = unsafe { &mut *owner };
            if owner.closed {
                return Err(Closed);
            }
            if owner.free == NONE {
                self.refill(owner);
            }
            let index = owner.free;
            let slot = self.slot(index);
            // Relaxed: a free slot is the owner's alone; what others wrote into it came with the Acquire in `refill`.
            owner.free = linked(slot.load(Ordering::Relaxed));
            // SAFETY: the task is not shared yet and the caller holds it.
            unsafe { task.as_ref() }.set_place(index);
            // Release: whoever finds the task here sees it whole.
            slot.store(task.as_ptr(), Ordering::Release);
            Ok(())
        })
    }

    /// Takes over what others freed, or else makes new slots.
    #[cold]
    fn refill(&self, owner: &mut Owner) {
        // Acquire: pairs with the Release in `push_remote`; the links become visible.
        let head = self.remote_free.swap(NONE as usize, Ordering::Acquire);
        if head != NONE as usize {
            owner.free = head as u32;
            return;
        }
        let (chunk, offset) = locate(owner.len);
        debug_assert_eq!(offset, 0, "chunks are handed out whole");
        assert!(chunk < CHUNKS, "more than 2^31 tasks alive on one worker");
        let (first, len) = (owner.len, chunk_len(chunk) as u32);
        let slots: Box<[Slot]> =
            (first + 1..first + len).chain([NONE]).map(|next| Slot(AtomicPtr::new(link_to(next)))).collect();
        // Release: pairs with the Acquire in `look`.
        self.chunks[chunk].store(Box::into_raw(slots).cast(), Ordering::Release);
        owner.len += len;
        owner.free = first;
    }

    /// Takes a completed task out. Whether its reference was here, and is now the caller's.
    ///
    /// # Safety
    ///
    /// `task` was inserted here, and the caller holds a reference. With `by_owner` the caller is the owner.
    #[inline]
    pub(crate) unsafe fn remove(&self, task: &Header, by_owner: bool) -> bool {
        let index = task.place();
        if index == NOWHERE {
            return false;
        }
        let slot = self.slot(index);
        let content = ptr::from_ref(task).cast_mut();
        if by_owner {
            // Relaxed: only the owner shuts down, so nobody races for this slot.
            if slot.load(Ordering::Relaxed) != content {
                return false;
            }
            self.owner.with_mut(|owner| {
                // SAFETY: the caller is the owner.
                let owner = unsafe { &mut *owner };
                slot.store(link_to(owner.free), Ordering::Relaxed);
                owner.free = index;
            });
            return true;
        }
        // Relaxed: the winner of the race with shutdown takes the reference; nothing else travels with it.
        if slot.compare_exchange(content, link_to(0), Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        self.push_remote(index, slot);
        true
    }

    #[cold]
    fn push_remote(&self, index: u32, slot: &AtomicPtr<Header>) {
        let mut head = self.remote_free.load(Ordering::Relaxed);
        loop {
            slot.store(link_to(head as u32), Ordering::Relaxed);
            // Release: pairs with the Acquire in `refill`; publishes the link.
            match self.remote_free.compare_exchange_weak(
                head,
                index as usize,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(actual) => head = actual,
            }
        }
    }

    /// Shows `f` all tasks that are here, and perhaps some that are just leaving. Any thread may call this.
    ///
    /// # Safety
    ///
    /// Within a look of the [`Grace`](crate::dump::Grace) that the tasks' scheduler names.
    pub(crate) unsafe fn look(&self, mut f: impl FnMut(&Header)) {
        for (index, chunk) in self.chunks.iter().enumerate() {
            // Acquire: pairs with the Release in `refill`; the slots are there.
            let slots = chunk.load(Ordering::Acquire);
            if slots.is_null() {
                return;
            }
            for offset in 0..chunk_len(index) {
                // SAFETY: a chunk that stands has as many slots, and lives as long as we do.
                let slot = unsafe { &(*slots.add(offset)).0 };
                // Acquire: pairs with the Release in `insert`; the task is seen whole.
                let content = slot.load(Ordering::Acquire);
                if is_task(content) {
                    // SAFETY: the caller's promise: it is not freed while `f` looks at it.
                    f(unsafe { &*content });
                }
            }
        }
    }

    /// Refuses further tasks, and returns how many slots there are, for [`shut_down`](Self::shut_down).
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub(crate) unsafe fn close(&self) -> u32 {
        self.owner.with_mut(|owner| {
            // SAFETY: the caller is the owner.
            let owner = unsafe { &mut *owner };
            owner.closed = true;
            owner.len
        })
    }

    /// Shuts down the tasks of a closed registry: each is cancelled on this thread, or by its poller if it is running.
    ///
    /// Under no lock, and with no borrow of the owner's part: futures are dropped here, which may try to spawn, or let other tasks
    /// complete.
    ///
    /// # Safety
    ///
    /// This is the thread that may drop the tasks' futures; if the registry has an owner it is the owner's.
    pub(crate) unsafe fn shut_down(&self, len: u32) {
        for index in 0..len {
            let slot = self.slot(index);
            let content = slot.load(Ordering::Acquire);
            if is_task(content)
                && slot.compare_exchange(content, link_to(0), Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                // SAFETY: the slot held a reference, and we have taken it out.
                unsafe { TaskRef::from_header(NonNull::new_unchecked(content)) }.shut_down();
            }
        }
    }
}

#[cfg(test)]
impl Registry {
    /// How many slots there are.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub(crate) unsafe fn slots(&self) -> u32 {
        // SAFETY: the caller is the owner.
        self.owner.with(|owner| unsafe { (*owner).len })
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        for (index, chunk) in self.chunks.iter().enumerate() {
            let chunk = chunk.load(Ordering::Relaxed);
            if !chunk.is_null() {
                // SAFETY: `refill` leaked a box of this length.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(chunk, chunk_len(index))) });
            }
        }
    }
}
