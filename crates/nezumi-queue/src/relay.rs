//! The shared middle: what did not fit into a ring, by the batch.
//!
//! Called by a worker whose ring overflows, by one that leaves its ring behind, and by workers that look for work. Knows
//! nothing of who sleeps.
//!
//! Promise: batches of at most [`Relay::BATCH`] items, the oldest batch of a shard first; one lock per batch, never one per
//! item; whether there is anything is one read of one word.
//!
//! A batch travels as it is: its chain is not walked under a lock, and no item is dropped there. `len` changes under the
//! lock of the shard that changes. Its accesses are SeqCst for the idle protocol: push, fence, look at the idle word,
//! against say that one sleeps, fence, look at `len`.
//!
//! Tests: `a_batch_comes_out_as_it_went_in`, `a_long_batch_is_cut`, `every_shard_is_searched`,
//! `many_threads_lose_and_double_nothing`. Models: `batch_against_batch`, `a_push_races_the_last_look`,
//! `a_shard_that_is_in_use_is_waited_for`.

use crate::{Batch, Item};
use nezumi_prim::CachePadded;
use nezumi_prim::sync::atomic::AtomicUsize;
use nezumi_prim::sync::atomic::Ordering::SeqCst;
use nezumi_prim::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;

/// A sharded queue of batches.
///
/// A *hint* chooses the shard where a call starts; the number is reduced to the number of shards.
pub struct Relay<T: Item> {
    shards: Box<[CachePadded<Segment<T>>]>,
    len: CachePadded<AtomicUsize>,
}

/// Batches, the oldest in front, under a lock of their own.
type Segment<T> = Mutex<VecDeque<Batch<T>>>;

impl<T: Item> fmt::Debug for Relay<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("len", &self.len()).finish()
    }
}

impl<T: Item> Relay<T> {
    /// The most that one pop returns: half a ring.
    pub const BATCH: usize = 128;

    /// An empty queue of `shards` shards, at least one, rounded up to a power of two.
    #[must_use]
    pub fn new(shards: usize) -> Self {
        let shards = (0..shards.max(1).next_power_of_two())
            .map(|_| CachePadded::new(Mutex::new(VecDeque::with_capacity(16))))
            .collect();
        Self { shards, len: CachePadded::new(AtomicUsize::new(0)) }
    }

    /// Adds a batch. One that is too long is cut.
    pub fn push(&self, mut batch: Batch<T>, hint: usize) {
        let shard = self.shard(hint);
        while batch.len() > Self::BATCH {
            let front = batch.split_front(Self::BATCH);
            self.push_into(&mut shard.lock(), front);
        }
        if !batch.is_empty() {
            self.push_into(&mut shard.lock(), batch);
        }
    }

    /// Takes the oldest batch of the first shard that has one, the shard of `hint` before the others.
    #[must_use]
    pub fn pop(&self, hint: usize) -> Option<Batch<T>> {
        let shards = || (0..self.shards.len()).map(|index| self.shard(hint.wrapping_add(index)));
        if self.is_empty() {
            return None;
        }
        // Where somebody is at work already we go only if there is nothing elsewhere.
        shards().filter_map(|shard| shard.try_lock()).find_map(|shard| self.pop_from(shard)).or_else(|| {
            if self.is_empty() { None } else { shards().find_map(|shard| self.pop_from(shard.lock())) }
        })
    }

    /// How many items are in the queue.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(SeqCst)
    }

    /// Whether nothing is in the queue.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push_into(&self, shard: &mut VecDeque<Batch<T>>, batch: Batch<T>) {
        self.len.fetch_add(batch.len(), SeqCst);
        shard.push_back(batch);
    }

    fn pop_from(&self, mut shard: MutexGuard<'_, VecDeque<Batch<T>>>) -> Option<Batch<T>> {
        let batch = shard.pop_front()?;
        self.len.fetch_sub(batch.len(), SeqCst);
        Some(batch)
    }

    #[inline]
    fn shard(&self, hint: usize) -> &Segment<T> {
        // The number of shards is a power of two.
        &self.shards[hint & (self.shards.len() - 1)]
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::Relay;
    use crate::Batch;
    use crate::item::tests::Num;
    use std::ops::Range;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn batch(values: Range<u32>) -> Batch<Num> {
        let mut batch = Batch::new();
        values.for_each(|value| batch.push_back(Num::new(value)));
        batch
    }

    fn values(mut batch: Batch<Num>) -> Vec<u32> {
        std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
    }

    #[test]
    fn a_batch_comes_out_as_it_went_in() {
        let relay = Relay::new(1);
        relay.push(batch(0..3), 0);
        relay.push(batch(0..0), 0);
        relay.push(batch(3..5), 0);
        assert_eq!(relay.len(), 5);
        assert_eq!(relay.pop(0).map(values), Some(vec![0, 1, 2]));
        assert_eq!(relay.pop(0).map(values), Some(vec![3, 4]));
        assert!(relay.pop(0).is_none() && relay.is_empty());
    }

    #[test]
    fn a_long_batch_is_cut() {
        let relay = Relay::new(1);
        relay.push(batch(0..300), 0);
        let lens: Vec<usize> = std::iter::from_fn(|| relay.pop(0)).map(|batch| batch.len()).collect();
        assert_eq!(lens, [128, 128, 44]);
    }

    #[test]
    fn every_shard_is_searched() {
        let relay = Relay::new(3);
        relay.push(batch(0..1), 2);
        relay.push(batch(1..2), 7);
        assert_eq!(relay.pop(3).map(values), Some(vec![1]), "own shard first; four of them");
        assert_eq!(relay.pop(3).map(values), Some(vec![0]));
        relay.push(batch(2..3), 0);
        // What is left is dropped with the queue; Miri would report the leak.
    }

    #[test]
    fn many_threads_lose_and_double_nothing() {
        let batches = if cfg!(miri) { 3 } else { 20_000 };
        let relay = Relay::new(2);
        let sum = AtomicU64::new(0);
        let add = |batch| {
            sum.fetch_add(values(batch).into_iter().map(u64::from).sum(), Ordering::Relaxed);
        };
        std::thread::scope(|scope| {
            for own in 0..3u32 {
                let (relay, add) = (&relay, &add);
                scope.spawn(move || {
                    for n in 0..batches {
                        let start = (own * batches + n) * 4;
                        relay.push(batch(start..start + 4), own as usize);
                        if let Some(batch) = relay.pop(n as usize) {
                            add(batch);
                        }
                    }
                });
            }
        });
        while let Some(batch) = relay.pop(0) {
            add(batch);
        }
        let count = u64::from(3 * 4 * batches);
        assert_eq!(sum.into_inner(), count * (count - 1) / 2);
    }
}

#[cfg(all(test, nezumi_loom))]
mod models {
    use super::Relay;
    use crate::Batch;
    use crate::item::tests::Num;
    use crate::look::check;
    use loom::thread;
    use nezumi_prim::sync::Arc;
    use nezumi_prim::sync::atomic::{AtomicBool, Ordering, fence};

    fn batch(values: std::ops::Range<u32>) -> Batch<Num> {
        let mut batch = Batch::new();
        values.for_each(|value| batch.push_back(Num::new(value)));
        batch
    }

    fn values(mut batch: Batch<Num>) -> Vec<u32> {
        std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
    }

    #[test]
    fn batch_against_batch() {
        check(|| {
            let relay = Arc::new(Relay::new(2));
            relay.push(batch(0..1), 1);
            let threads = [1, 3].map(|first| {
                let relay = relay.clone();
                thread::spawn(move || {
                    relay.push(batch(first..first + 2), first as usize / 2);
                    relay.pop(0).map(values).expect("as many pops as pushes, and one more was there")
                })
            });
            let mut got: Vec<u32> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            got.extend(relay.pop(0).map(values).expect("one is left"));
            assert!(relay.is_empty() && relay.pop(0).is_none());
            got.sort_unstable();
            assert_eq!(got, [0, 1, 2, 3, 4], "each once");
        });
    }

    /// Who finds the only shard in use goes there all the same, rather than leave with nothing.
    #[test]
    fn a_shard_that_is_in_use_is_waited_for() {
        check(|| {
            let relay = Arc::new(Relay::new(1));
            relay.push(batch(0..1), 0);
            relay.push(batch(1..2), 0);
            let other = {
                let relay = relay.clone();
                thread::spawn(move || relay.pop(0).map(values))
            };
            let mut got: Vec<u32> = [relay.pop(0).map(values), other.join().unwrap()]
                .into_iter()
                .flat_map(|got| got.expect("there are two"))
                .collect();
            got.sort_unstable();
            assert_eq!(got, [0, 1], "each once");
        });
    }

    #[test]
    fn a_push_races_the_last_look() {
        check(|| {
            let relay = Arc::new(Relay::new(1));
            let asleep = Arc::new(AtomicBool::new(false));
            let sleeper = {
                let (relay, asleep) = (relay.clone(), asleep.clone());
                thread::spawn(move || {
                    asleep.store(true, Ordering::Relaxed);
                    fence(Ordering::SeqCst);
                    !relay.is_empty()
                })
            };
            relay.push(batch(0..1), 0);
            fence(Ordering::SeqCst);
            let sees_sleeper = asleep.load(Ordering::Relaxed);
            let sees_work = sleeper.join().unwrap();
            assert!(sees_sleeper || sees_work, "one of the two sees the other");
        });
    }
}
