//! The wheel against what it stands for: a sorted set of deadlines.

use super::*;
use std::collections::BTreeSet;

/// A wheel, the nodes that live in it, and the sorted set that says what it must answer.
#[derive(Default)]
struct Pair {
    wheel: Wheel,
    now_ms: u64,
    /// Deadline and number of every node that must be in the wheel.
    model: BTreeSet<(u64, usize)>,
    nodes: Vec<NonNull<Node>>,
    /// For every node, when it was last inserted; `None` once it was put off, for then it has no place among others of its tick.
    inserted: Vec<Option<usize>>,
    insertions: usize,
    /// Whether a node was taken out or put off since the bound was exact.
    vague: bool,
}

impl Drop for Pair {
    fn drop(&mut self) {
        for node in &self.nodes {
            // SAFETY: made by `Box::into_raw`; the wheel goes with us.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }
}

impl Pair {
    fn node(&self, number: usize) -> &Node {
        // SAFETY: freed only in `drop`.
        unsafe { self.nodes[number].as_ref() }
    }

    fn insert(&mut self, deadline_ms: u64) -> bool {
        let node = NonNull::from(Box::leak(Box::new(Node::new())));
        self.nodes.push(node);
        self.inserted.push(None);
        self.arm(self.nodes.len() - 1, deadline_ms)
    }

    fn arm(&mut self, number: usize, deadline_ms: u64) -> bool {
        self.node(number).state.store(deadline_ms, Ordering::Relaxed);
        // SAFETY: it is in no list, and freed only with the wheel.
        let inserted = unsafe { self.wheel.insert(self.nodes[number], deadline_ms) };
        assert_eq!(inserted, deadline_ms > self.wheel.elapsed_ms());
        if inserted {
            self.model.insert((deadline_ms, number));
            self.insertions += 1;
            self.inserted[number] = Some(self.insertions);
        }
        self.check();
        inserted
    }

    /// One of those in the wheel, chosen by any number.
    #[cfg(not(miri))]
    fn pick(&self, any: usize) -> Option<(u64, usize)> {
        self.model.iter().nth(any % self.model.len().max(1)).copied()
    }

    fn cancel(&mut self, (deadline_ms, number): (u64, usize)) {
        // SAFETY: the model says that it is in the wheel.
        unsafe { self.wheel.remove(self.nodes[number]) };
        self.model.remove(&(deadline_ms, number));
        self.vague = true;
        self.check();
    }

    fn push_later(&mut self, (deadline_ms, number): (u64, usize), by_ms: u64) {
        let later = deadline_ms.saturating_add(by_ms).min(LATEST_MS);
        assert!(self.node(number).push_later(later));
        self.model.remove(&(deadline_ms, number));
        self.model.insert((later, number));
        self.inserted[number] = None;
        self.vague = true;
        self.check();
    }

    /// Pops what is due, and returns deadline and number of each.
    fn advance(&mut self, now_ms: u64) -> Vec<(u64, usize)> {
        self.now_ms = self.now_ms.max(now_ms);
        let mut popped = Vec::new();
        loop {
            match self.wheel.pop(now_ms) {
                Popped::Due(node) => {
                    let number = self.nodes.iter().position(|other| *other == node).unwrap();
                    popped.push((self.node(number).deadline_ms(), number));
                }
                Popped::Moved => {}
                Popped::Nothing => break,
            }
        }
        let due: BTreeSet<_> = self.model.iter().copied().take_while(|(at, _)| *at <= now_ms).collect();
        assert_eq!(popped.iter().copied().collect::<BTreeSet<_>>(), due);
        assert!(popped.is_sorted_by_key(|(at, _)| *at), "out of order: {popped:?}");
        let in_line = popped.iter().filter_map(|&(at, number)| Some((at, self.inserted[number]?)));
        assert!(in_line.is_sorted(), "of one tick, those that were inserted first are not first: {popped:?}");
        self.model.retain(|timer| !due.contains(timer));
        self.check();
        assert!(self.wheel.next_deadline_ms() > now_ms);
        popped
    }

    fn check(&self) {
        assert_eq!(self.wheel.len(), self.model.len());
        let first = self.model.first().map_or(NEVER, |(at, _)| *at);
        let bound = self.wheel.next_deadline_ms();
        assert!(bound <= first, "the bound {bound} is later than the first deadline {first}");
        if !self.vague {
            assert_eq!(bound, first);
        }
    }
}

#[test]
fn due_in_the_order_of_ticks_and_then_of_insertion() {
    let mut pair = Pair::default();
    for deadline_ms in [5000, 100, 70, 5000, 63, 64, 100, 1, 4096, 70] {
        assert!(pair.insert(deadline_ms));
    }
    let expected =
        vec![(1, 7), (63, 4), (64, 5), (70, 2), (70, 9), (100, 1), (100, 6), (4096, 8), (5000, 0), (5000, 3)];
    assert_eq!(pair.advance(5000), expected);
}

#[test]
fn not_before_its_tick_and_not_after() {
    let mut pair = Pair::default();
    for deadline_ms in [1, 63, 64, 65, 4095, 4096, 1 << 18, (1 << 36) - 1, 1 << 36, (1 << 36) + 1, 1 << 40] {
        assert!(pair.insert(deadline_ms));
        assert_eq!(pair.advance(deadline_ms - 1), []);
        assert_eq!(pair.advance(deadline_ms).len(), 1);
        assert!(!pair.insert(deadline_ms), "a deadline that has passed must not go in");
    }
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut pair = Pair::default();
    pair.advance(1000);
    assert!(pair.insert(1001));
    assert!(matches!(pair.wheel.pop(10), Popped::Nothing));
    assert_eq!(pair.wheel.elapsed_ms(), 1000);
    assert_eq!(pair.advance(1001).len(), 1);
}

#[test]
fn the_bound_is_the_deadline() {
    // Not the start of a slot up the levels: an idle thread is to be woken once per timer.
    for deadline_ms in [1, 64, 100, 12_345, 10_000_000, 1 << 35, 1 << 36, (1 << 40) + 77, LATEST_MS - 3] {
        let mut pair = Pair::default();
        pair.insert(deadline_ms + 3);
        pair.insert(deadline_ms);
        assert_eq!(pair.wheel.next_deadline_ms(), deadline_ms);
        pair.advance(deadline_ms - 1);
        assert_eq!(pair.wheel.next_deadline_ms(), deadline_ms);
    }
}

#[test]
fn a_slot_can_be_changed_while_it_is_emptied() {
    let mut pair = Pair::default();
    for deadline_ms in [64, 80, 90, 100] {
        pair.insert(deadline_ms);
    }
    // The slot 64..128 has begun, and one of its nodes has come down.
    assert!(matches!(pair.wheel.pop(64), Popped::Moved));
    assert!(pair.insert(70));
    assert!(!pair.insert(64));
    pair.cancel((90, 2));
    pair.cancel((64, 0));
    assert_eq!(pair.advance(100), [(70, 4), (80, 1), (100, 3)]);
}

#[test]
fn put_off_while_it_waits() {
    let mut pair = Pair::default();
    pair.insert(10);
    pair.insert(1000);
    pair.push_later((10, 0), 2000);
    pair.push_later((1000, 1), 1 << 37);
    assert_eq!(pair.advance(2009), []);
    assert_eq!(pair.advance(2010), [(2010, 0)]);
    assert_eq!(pair.advance(1000 + (1 << 37)), [(1000 + (1 << 37), 1)]);
}

/// One timer a day, and one at some time of the day, for a hundred years: some forty rotations.
#[test]
fn a_virtual_century() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    // Under Miri a few days before and after the first rotation ends.
    let days = if cfg!(miri) { 790..800 } else { 0..36_525 };
    let mut pair = Pair::default();
    pair.wheel.skip_to(days.start * DAY_MS);
    pair.insert((days.start + 1) * DAY_MS);
    pair.insert(days.end * 2 * DAY_MS);
    for day in days.start + 1..days.end {
        let next = pair.wheel.next_deadline_ms();
        assert_eq!(next, day * DAY_MS);
        let now_ms = next + day % 100;
        assert_eq!(pair.advance(now_ms), [(next, 0)]);
        let odd_ms = now_ms + 1 + day * 7919 % 60_000;
        pair.arm(0, odd_ms);
        assert_eq!(pair.advance(odd_ms), [(odd_ms, 0)]);
        pair.arm(0, (day + 1) * DAY_MS);
    }
    assert_eq!(pair.advance(LATEST_MS).len(), 2);
}

#[test]
fn everything_comes_out_at_shutdown() {
    let mut pair = Pair::default();
    for deadline_ms in [1, 2, 64, 64, 1 << 20, 1 << 36, 1 << 40] {
        pair.insert(deadline_ms);
    }
    let mut count = 0;
    while pair.wheel.pop_any().is_some() {
        count += 1;
    }
    assert_eq!((count, pair.wheel.len(), pair.wheel.next_deadline_ms()), (7, 0, NEVER));
}

#[cfg(not(miri))]
mod property {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64),
        Cancel(usize),
        PushLater(usize, u64),
        Reset(usize, u64),
        Advance(u64),
        /// To a few ticks around the next deadline, where the edges are.
        AdvanceToNext(u64),
    }

    /// As many short spans as long ones, up to 2^40 ms, and those next to a power of 64.
    fn span() -> impl Strategy<Value = u64> {
        let even = (0u32..40, any::<u64>()).prop_map(|(bits, any)| any & ((2 << bits) - 1));
        let edge = (0u32..7, 0u64..5).prop_map(|(digits, off)| (1u64 << (6 * digits)) + off - 2.min(off));
        prop_oneof![4 => even, 1 => edge]
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => span().prop_map(Op::Insert),
            2 => any::<usize>().prop_map(Op::Cancel),
            2 => (any::<usize>(), span()).prop_map(|(any, by)| Op::PushLater(any, by)),
            1 => (any::<usize>(), span()).prop_map(|(any, by)| Op::Reset(any, by)),
            2 => span().prop_map(Op::Advance),
            3 => (0u64..4).prop_map(Op::AdvanceToNext),
        ]
    }

    /// Runs the operations on both sides; every step compares them.
    fn check(start_ms: u64, ops: Vec<Op>) {
        let mut pair = Pair::default();
        pair.wheel.skip_to(start_ms);
        pair.now_ms = start_ms;
        for op in ops {
            match op {
                Op::Insert(span) => drop(pair.insert(pair.now_ms + span)),
                Op::Cancel(any) => {
                    if let Some(timer) = pair.pick(any) {
                        pair.cancel(timer);
                    }
                }
                Op::PushLater(any, by) => {
                    if let Some(timer) = pair.pick(any) {
                        pair.push_later(timer, by);
                    }
                }
                Op::Reset(any, span) => {
                    if let Some(timer) = pair.pick(any) {
                        pair.cancel(timer);
                        pair.arm(timer.1, pair.now_ms + span);
                    }
                }
                Op::Advance(span) => drop(pair.advance(pair.now_ms + span)),
                Op::AdvanceToNext(off) => {
                    let next = pair.model.first().map_or(pair.now_ms, |(at, _)| *at);
                    pair.advance((next + off).saturating_sub(2).max(pair.now_ms));
                }
            }
        }
        pair.advance(LATEST_MS);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_a_heap(start in prop_oneof![Just(0), span(), (1u64 << 36) - 100..(1 << 36)], ops in prop::collection::vec(op(), 1..80)) {
            check(start, ops);
        }
    }
}
