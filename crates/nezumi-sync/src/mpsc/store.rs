//! Where the messages of a channel lie: in a ring, if it may hold only a few, else in a chain of blocks.
//!
//! A ring needs no upkeep: its slots are used in turn, and a sender's permit says that its slot is empty. For, with `bound`
//! permits, of the k + 1 claims up to position k at least k + 1 - bound took a permit that the receiver had given back, so
//! message k - bound was received, and its slot and all before it are empty; the permits, and the `fetch_add`s on the tail's
//! word, hand that knowledge on (Release to Acquire). A ring has one slot more than there are permits, so that there is
//! always one behind the last message for the receiver to wait at, and for the end to be put in.
//!
//! A ring is for channels with room for less than one block, so that it is never larger than what a chain would begin
//! with.

use super::chain::{Block, Chain};
use super::position::{Position, RING};
use super::slot::Slot;
use nezumi_prim::sync::atomic::{AtomicPtr, AtomicUsize};
use std::ptr::{self, NonNull};

/// What every sender writes.
pub(super) struct Tail<T> {
    /// The position of the next message, and `CLOSED`.
    pub(super) word: AtomicUsize,
    /// The block of that position, or one before: see `chain`. Null for a ring.
    pub(super) block: AtomicPtr<Block<T>>,
}

/// What the receiver alone has.
pub(super) struct Head<T> {
    pub(super) position: Position,
    /// The block of `position`; none for a ring.
    block: Option<NonNull<Block<T>>>,
}

pub(super) enum Store<T> {
    Ring(Box<[Slot<T>]>),
    Chain(Chain<T>),
}

// SAFETY: a slot is reached by one thread at a time (`slot`), so a ring of them may be shared if messages may be sent.
unsafe impl<T: Send> Send for Store<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Store<T> {}

impl<T> Store<T> {
    /// A store for `bound` messages at once, or any number of them, of which the first goes to `start`.
    pub(super) fn new(bound: Option<usize>, start: Position) -> (Self, Tail<T>, Head<T>) {
        let word = AtomicUsize::new(start.0);
        match bound {
            Some(bound) if bound < RING => {
                let ring = (0..(bound + 1).next_power_of_two()).map(|_| Slot::new()).collect();
                let tail = Tail { word, block: AtomicPtr::new(ptr::null_mut()) };
                (Self::Ring(ring), tail, Head { position: start, block: None })
            }
            _ => {
                let (chain, block) = Chain::new(start);
                let tail = Tail { word, block: AtomicPtr::new(block.as_ptr()) };
                (Self::Chain(chain), tail, Head { position: start, block: Some(block) })
            }
        }
    }

    /// The slot of a claimed position.
    ///
    /// # Safety
    ///
    /// The caller claimed `at` on `tail`, which is this store's, and has not filled it yet.
    #[inline]
    pub(super) unsafe fn claimed(&self, tail: &Tail<T>, at: Position) -> &Slot<T> {
        match self {
            Self::Ring(ring) => &ring[at.index(ring.len())],
            // SAFETY: handed on.
            Self::Chain(chain) => unsafe { chain.claimed(tail, at) },
        }
    }

    /// The slot behind the last message.
    ///
    /// # Safety
    ///
    /// `at` is where the tail stands, and nobody will claim it.
    pub(super) unsafe fn behind_all(&self, tail: &Tail<T>, at: Position) -> &Slot<T> {
        match self {
            Self::Ring(ring) => &ring[at.index(ring.len())],
            // SAFETY: the receiver does not pass a position that nobody fills, so its block stays.
            Self::Chain(chain) => unsafe { Block::slot(chain.find(tail, at), at) },
        }
    }

    /// The slot at the head.
    ///
    /// # Safety
    ///
    /// `head` is that of this store.
    #[inline]
    pub(super) unsafe fn first<'a>(&'a self, head: &Head<T>) -> &'a Slot<T> {
        match (self, head.block) {
            // SAFETY: the receiver is in this block.
            (Self::Chain(_), Some(block)) => unsafe { Block::slot(block, head.position) },
            (Self::Ring(ring), _) => &ring[head.position.index(ring.len())],
            (Self::Chain(_), None) => unreachable!("the head of a chain has a block"),
        }
    }

    /// Moves the head on by one message, which was taken.
    ///
    /// # Safety
    ///
    /// `head` and `tail` are those of this store.
    #[inline]
    pub(super) unsafe fn advance(&self, tail: &Tail<T>, head: &mut Head<T>) {
        head.position = head.position.next();
        if head.position.offset() == 0 {
            if let (Self::Chain(chain), Some(block)) = (self, head.block) {
                // SAFETY: the last message of the oldest block was taken.
                head.block = Some(unsafe { chain.finish(tail, block, head.position) });
            }
        }
    }

    /// Shows every slot that may hold a message, when nobody else is left.
    pub(super) fn for_each(&mut self, f: impl FnMut(&Slot<T>)) {
        match self {
            Self::Ring(ring) => ring.iter().for_each(f),
            Self::Chain(chain) => chain.for_each(f),
        }
    }

    /// How many blocks are in the chain, in limbo and spare; none for a ring.
    #[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
    pub(super) fn census(&self) -> Option<[usize; 3]> {
        match self {
            Self::Ring(_) => None,
            Self::Chain(chain) => Some(chain.census()),
        }
    }
}
