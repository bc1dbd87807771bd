//! The scheduler's queues, in one thread, each against a `VecDeque`.

use crate::ops::Ops;
use nezumi_prim::sync::atomic::AtomicPtr;
use nezumi_queue::{Batch, Inject, Item, Relay, Ring, Shelf, Steal};
use std::collections::VecDeque;
use std::ptr::{self, NonNull};

/// A number in a box of its own: one that is lost is a leak, one that comes out twice a use after free, and both are reported.
struct Num(Box<(u32, AtomicPtr<()>)>);

// SAFETY: a box, leaked and found again; the link is a field of what it points to.
unsafe impl Item for Num {
    fn into_raw(self) -> NonNull<()> {
        NonNull::from(Box::leak(self.0)).cast()
    }

    unsafe fn from_raw(ptr: NonNull<()>) -> Self {
        // SAFETY: by contract from `into_raw`, which leaked a box.
        Num(unsafe { Box::from_raw(ptr.cast().as_ptr()) })
    }

    unsafe fn link<'a>(ptr: NonNull<()>) -> &'a AtomicPtr<()> {
        // SAFETY: by contract from `into_raw` and not freed yet.
        unsafe { &(*ptr.cast::<(u32, AtomicPtr<()>)>().as_ptr()).1 }
    }
}

const SLOTS: usize = 8;
const PLACES: usize = 4;

struct Program {
    rings: [Ring<Num, SLOTS>; 2],
    shelf: Shelf<Num, PLACES>,
    relay: Relay<Num>,
    inject: Inject<Num>,
    model: Model,
    next: u32,
}

#[derive(Default)]
struct Model {
    rings: [VecDeque<u32>; 2],
    is_hot: [bool; 2],
    shelf: VecDeque<u32>,
    /// Put on the shelf since its owner took all.
    put: usize,
    relay: VecDeque<Vec<u32>>,
    inject: VecDeque<u32>,
    is_closed: bool,
}

pub(crate) fn target(data: &[u8]) {
    let mut ops = Ops::new(data);
    let mut start = || if ops.flag() { u16::MAX - 3 } else { 0 };
    let mut program = Program {
        rings: [Ring::starting_at(start()), Ring::starting_at(start())],
        shelf: Shelf::new(),
        relay: Relay::new(1),
        inject: Inject::new(1),
        model: Model::default(),
        next: 0,
    };
    while let Some(op) = ops.next() {
        program.act(op, &mut ops);
        program.check();
    }
}

fn numbers(mut batch: Batch<Num>) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop_front()).map(|num| num.0.0).collect()
}

// One thread owns all, so each contract of an owner's operation is kept.
impl Program {
    fn num(&mut self) -> (Num, u32) {
        self.next += 1;
        (Num(Box::new((self.next, AtomicPtr::new(ptr::null_mut())))), self.next)
    }

    fn batch(&mut self, count: usize) -> (Batch<Num>, Vec<u32>) {
        let (mut batch, mut values) = (Batch::new(), Vec::new());
        for _ in 0..count {
            let (num, value) = self.num();
            batch.push_back(num);
            values.push(value);
        }
        (batch, values)
    }

    fn act(&mut self, op: u8, ops: &mut Ops<'_>) {
        let at = ops.below(2);
        match op % 16 {
            0..=2 => self.push(at, ops.flag()),
            3 => self.push_batch(at, ops.below(12)),
            4 => {
                // SAFETY: see above.
                let popped = unsafe { self.rings[at].pop_front() };
                assert_eq!(popped.map(|num| num.0.0), self.model.rings[at].pop_front());
                self.model.is_hot[at] &= !self.model.rings[at].is_empty();
            }
            5 => {
                // SAFETY: see above.
                let popped = unsafe { self.rings[at].pop_back() };
                assert_eq!(popped.map(|num| num.0.0), self.model.rings[at].pop_back());
                self.model.is_hot[at] = false;
            }
            6 => {
                // SAFETY: see above.
                let popped = unsafe { self.rings[at].pop_hot() };
                let expected = if self.model.is_hot[at] { self.model.rings[at].pop_back() } else { None };
                assert_eq!(popped.map(|num| num.0.0), expected);
                self.model.is_hot[at] = false;
            }
            7 => self.overflow(at),
            8 => {
                let taken = self.relay.pop(0).map(numbers);
                assert_eq!(taken, self.model.relay.pop_front());
            }
            9 | 10 => self.steal(at, ops),
            11 => {
                let (batch, values) = self.batch(ops.below(6));
                let refused = self.inject.push_batch(batch, at).is_err();
                assert_eq!(refused, self.model.is_closed);
                if !refused {
                    self.model.inject.extend(values);
                }
            }
            12 => {
                let most = ops.below(8);
                let taken = numbers(self.inject.take(at, most));
                let count = most.min(self.model.inject.len());
                assert_eq!(taken, self.model.inject.drain(..count).collect::<Vec<_>>());
            }
            13 => {
                let (num, value) = self.num();
                // SAFETY: see above.
                let is_refused = unsafe { self.shelf.push(num) }.is_err();
                assert_eq!(is_refused, self.model.put == PLACES);
                if !is_refused {
                    self.model.shelf.push_back(value);
                    self.model.put += 1;
                }
            }
            14 => {
                let taken = if ops.flag() {
                    self.model.put = 0;
                    // SAFETY: see above.
                    unsafe { self.shelf.take_all() }
                } else {
                    self.shelf.steal().expect("nobody else is here")
                };
                assert_eq!(numbers(taken), self.model.shelf.drain(..).collect::<Vec<_>>());
            }
            _ => {
                if ops.below(16) == 15 {
                    self.inject.close();
                    self.model.is_closed = true;
                }
            }
        }
    }

    fn push(&mut self, at: usize, is_hot: bool) {
        let (num, value) = self.num();
        let model = &mut self.model.rings[at];
        // SAFETY: see above.
        match unsafe { self.rings[at].push_back(num, is_hot) } {
            Ok(count) => {
                model.push_back(value);
                assert_eq!(count, model.len());
                self.model.is_hot[at] = is_hot;
            }
            Err(num) => assert!(num.0.0 == value && model.len() == SLOTS),
        }
    }

    fn push_batch(&mut self, at: usize, count: usize) {
        let (mut batch, values) = self.batch(count);
        let room = SLOTS - self.model.rings[at].len();
        // SAFETY: see above.
        let pushed = unsafe { self.rings[at].push_batch(&mut batch) };
        assert_eq!(pushed, room.min(count));
        assert_eq!(numbers(batch), values[pushed..]);
        self.model.rings[at].extend(&values[..pushed]);
        self.model.is_hot[at] &= pushed == 0;
    }

    fn overflow(&mut self, at: usize) {
        let half = self.model.rings[at].len() / 2;
        // SAFETY: see above.
        match unsafe { self.rings[at].take_half() } {
            Some(batch) => {
                assert_eq!(batch.len(), half);
                self.relay.push(batch, at);
                self.model.relay.push_back(self.model.rings[at].drain(..half).collect());
            }
            None => assert_eq!(half, 0),
        }
    }

    fn steal(&mut self, from: usize, ops: &mut Ops<'_>) {
        let (take_hot, is_owner) = (ops.flag(), ops.flag());
        let live = self.model.rings[from].len();
        let is_left = live == 1 && self.model.is_hot[from] && !take_hot;
        let room = SLOTS - self.model.rings[1 - from].len();
        let most = if is_owner { 1 + room } else { ops.below(6) };
        let count = if is_left { 0 } else { live.div_ceil(2).min(most) };
        let expected: Vec<u32> = self.model.rings[from].drain(..count).collect();
        self.model.is_hot[from] &= !self.model.rings[from].is_empty();
        if !is_owner {
            let stolen = self.rings[from].steal_batch(take_hot, most).expect("nobody else is here");
            return assert_eq!(numbers(stolen), expected);
        }
        // SAFETY: see above; the two are not the same.
        match unsafe { self.rings[from].steal_into(&self.rings[1 - from], take_hot) } {
            Steal::Taken { first, more } => {
                assert_eq!((first.0.0, more + 1), (expected[0], count));
                self.model.rings[1 - from].extend(&expected[1..]);
                self.model.is_hot[1 - from] &= more == 0;
            }
            Steal::Empty => assert_eq!(count, 0),
            Steal::Busy => panic!("nobody else is here"),
        }
    }

    fn check(&self) {
        for (at, ring) in self.rings.iter().enumerate() {
            let model = &self.model.rings[at];
            assert_eq!((ring.len(), ring.room()), (model.len(), SLOTS - model.len()));
            assert_eq!(ring.has_hot(), self.model.is_hot[at]);
        }
        assert_eq!(self.shelf.len(), self.model.shelf.len());
        assert_eq!(self.relay.len(), self.model.relay.iter().map(Vec::len).sum::<usize>());
        assert_eq!(self.inject.len(), self.model.inject.len());
    }
}
