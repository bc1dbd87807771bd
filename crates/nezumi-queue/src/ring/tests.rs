use super::{Busy, Ring, Steal};
use crate::Batch;
use crate::item::tests::{Num, take_turns};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The ring as its header describes it, without threads: a deque, and whether the last of it is hot.
#[derive(Default)]
struct Plain {
    deque: VecDeque<u32>,
    hot: bool,
}

impl Plain {
    fn settle(&mut self) {
        self.hot &= !self.deque.is_empty();
    }

    fn pop_front(&mut self) -> Option<u32> {
        let value = self.deque.pop_front();
        self.settle();
        value
    }

    fn pop_back(&mut self) -> Option<u32> {
        self.hot = false;
        self.deque.pop_back()
    }

    fn take(&mut self, count: usize) -> Vec<u32> {
        let taken = self.deque.drain(..count).collect();
        self.settle();
        taken
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Push { hot: bool },
    PushBatch(usize),
    PopFront,
    PopBack,
    PopHot,
    TakeHalf,
    StealInto { take_hot: bool },
    StealBatch { take_hot: bool, max: usize },
    Flush,
}

fn values<const N: usize>(ring: &Ring<Num, N>) -> Vec<u32> {
    // SAFETY: the tests own all their rings.
    std::iter::from_fn(|| unsafe { ring.pop_front() }).map(|num| num.value()).collect()
}

fn batch_values(mut batch: Batch<Num>) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
}

fn stolen(plain: &mut Plain, take_hot: bool, max: usize) -> Vec<u32> {
    let left = plain.deque.len() == 1 && plain.hot && !take_hot;
    plain.take(if left { 0 } else { plain.deque.len().div_ceil(2).min(max) })
}

fn check<const N: usize>(start: u16, ops: &[Op]) {
    let (ring, thief) = (Ring::<Num, N>::starting_at(start), Ring::<Num, N>::starting_at(start));
    let (mut plain, mut robbed) = (Plain::default(), VecDeque::new());
    let mut next = 0..;
    let mut fresh = || next.next().unwrap();
    for &op in ops {
        // SAFETY (all): one thread owns both rings.
        match op {
            Op::Push { hot } => {
                let value = fresh();
                // SAFETY: as said above.
                match unsafe { ring.push_back(Num::new(value), hot) } {
                    Ok(live) => {
                        plain.deque.push_back(value);
                        plain.hot = hot;
                        assert_eq!(live, plain.deque.len());
                    }
                    Err(back) => assert_eq!((back.value(), plain.deque.len()), (value, N)),
                }
            }
            Op::PushBatch(count) => {
                let mut batch = Batch::new();
                let numbers: Vec<u32> = (0..count).map(|_| fresh()).collect();
                numbers.iter().for_each(|&value| batch.push_back(Num::new(value)));
                let fits = count.min(N - plain.deque.len());
                // SAFETY: as said above.
                assert_eq!(unsafe { ring.push_batch(&mut batch) }, fits);
                plain.deque.extend(&numbers[..fits]);
                plain.hot &= fits == 0;
                assert_eq!(batch_values(batch), numbers[fits..]);
            }
            // SAFETY: as said above.
            Op::PopFront => assert_eq!(unsafe { ring.pop_front() }.map(|num| num.value()), plain.pop_front()),
            // SAFETY: as said above.
            Op::PopBack => assert_eq!(unsafe { ring.pop_back() }.map(|num| num.value()), plain.pop_back()),
            Op::PopHot => {
                let expected = if plain.hot { plain.pop_back() } else { None };
                // SAFETY: as said above.
                assert_eq!(unsafe { ring.pop_hot() }.map(|num| num.value()), expected);
            }
            Op::TakeHalf => {
                let expected = plain.take(plain.deque.len() / 2);
                // SAFETY: as said above.
                let taken = unsafe { ring.take_half() };
                assert_eq!(taken.map(batch_values).unwrap_or_default(), expected);
            }
            Op::StealInto { take_hot } => {
                let room = N - robbed.len();
                let expected = stolen(&mut plain, take_hot, 1 + room);
                // SAFETY: as said above.
                match unsafe { ring.steal_into(&thief, take_hot) } {
                    Steal::Empty => assert!(expected.is_empty()),
                    Steal::Busy => panic!("nobody else steals"),
                    Steal::Taken { first, more } => {
                        assert_eq!((first.value(), more + 1), (expected[0], expected.len()));
                        robbed.extend(&expected[1..]);
                    }
                }
            }
            Op::StealBatch { take_hot, max } => {
                let expected = stolen(&mut plain, take_hot, max);
                assert_eq!(batch_values(ring.steal_batch(take_hot, max).unwrap()), expected);
            }
            Op::Flush => {
                assert_eq!(values(&thief), Vec::from(std::mem::take(&mut robbed)));
            }
        }
        assert_eq!((ring.len(), ring.is_empty()), (plain.deque.len(), plain.deque.is_empty()));
        assert_eq!((ring.room(), ring.has_hot()), (N - plain.deque.len(), plain.hot));
    }
    assert_eq!(values(&ring), Vec::from(plain.deque));
}

#[cfg(not(miri))]
mod property {
    use super::{Op, check};
    use proptest::prelude::*;

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            8 => any::<bool>().prop_map(|hot| Op::Push { hot }),
            2 => (0..7usize).prop_map(Op::PushBatch),
            3 => Just(Op::PopFront),
            2 => Just(Op::PopBack),
            2 => Just(Op::PopHot),
            1 => Just(Op::TakeHalf),
            2 => any::<bool>().prop_map(|take_hot| Op::StealInto { take_hot }),
            1 => (any::<bool>(), 0..4usize).prop_map(|(take_hot, max)| Op::StealBatch { take_hot, max }),
            1 => Just(Op::Flush),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn behaves_like_a_deque(
            start in prop_oneof![Just(0), Just(u16::MAX - 3), Just(0x7fff), any::<u16>()],
            ops in proptest::collection::vec(op(), 0..200),
        ) {
            check::<4>(start, &ops);
            check::<8>(start, &ops);
        }
    }
}

#[test]
fn every_operation_across_the_wrap() {
    use Op::{Flush, PopBack, PopFront, PopHot, Push, PushBatch, StealBatch, StealInto, TakeHalf};
    let hot = Push { hot: true };
    let cold = Push { hot: false };
    for start in [0, u16::MAX - 3] {
        check::<4>(start, &[cold, hot, PopHot, PopHot, hot, cold, PopHot, PopBack, PopFront, PopFront]);
        check::<4>(
            start,
            &[PushBatch(6), TakeHalf, PushBatch(3), StealInto { take_hot: false }, Flush, PopFront],
        );
        check::<4>(start, &[hot, StealInto { take_hot: false }, StealInto { take_hot: true }, Flush]);
        check::<4>(
            start,
            &[hot, hot, StealBatch { take_hot: false, max: 1 }, PopHot, hot, PushBatch(2), PopHot],
        );
        check::<4>(
            start,
            &[cold, cold, cold, cold, cold, StealInto { take_hot: false }, StealInto { take_hot: false }],
        );
    }
}

#[test]
fn a_thief_takes_no_more_than_it_has_room_for() {
    let (victim, thief) = (Ring::<Num, 4>::new(), Ring::<Num, 4>::new());
    // SAFETY: one thread owns both.
    unsafe {
        (0..3).for_each(|value| assert!(thief.push_back(Num::new(value), false).is_ok()));
        (10..14).for_each(|value| assert!(victim.push_back(Num::new(value), false).is_ok()));
        let Steal::Taken { first, more } = victim.steal_into(&thief, false) else {
            panic!("there is enough")
        };
        assert_eq!((first.value(), more), (10, 1));
        assert_eq!(thief.room(), 0);
        let Steal::Taken { first, more } = victim.steal_into(&thief, false) else {
            panic!("one needs no room")
        };
        assert_eq!((first.value(), more), (12, 0));
    }
    assert_eq!(values(&victim), [13]);
    assert_eq!(values(&thief), [0, 1, 2, 11]);
}

#[test]
fn a_dropped_ring_drops_its_items() {
    // Miri would report the leak.
    let ring = Ring::<Num>::new();
    for value in 0..if cfg!(miri) { 10 } else { 200 } {
        // SAFETY: one thread.
        assert!(unsafe { ring.push_back(Num::new(value), value % 3 == 0) }.is_ok());
    }
}

/// One owner at both ends and with overflow, thieves into rings of their own and into batches; every number that went in
/// comes out once.
fn stress<const N: usize>(start: u16, thieves: usize, items: u32) {
    let rings: Vec<Ring<Num, N>> = (0..=thieves).map(|_| Ring::starting_at(start)).collect();
    let (done, sum, count) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let eat = |num: Num| {
        sum.fetch_add(u64::from(num.value()), Ordering::Relaxed);
        count.fetch_add(1, Ordering::Relaxed);
    };
    let steal = |own: usize| {
        for victim in (0..=thieves).filter(|&victim| victim != own) {
            // SAFETY: `own` is the ring of this thread.
            if let Steal::Taken { first, .. } = unsafe { rings[victim].steal_into(&rings[own], own % 2 == 0) }
            {
                eat(first);
            }
            match rings[victim].steal_batch(true, 3) {
                Ok(mut batch) => std::iter::from_fn(|| batch.pop_front()).for_each(eat),
                Err(Busy) => std::hint::spin_loop(),
            }
        }
        // SAFETY: as above. Half of what is there, so that others find something to rob.
        (0..rings[own].len().div_ceil(2)).for_each(|_| unsafe { rings[own].pop_front() }.map_or((), eat));
    };
    std::thread::scope(|scope| {
        for own in 1..=thieves {
            let (done, steal, rings) = (&done, &steal, &rings);
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    steal(own);
                    take_turns();
                }
                // SAFETY: the ring of this thread.
                std::iter::from_fn(|| unsafe { rings[own].pop_front() }).for_each(eat);
            });
        }
        let ring = &rings[0];
        let mut value = 0;
        while value < items {
            // SAFETY (all): this thread is the owner of ring 0.
            match value % 7 {
                // SAFETY: as said above.
                3 => unsafe { ring.pop_front() }.map_or((), eat),
                // SAFETY: as said above.
                5 => unsafe { ring.pop_hot() }.map_or((), eat),
                // SAFETY: as said above.
                6 => unsafe { ring.pop_back() }.map_or((), eat),
                _ => {}
            }
            // SAFETY: as said above.
            if let Err(num) = unsafe { ring.push_back(Num::new(value), value % 2 == 0) } {
                // SAFETY: as said above.
                match unsafe { ring.take_half() } {
                    Some(mut half) => {
                        half.push_back(num);
                        // SAFETY: as said above.
                        unsafe { ring.push_batch(&mut half) };
                        std::iter::from_fn(|| half.pop_front()).for_each(eat);
                    }
                    None => eat(num),
                }
            }
            value += 1;
        }
        // SAFETY: as said above.
        std::iter::from_fn(|| unsafe { ring.pop_back() }).for_each(eat);
        done.store(true, Ordering::Release);
    });
    // A thief may have robbed another that was through already.
    // SAFETY: the threads are gone.
    rings.iter().for_each(|ring| std::iter::from_fn(|| unsafe { ring.pop_front() }).for_each(eat));
    assert_eq!(count.load(Ordering::Relaxed), u64::from(items));
    assert_eq!(sum.load(Ordering::Relaxed), u64::from(items) * u64::from(items - 1) / 2);
}

#[test]
fn many_threads_lose_and_double_nothing() {
    if cfg!(miri) {
        // A few, many times: with many seeds.
        stress::<4>(u16::MAX - 3, 2, 15);
        return stress::<8>(u16::MAX - 3, 3, 15);
    }
    stress::<4>(u16::MAX - 3, 2, 200_000);
    stress::<256>(u16::MAX - 3, 3, 200_000);
}
