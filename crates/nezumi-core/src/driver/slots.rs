//! Where slots live, and the tokens that name them to the selector.
//!
//! Called by `handle` (take, give back), `turn` (find) and its shut-down (all). Knows nothing of the selector.
//!
//! Promise: a slot never moves and is never freed before the storage is, so an event can be dispatched without a lock,
//! and a registration can keep a pointer; a token that is out of date or nonsense finds nothing or an older generation.
//!
//! Slots lie in chunks of doubling size that are allocated on demand, and are initialised one by one, on first use, so
//! that growing costs no pause. `fresh` counts the initialised ones:
//!
//! ```text
//! take (under the lock)                  find (without)
//! P1 initialise the slot                 Q1 load fresh       (acquire)
//! P2 store fresh = index + 1 (release)   Q2 index < fresh? then read the chunk pointer and the slot
//! ```
//!
//! Free slots hang in a chain through `next_free`, last in first out, as the last one is the warmest. The generation in the
//! token makes early reuse harmless (`slot`).
//!
//! Tests: `slots_stay_where_they_are`, `a_token_of_a_former_owner_is_recognised`, `tokens_survive_the_way_through_the_os`.

use super::slot::{Slot, Wakes};
use nezumi_prim::sync::Mutex;
use nezumi_prim::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// As many bits of a token as name the slot; those above, but the highest, are the generation.
const INDEX_BITS: u32 = if usize::BITS >= 64 { 32 } else { 20 };
const GENERATION_BITS: u32 = usize::BITS - INDEX_BITS - 1;
const GENERATION_MASK: u32 = ((1_u64 << GENERATION_BITS) - 1) as u32;
/// One less than could be named, so that `NONE` names nothing.
const MAX_SLOTS: u32 = ((1_u64 << INDEX_BITS) - 1) as u32;
const NONE: u32 = u32::MAX;

/// The first chunk's size; each further one is as large as all before it together, and this once more.
const FIRST_CHUNK: u32 = 64;
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK.trailing_zeros() + 1) as usize;

/// Names one owner of one slot. The highest bit of its number is never set: those numbers are the driver's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl Token {
    pub(super) fn number(self) -> usize {
        (self.generation as usize) << INDEX_BITS | self.index as usize
    }

    pub(super) fn from_number(number: usize) -> Self {
        Token {
            index: (number & ((1 << INDEX_BITS) - 1)) as u32,
            generation: (number >> INDEX_BITS) as u32 & GENERATION_MASK,
        }
    }
}

/// Chunk and place in it.
fn locate(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + u64::from(FIRST_CHUNK);
    let chunk = shifted.ilog2() - FIRST_CHUNK.ilog2();
    (chunk as usize, (shifted - (u64::from(FIRST_CHUNK) << chunk)) as usize)
}

fn chunk_len(chunk: usize) -> usize {
    (FIRST_CHUNK as usize) << chunk
}

/// All slots of one driver.
pub(super) struct Slots {
    chunks: [AtomicPtr<Slot>; CHUNKS],
    fresh: AtomicU32,
    pool: Mutex<Pool>,
}

struct Pool {
    /// The first of the chain of free slots.
    free: u32,
    /// The driver is gone: there are no slots any more.
    closed: bool,
}

impl Slots {
    pub(super) fn new() -> Self {
        Slots {
            chunks: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            fresh: AtomicU32::new(0),
            pool: Mutex::new(Pool { free: NONE, closed: false }),
        }
    }

    /// A slot for a new owner.
    ///
    /// # Errors
    ///
    /// When the driver is gone, or there are more resources than tokens.
    pub(super) fn take(&self) -> io::Result<(Token, &Slot)> {
        let mut pool = self.pool.lock();
        if pool.closed {
            return Err(super::gone());
        }
        let index = if pool.free != NONE {
            let index = pool.free;
            let slot = self.get(index).expect("a free slot is an initialised one");
            pool.free = slot.next_free.load(Ordering::Relaxed);
            index
        } else {
            self.grow()?
        };
        drop(pool);
        let slot = self.get(index).expect("the slot was just initialised");
        Ok((Token { index, generation: slot.generation() }, slot))
    }

    /// Initialises one slot more. The lock on the pool is held.
    fn grow(&self) -> io::Result<u32> {
        let index = self.fresh.load(Ordering::Relaxed);
        if index == MAX_SLOTS {
            return Err(io::Error::other("the I/O driver has no room for more resources"));
        }
        let (chunk, place) = locate(index);
        let mut first = self.chunks[chunk].load(Ordering::Relaxed);
        if first.is_null() {
            first = Box::into_raw(Box::<[Slot]>::new_uninit_slice(chunk_len(chunk))).cast::<Slot>();
            // Release is not needed: whoever reads the pointer has read `fresh` first.
            self.chunks[chunk].store(first, Ordering::Relaxed);
        }
        // P1. SAFETY: `place` is inside the chunk (`locate`), and nobody knows of it before P2.
        unsafe { first.add(place).write(Slot::new()) };
        // P2. Release: pairs with the Acquire in `get`; publishes the slot and the chunk.
        self.fresh.store(index + 1, Ordering::Release);
        Ok(index)
    }

    /// The slot of that index, if it was ever used.
    pub(super) fn get(&self, index: u32) -> Option<&Slot> {
        // Q1. Acquire: pairs with P2.
        if index >= self.fresh.load(Ordering::Acquire) {
            return None;
        }
        let (chunk, place) = locate(index);
        let first = self.chunks[chunk].load(Ordering::Relaxed);
        // SAFETY: below `fresh` chunks are allocated and slots initialised, and neither changes while `self` lives.
        Some(unsafe { &*first.add(place) })
    }

    /// Takes the slot of `token` back from its owner.
    pub(super) fn give_back(&self, token: Token, slot: &Slot) {
        let left = slot.leave(token.generation.wrapping_add(1) & GENERATION_MASK);
        let mut pool = self.pool.lock();
        slot.next_free.store(pool.free, Ordering::Relaxed);
        pool.free = token.index;
        drop(pool);
        nezumi_wake::drop_each(left);
    }

    /// Ends every wait, now and later.
    pub(super) fn close(&self, wakes: &mut Wakes) {
        {
            let mut pool = self.pool.lock();
            if pool.closed {
                return;
            }
            pool.closed = true;
        }
        // Who took a slot did so before we had the lock, so it is below `fresh`; none is taken any more.
        for index in 0..self.fresh.load(Ordering::Relaxed) {
            if let Some(slot) = self.get(index) {
                slot.shut_down(wakes);
            }
        }
        wakes.wake_all();
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let fresh = self.fresh.load(Ordering::Relaxed);
        for index in 0..fresh {
            let (chunk, place) = locate(index);
            let first = self.chunks[chunk].load(Ordering::Relaxed);
            // SAFETY: below `fresh` it is initialised; `&mut self` says that nobody uses it; dropped once.
            unsafe { ptr::drop_in_place(first.add(place)) };
        }
        for (chunk, first) in self.chunks.iter().enumerate() {
            if let Some(first) = NonNull::new(first.load(Ordering::Relaxed)) {
                let slots = ptr::slice_from_raw_parts_mut(
                    first.as_ptr().cast::<MaybeUninit<Slot>>(),
                    chunk_len(chunk),
                );
                // SAFETY: it came out of such a box, of this length, in `grow`.
                drop(unsafe { Box::from_raw(slots) });
            }
        }
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn every_index_has_a_place_of_its_own() {
        let mut next = (0, 0);
        for index in 0..5000 {
            assert_eq!(locate(index), next, "index {index}");
            next.1 += 1;
            if next.1 == chunk_len(next.0) {
                next = (next.0 + 1, 0);
            }
        }
        let (chunk, place) = locate(MAX_SLOTS - 1);
        assert!(chunk < CHUNKS && place < chunk_len(chunk));
    }

    #[test]
    fn tokens_survive_the_way_through_the_os() {
        for index in [0, 1, 77, MAX_SLOTS - 1] {
            for generation in [0, 1, GENERATION_MASK] {
                let token = Token { index, generation };
                assert_eq!(Token::from_number(token.number()), token);
                assert_eq!(token.number() >> (usize::BITS - 1), 0, "the highest bit is the driver's");
            }
        }
    }

    #[test]
    fn slots_stay_where_they_are() {
        let slots = Slots::new();
        let count = if cfg!(miri) { 200 } else { 3000 };
        let taken: HashMap<u32, *const Slot> = (0..count)
            .map(|_| slots.take().unwrap())
            .map(|(token, slot)| (token.index, ptr::from_ref(slot)))
            .collect();
        assert_eq!(taken.len(), count);
        for (&index, &address) in &taken {
            assert!(ptr::eq(slots.get(index).unwrap(), address));
        }
        assert!(slots.get(count as u32).is_none());
        assert!(slots.get(MAX_SLOTS).is_none());
    }

    #[test]
    fn a_token_of_a_former_owner_is_recognised() {
        let slots = Slots::new();
        let mut wakes = Wakes::default();
        let (old, slot) = slots.take().unwrap();
        assert!(slot.dispatch(old.generation, super::super::Readiness::ALL, &mut wakes));
        slots.give_back(old, slot);
        let (new, slot) = slots.take().unwrap();
        assert_eq!(new.index, old.index, "the warmest slot comes first");
        assert_ne!(new.generation, old.generation);
        assert!(!slot.dispatch(old.generation, super::super::Readiness::ALL, &mut wakes));
        assert!(slot.word().readiness().is_empty(), "the successor starts with nothing");
    }

    #[test]
    fn generations_wrap_inside_the_token() {
        let slots = Slots::new();
        let (token, slot) = slots.take().unwrap();
        let last = Token { generation: GENERATION_MASK, ..token };
        slots.give_back(last, slot);
        assert_eq!(slots.take().unwrap().0, Token { generation: 0, ..token });
    }

    #[test]
    fn nothing_is_taken_after_the_end() {
        let slots = Slots::new();
        let (token, slot) = slots.take().unwrap();
        slots.close(&mut Wakes::default());
        assert!(slot.word().is_shut_down());
        slots.give_back(token, slot);
        assert!(slots.take().is_err());
    }
}
