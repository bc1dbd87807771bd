//! What a thread does that owns two rings and a shelf: at random all that a worker does with them, and most often it robs another ring.

use super::{Arena, Held, RINGS, Stolen};
use crate::ledger;
use crate::seed::Rand;
use nezumi_queue::{Batch, Steal};
use std::sync::atomic::Ordering;

/// Operations between two looks whether it is over.
const TURN: u32 = 500;
/// The most that one operation moves between the hand and a queue.
const SOME: u32 = 64;

struct Owner<'a, const N: usize> {
    arena: &'a Arena<N>,
    index: usize,
    /// What is in no queue.
    hand: Vec<Held>,
    rand: Rand,
    stolen: Stolen,
}

/// Returns what the thread has in its hand in the end.
pub(super) fn play<const N: usize>(arena: &Arena<N>, index: usize, hand: Vec<Held>, rand: Rand) -> Vec<Held> {
    let mut owner = Owner { arena, index, hand, rand, stolen: Stolen::default() };
    while !arena.is_over.load(Ordering::Relaxed) {
        (0..TURN).for_each(|_| owner.act());
        arena.add(std::mem::take(&mut owner.stolen));
        if arena.is_crowded {
            std::thread::yield_now();
        }
    }
    owner.hand
}

// Every call of an owner's operation in here is for a ring, or the shelf, of `index`, which no other thread has.
impl<const N: usize> Owner<'_, N> {
    fn act(&mut self) {
        match self.rand.below(32) {
            0..=2 => self.push_one(),
            3..=6 => self.push_some(),
            7..=9 => self.pop_one(),
            10 => self.pop_some(),
            11 if self.rand.one_in(4) => {
                let own = self.own();
                self.make_room(own);
            }
            12 => self.refill(),
            13 => self.inject(),
            14 => self.take_injected(),
            15 => self.put_aside(),
            16 if self.rand.one_in(4) => self.take_back(),
            17 => self.rescue(),
            _ => self.rob(),
        }
    }

    /// One of this thread's rings.
    fn own(&mut self) -> usize {
        self.index * RINGS + self.rand.below(RINGS as u32) as usize
    }

    fn push_one(&mut self) {
        let Some(item) = self.hand.pop() else { return };
        let (own, is_hot) = (self.own(), self.rand.one_in(4));
        // SAFETY: this thread owns the ring.
        if let Err(item) = unsafe { self.arena.rings[own].push_back(item.enters(), is_hot) } {
            self.hand.push(item.leaves());
        }
    }

    /// A batch, for which half of the ring makes room, should there be none.
    fn push_some(&mut self) {
        let (mut batch, own) = (self.some_of_hand(), self.own());
        let ring = &self.arena.rings[own];
        // SAFETY: this thread owns the ring.
        unsafe {
            ring.push_batch(&mut batch);
            if !batch.is_empty() {
                self.make_room(own);
                ring.push_batch(&mut batch);
            }
        }
        self.stolen.overflowed += batch.len() as u64;
        self.arena.relay.push(batch, self.index);
    }

    fn some_of_hand(&mut self) -> Batch<Held> {
        let count = 1 + self.rand.below(SOME) as usize;
        let from = self.hand.len().saturating_sub(count);
        let mut batch = Batch::new();
        self.hand.drain(from..).for_each(|item| batch.push_back(item.enters()));
        batch
    }

    fn pop_one(&mut self) {
        let ring = &self.arena.rings[self.own()];
        // SAFETY: this thread owns the ring.
        let item = unsafe {
            match self.rand.below(3) {
                0 => ring.pop_front(),
                1 => ring.pop_back(),
                _ => ring.pop_hot(),
            }
        };
        self.hand.extend(item.map(Held::leaves));
    }

    fn pop_some(&mut self) {
        let ring = &self.arena.rings[self.own()];
        for _ in 0..self.rand.below(SOME) {
            // SAFETY: this thread owns the ring.
            let Some(item) = (unsafe { ring.pop_front() }) else { return };
            self.hand.push(item.leaves());
        }
    }

    fn make_room(&mut self, own: usize) {
        // SAFETY: this thread owns the ring.
        if let Some(half) = unsafe { self.arena.rings[own].take_half() } {
            self.stolen.overflowed += half.len() as u64;
            self.arena.relay.push(half, self.index);
        }
    }

    fn refill(&mut self) {
        let Some(mut batch) = self.arena.relay.pop(self.index) else { return };
        let own = self.own();
        // SAFETY: this thread owns the ring.
        unsafe { self.arena.rings[own].push_batch(&mut batch) };
        self.arena.relay.push(batch, self.index);
    }

    fn inject(&mut self) {
        let Some(item) = self.hand.pop() else { return };
        let refused = if self.rand.one_in(2) {
            self.arena.inject.push(item.enters(), self.index).is_err()
        } else {
            let mut batch = self.some_of_hand();
            batch.push_back(item.enters());
            self.arena.inject.push_batch(batch, self.index).is_err()
        };
        if refused {
            ledger::fault("an inject queue that nobody closed refused an item");
        }
    }

    fn take_injected(&mut self) {
        let count = 1 + self.rand.below(2 * SOME) as usize;
        let batch = self.arena.inject.take(self.index, count);
        self.keep(batch);
    }

    fn put_aside(&mut self) {
        let Some(item) = self.hand.pop() else { return };
        // SAFETY: this thread owns the shelf.
        if let Err(item) = unsafe { self.arena.shelves[self.index].push(item.enters()) } {
            self.hand.push(item.leaves());
        }
    }

    fn take_back(&mut self) {
        // SAFETY: this thread owns the shelf.
        let batch = unsafe { self.arena.shelves[self.index].take_all() };
        self.keep(batch);
    }

    /// Takes all that another has put aside, and runs it.
    fn rescue(&mut self) {
        let shelves = &self.arena.shelves;
        let victim = (self.index + 1 + self.rand.below(shelves.len() as u32 - 1) as usize) % shelves.len();
        if let Ok(batch) = shelves[victim].steal() {
            self.stolen.rescued += batch.len() as u64;
            self.keep(batch);
        }
    }

    /// Takes half of what is in another ring: another thread's, or, half of the time, the other one that this thread owns, since where the
    /// others are not running there is soon nothing left of theirs.
    fn rob(&mut self) {
        let (own, rings) = (self.own(), &self.arena.rings);
        let victim = match self.rand.one_in(2) {
            true => own ^ 1,
            false => {
                (self.index * RINGS + RINGS + self.rand.below((rings.len() - RINGS) as u32) as usize)
                    % rings.len()
            }
        };
        if self.rand.one_in(16) {
            // As a thief does that owns no ring.
            if let Ok(batch) = rings[victim].steal_batch(self.rand.one_in(4), SOME as usize) {
                self.has_stolen(victim, batch.len());
                self.keep(batch);
            }
            return;
        }
        let take_hot = self.rand.one_in(4);
        // SAFETY: this thread owns the ring that it steals into, and the other is not that one.
        let stolen = unsafe { rings[victim].steal_into(&rings[own], take_hot) };
        if let Steal::Taken { first, more } = stolen {
            self.has_stolen(victim, 1 + more);
            self.hand.push(first.leaves());
        }
    }

    fn has_stolen(&mut self, victim: usize, items: usize) {
        self.stolen.claims += u64::from(items > 0);
        self.stolen.items += items as u64;
        if victim / RINGS != self.index {
            self.stolen.from_others += items as u64;
        }
    }

    fn keep(&mut self, mut batch: Batch<Held>) {
        while let Some(item) = batch.pop_front() {
            self.hand.push(item.leaves());
        }
    }
}
