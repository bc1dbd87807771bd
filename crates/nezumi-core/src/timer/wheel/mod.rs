//! In which order timers are due: a hierarchical timing wheel.
//!
//! Called by [`Timers`](super::Timers) under its lock. Pure: knows no clock, no waker, no thread. Insertion, removal and
//! expiry are O(1) and allocate nothing, but for the first insertion, which makes the slots: most wheels never see one.
//!
//! After Varghese and Lauck, "Hashed and hierarchical timing wheels" (1987). Six levels of 64 slots; a slot of level *l* is
//! 64^*l* ms wide, so that level 0 tells single ticks apart and all six together span a *rotation* of 2^36 ms, two years.
//! A deadline and `elapsed`, the time up to which the wheel has been emptied, are numbers of seven digits to the base 64
//! (the seventh is what is left above): a node hangs at the level of the highest digit in which the two differ, in the slot
//! that this digit of the deadline names. What differs above the sixth digit hangs in one list, `FAR`, until the rotation
//! of its earliest deadline begins. So no level ever wraps:
//!
//! 1. every node of a level agrees with `elapsed` in all digits above, and its own digit is greater (or equal, while the
//!    slot is being emptied): the lowest bit of `occupied` is the earliest slot of the level;
//! 2. every node of a level is earlier than every node of the levels above, except while a slot above, which has begun, is
//!    being emptied: that one comes first.
//!
//! `elapsed` only moves to the start of the earliest slot, or past the last one that starts by now, and so keeps both.
//!
//! Each slot knows the earliest deadline that was put in it. So [`Wheel::next_deadline_ms`] is that of a timer, not the start
//! of its slot: an idle thread sleeps through the steps down the levels and is woken once. The bound is never late; it is
//! early if the timer it came from was cancelled or put off.
//!
//! Order: by tick, and within a tick in the order of insertion, but for what was put off, or is inserted while a slot above is being
//! emptied that still holds nodes of its tick.
//!
//! Tests: `property::agrees_with_a_heap`, `due_in_the_order_of_ticks_and_then_of_insertion`, `a_virtual_century`, `the_bound_is_the_deadline`.

use super::node::Node;
use super::{LATEST_MS, NEVER};
use nezumi_prim::sync::atomic::Ordering;
use nezumi_queue::list::LinkedList;
use std::fmt;
use std::ptr::NonNull;

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests;

/// Bits of a digit.
const DIGIT: u32 = 6;
const SLOTS: usize = 1 << DIGIT;
const LEVELS: usize = 6;
/// The bits that all levels together tell apart.
const ROTATION: u32 = DIGIT * LEVELS as u32;
/// The list of what is due in a later rotation, after the slots of the levels.
const FAR: usize = LEVELS * SLOTS;

/// Timers in the order in which they are due.
pub struct Wheel {
    /// Every node with a deadline up to here has been popped, or hangs in a slot that starts here.
    elapsed_ms: u64,
    len: usize,
    /// One bit per slot that is not empty.
    occupied: [u64; LEVELS],
    /// None of them before the first insertion.
    slots: Box<[Slot]>,
}

#[derive(Default)]
struct Slot {
    nodes: LinkedList<Node>,
    /// No later than any deadline in the slot. Means nothing while the slot is empty.
    earliest_ms: u64,
}

/// What [`Wheel::pop`] has found.
#[derive(Debug)]
pub enum Popped {
    /// This node is due. It has left the wheel.
    Due(NonNull<Node>),
    /// Something was moved to a lower level: ask again.
    Moved,
    /// Nothing more is due by now.
    Nothing,
}

impl Default for Wheel {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel").field("elapsed_ms", &self.elapsed_ms).field("len", &self.len).finish()
    }
}

impl Wheel {
    /// An empty wheel at tick 0.
    #[must_use]
    pub fn new() -> Self {
        Self { elapsed_ms: 0, len: 0, occupied: [0; LEVELS], slots: Box::default() }
    }

    /// The tick up to which everything has been popped.
    #[inline]
    #[must_use]
    pub fn elapsed_ms(&self) -> u64 {
        self.elapsed_ms
    }

    /// How many nodes hang in the wheel.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no node hangs in the wheel.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// No later than the earliest deadline in the wheel, and later than `elapsed_ms` unless something is due already;
    /// [`NEVER`] if the wheel is empty.
    #[must_use]
    pub fn next_deadline_ms(&self) -> u64 {
        self.first().map_or(NEVER, |(bucket, start_ms)| self.slots[bucket].earliest_ms.max(start_ms))
    }

    /// Hangs `node` in the wheel; `false`, and nothing is done, if its deadline is not after `elapsed_ms`.
    ///
    /// # Safety
    ///
    /// `node` is in no list. It is neither moved nor freed before it has come out of this wheel, by [`pop`](Self::pop) or
    /// [`remove`](Self::remove).
    #[must_use]
    pub unsafe fn insert(&mut self, node: NonNull<Node>, deadline_ms: u64) -> bool {
        if deadline_ms <= self.elapsed_ms {
            return false;
        }
        // SAFETY: handed on.
        unsafe { self.place(node, deadline_ms.min(LATEST_MS)) };
        self.len += 1;
        true
    }

    /// Takes `node` out.
    ///
    /// # Safety
    ///
    /// `node` hangs in this wheel.
    pub unsafe fn remove(&mut self, node: NonNull<Node>) {
        // SAFETY: a node in the wheel is live.
        let bucket = usize::from(unsafe { node.as_ref() }.bucket.load(Ordering::Relaxed));
        // SAFETY: `place` noted the bucket when it put the node into its list.
        let was_linked = unsafe { self.slots[bucket].nodes.remove(node) };
        debug_assert!(was_linked);
        self.len -= 1;
        self.mark(bucket);
    }

    /// Takes the first node out that is due by `now_ms`, or goes one step towards it.
    ///
    /// A step moves one node, or, once in a rotation, looks through all that is far: so the caller can bound how long it
    /// holds the lock. Between two steps every other operation may be called.
    pub fn pop(&mut self, now_ms: u64) -> Popped {
        match self.first() {
            Some((bucket, start_ms)) if start_ms <= now_ms => {
                self.elapsed_ms = self.elapsed_ms.max(start_ms);
                if bucket == FAR { self.turn_over() } else { self.step(bucket) }
            }
            // No slot starts by now. A clock that went back changes nothing.
            _ => {
                self.elapsed_ms = self.elapsed_ms.max(now_ms.min(LATEST_MS));
                Popped::Nothing
            }
        }
    }

    /// Takes any node out. For shutdown.
    pub fn pop_any(&mut self) -> Option<NonNull<Node>> {
        let (bucket, _) = self.first()?;
        let node = self.slots[bucket].nodes.pop_front()?;
        self.len -= 1;
        self.mark(bucket);
        Some(node)
    }

    /// Moves an empty wheel forward in time, which saves its next nodes the way down the levels.
    #[inline]
    pub fn skip_to(&mut self, now_ms: u64) {
        debug_assert!(self.is_empty());
        self.elapsed_ms = self.elapsed_ms.max(now_ms.min(LATEST_MS));
    }

    /// Takes the first node of a slot that has begun, and either hands it out or moves it down.
    fn step(&mut self, bucket: usize) -> Popped {
        let Some(node) = self.slots[bucket].nodes.pop_front() else {
            unreachable!("an occupied slot holds a node");
        };
        self.mark(bucket);
        // SAFETY: a node that hung in the wheel is live.
        let deadline_ms = unsafe { node.as_ref() }.deadline_ms();
        if bucket < SLOTS && deadline_ms <= self.elapsed_ms {
            self.len -= 1;
            return Popped::Due(node);
        }
        // SAFETY: it was in no list but the slot's, and has not left the wheel.
        unsafe { self.place(node, deadline_ms.max(self.elapsed_ms)) };
        Popped::Moved
    }

    /// Brings down from `FAR` what is due in the rotation that has begun.
    fn turn_over(&mut self) -> Popped {
        // Those of later rotations go back into `FAR`, which finds its exact bound anew.
        let mut far = std::mem::take(&mut self.slots[FAR].nodes);
        while let Some(node) = far.pop_front() {
            // SAFETY: as in `step`.
            unsafe {
                let deadline_ms = node.as_ref().deadline_ms();
                self.place(node, deadline_ms.max(self.elapsed_ms));
            }
        }
        Popped::Moved
    }

    /// The occupied bucket that starts first, and the tick at which it does.
    #[inline]
    fn first(&self) -> Option<(usize, u64)> {
        let mut first: Option<(usize, u64)> = None;
        for (level, &occupied) in self.occupied.iter().enumerate() {
            if occupied == 0 {
                continue;
            }
            let slot = occupied.trailing_zeros();
            let shift = DIGIT * level as u32;
            // The digits above are those of `elapsed` (invariant 1), the ones below are 0.
            let above = self.elapsed_ms >> shift >> DIGIT << DIGIT;
            let start_ms = (above | u64::from(slot)) << shift;
            // Of two that start together, the higher comes first (invariant 2). Either could: what hangs in the lower is due at this very tick
            // and has come down from the higher, ahead of what is still there, so that the order is the same.
            if first.is_none_or(|(_, least_ms)| start_ms <= least_ms) {
                first = Some((level * SLOTS + slot as usize, start_ms));
            }
        }
        if first.is_none() {
            let far = self.slots.get(FAR).filter(|far| !far.nodes.is_empty())?;
            return Some((FAR, far.earliest_ms >> ROTATION << ROTATION));
        }
        first
    }

    /// Puts `node` in its slot.
    ///
    /// # Safety
    ///
    /// As for [`insert`](Self::insert). `deadline_ms` is not before `elapsed_ms`.
    #[inline]
    unsafe fn place(&mut self, node: NonNull<Node>, deadline_ms: u64) {
        let bucket = bucket(self.elapsed_ms, deadline_ms);
        if bucket < FAR {
            self.occupied[bucket / SLOTS] |= 1 << (bucket % SLOTS);
        }
        if self.slots.is_empty() {
            self.make_slots();
        }
        let slot = &mut self.slots[bucket];
        slot.earliest_ms =
            if slot.nodes.is_empty() { deadline_ms } else { slot.earliest_ms.min(deadline_ms) };
        // SAFETY: the caller's promise.
        unsafe {
            node.as_ref().bucket.store(bucket as u16, Ordering::Relaxed);
            slot.nodes.push_back(node);
        }
    }

    #[cold]
    fn make_slots(&mut self) {
        self.slots = (0..=FAR).map(|_| Slot::default()).collect();
    }

    /// Clears the mark of a slot that is empty.
    #[inline]
    fn mark(&mut self, bucket: usize) {
        if bucket < FAR && self.slots[bucket].nodes.is_empty() {
            self.occupied[bucket / SLOTS] &= !(1 << (bucket % SLOTS));
        }
    }
}

/// Where a node with this deadline hangs.
#[inline]
fn bucket(elapsed_ms: u64, deadline_ms: u64) -> usize {
    // The highest bit in which they differ; those of the lowest digit count as one.
    let highest = ((elapsed_ms ^ deadline_ms) | (SLOTS as u64 - 1)).ilog2();
    let level = (highest / DIGIT) as usize;
    if level >= LEVELS {
        return FAR;
    }
    let slot = deadline_ms >> (DIGIT * level as u32) & (SLOTS as u64 - 1);
    level * SLOTS + slot as usize
}
