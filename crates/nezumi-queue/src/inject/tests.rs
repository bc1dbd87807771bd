use super::Inject;
use crate::Batch;
use crate::item::tests::{Num, take_turns};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn batch(values: std::ops::Range<u32>) -> Batch<Num> {
    let mut batch = Batch::new();
    values.for_each(|value| batch.push_back(Num::new(value)));
    batch
}

fn values(mut batch: Batch<Num>) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
}

#[test]
fn one_thread_is_first_in_first_out() {
    let inject = Inject::new(1);
    assert!(inject.take(0, 9).is_empty() && inject.is_empty());
    inject.push(Num::new(0), 5).unwrap();
    inject.push(Num::new(1), 5).unwrap();
    assert_eq!((inject.len(), inject.is_empty()), (2, false));
    assert_eq!(values(inject.take(0, 1)), [0]);
    inject.push_batch(batch(2..5), 0).unwrap();
    inject.push_batch(batch(0..0), 0).unwrap();
    inject.push(Num::new(5), 0).unwrap();
    assert_eq!(inject.len(), 5);
    assert_eq!(values(inject.take(0, 3)), [1, 2, 3]);
    assert_eq!((inject.len(), inject.is_empty()), (2, false));
    assert_eq!(values(inject.take(0, 9)), [4, 5]);
    assert_eq!((inject.len(), inject.is_empty()), (0, true));
}

#[test]
fn a_take_goes_on_to_the_other_shards() {
    let inject = Inject::new(4);
    for hint in 0..4 {
        inject.push_batch(batch(hint * 10..hint * 10 + 2), hint as usize).unwrap();
    }
    assert_eq!(values(inject.take(3, 3)), [30, 31, 0]);
    assert_eq!(values(inject.take(2, 0)), [0; 0]);
    assert_eq!(values(inject.take(2, 9)), [20, 21, 1, 10, 11]);
}

#[test]
fn closing_refuses_and_keeps() {
    let inject = Inject::new(2);
    inject.push(Num::new(0), 0).unwrap();
    inject.push(Num::new(1), 1).unwrap();
    assert!(inject.close() && !inject.close() && inject.is_closed());
    assert_eq!(inject.push(Num::new(7), 1).unwrap_err().value(), 7);
    assert_eq!(values(inject.push_batch(batch(7..10), 0).unwrap_err()), [7, 8, 9]);
    assert_eq!(values(inject.push_batch(batch(7..8), 0).unwrap_err()), [7]);
    assert!(inject.push_batch(Batch::new(), 0).is_err());
    assert_eq!((inject.len(), inject.is_empty()), (2, false));
    assert_eq!(values(inject.take(0, 1)), [0]);
    assert_eq!(values(inject.take_all()), [1]);
    assert_eq!((inject.len(), inject.is_empty()), (0, true));
    assert_eq!(inject.push(Num::new(7), 1).unwrap_err().value(), 7);
}

#[test]
fn a_dropped_queue_drops_its_items() {
    // Miri would report the leak.
    let inject = Inject::new(2);
    (0..4).for_each(|value| inject.push(Num::new(value), value as usize).unwrap());
    drop(inject.take(0, 1));
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Push,
    PushBatch(u32),
    Take(usize),
}

fn check(ops: &[Op]) {
    let inject = Inject::new(1);
    let (mut deque, mut next) = (VecDeque::new(), 0);
    for &op in ops {
        match op {
            Op::Push => {
                inject.push(Num::new(next), 0).unwrap();
                deque.push_back(next);
                next += 1;
            }
            Op::PushBatch(len) => {
                inject.push_batch(batch(next..next + len), 0).unwrap();
                deque.extend(next..next + len);
                next += len;
            }
            Op::Take(max) => {
                let max = max.min(deque.len());
                assert_eq!(values(inject.take(0, max)), deque.drain(..max).collect::<Vec<_>>());
            }
        }
        assert_eq!((inject.len(), inject.is_empty()), (deque.len(), deque.is_empty()));
    }
    assert_eq!(values(inject.take_all()), Vec::from(deque));
}

#[test]
fn batches_among_single_items() {
    use Op::{Push, PushBatch, Take};
    check(&[Push, PushBatch(3), Take(2), PushBatch(2), Push, Take(1), Take(9), PushBatch(1), Take(1)]);
}

#[cfg(not(miri))]
mod property {
    use super::{Op, check};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn behaves_like_a_deque(ops in proptest::collection::vec(
            prop_oneof![Just(Op::Push), (0..5u32).prop_map(Op::PushBatch), (0..7usize).prop_map(Op::Take)],
            0..100,
        )) {
            check(&ops);
        }
    }
}

/// Producers on both shards against two consumers, then a close in the middle of it: what was not refused comes out once,
/// and what one producer pushed and one consumer took comes in order.
fn stress(producers: u32, each: u32) {
    let inject = Inject::new(2);
    let (done, pushed, popped) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let eat = |mut batch: Batch<Num>, last: &mut [u32]| {
        while let Some(num) = batch.pop_front() {
            let (producer, value) = (num.value() / each, num.value() % each + 1);
            assert!(last[producer as usize] < value, "the order of one producer");
            last[producer as usize] = value;
            popped.fetch_add(u64::from(num.value()), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for hint in 0..2 {
            let (inject, done, eat) = (&inject, &done, &eat);
            scope.spawn(move || {
                let mut last = vec![0; producers as usize];
                while !done.load(Ordering::Acquire) {
                    eat(inject.take(hint, 17), &mut last);
                    take_turns();
                }
            });
        }
        let threads: Vec<_> = (0..producers)
            .map(|producer| {
                let (inject, pushed) = (&inject, &pushed);
                scope.spawn(move || {
                    for value in producer * each..(producer + 1) * each {
                        if value == each / 2 {
                            inject.close();
                        }
                        if inject.push(Num::new(value), producer as usize).is_ok() {
                            pushed.fetch_add(u64::from(value), Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        eat(inject.take_all(), &mut vec![0; producers as usize]);
        done.store(true, Ordering::Release);
    });
    assert_eq!((inject.is_empty(), inject.len()), (true, 0));
    assert_eq!(pushed.into_inner(), popped.into_inner());
}

#[test]
fn many_threads_lose_and_double_nothing() {
    stress(3, if cfg!(miri) { 8 } else { 200_000 });
}
