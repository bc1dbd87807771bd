//! Every interleaving of a few operations on a ring of four slots.

use super::{Busy, Ring, Steal};
use crate::Batch;
use crate::item::tests::Num;
use crate::look::check;
use loom::thread::{self, JoinHandle};
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering, fence};

type Small = Ring<Num, 4>;

fn ring(start: u16, values: std::ops::Range<u32>) -> Arc<Small> {
    let ring = Ring::starting_at(start);
    // SAFETY: nobody else knows the ring yet.
    values.for_each(|value| assert!(unsafe { ring.push_back(Num::new(value), false) }.is_ok()));
    Arc::new(ring)
}

fn drain(ring: &Small) -> Vec<u32> {
    // SAFETY: called by the thread whose ring it is, or when the others are gone.
    std::iter::from_fn(|| unsafe { ring.pop_front() }).map(|num| num.value()).collect()
}

/// What is left when the others are gone. They have given all slots back.
fn rest(ring: &Small) -> Vec<u32> {
    let rest = drain(ring);
    assert_eq!(ring.room(), 4, "every slot is free again");
    rest
}

fn values(mut batch: Batch<Num>) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
}

fn value(num: Option<Num>) -> Option<u32> {
    num.map(|num| num.value())
}

/// Steals from `victim` into `own`: what it got to run.
fn steal(victim: &Small, own: &Small, take_hot: bool) -> Option<u32> {
    // SAFETY: called by the owner of `own`.
    match unsafe { victim.steal_into(own, take_hot) } {
        Steal::Taken { first, .. } => Some(first.value()),
        Steal::Empty | Steal::Busy => None,
    }
}

/// A thief with a ring of its own: all it got.
fn thief(victim: &Arc<Small>, start: u16) -> JoinHandle<Vec<u32>> {
    let victim = victim.clone();
    thread::spawn(move || {
        let own = Ring::starting_at(start);
        let mut got: Vec<u32> = steal(&victim, &own, true).into_iter().collect();
        got.extend(drain(&own));
        assert!(got.is_sorted(), "a thief gets the oldest first");
        got
    })
}

fn check_once(mut got: Vec<u32>, count: u32) {
    got.sort_unstable();
    assert_eq!(got, (0..count).collect::<Vec<_>>(), "each once");
}

#[test]
fn owner_at_both_ends_and_two_thieves() {
    check(|| {
        let ring = ring(0, 0..3);
        let thieves = [thief(&ring, 0), thief(&ring, 0)];
        let mut got = Vec::new();
        // SAFETY: this thread is the owner.
        unsafe {
            got.extend(value(ring.pop_back()));
            got.extend(value(ring.pop_front()));
            assert!(ring.push_back(Num::new(3), true).is_ok());
            got.extend(value(ring.pop_hot()));
        }
        thieves.into_iter().for_each(|thief| got.extend(thief.join().unwrap()));
        got.extend(rest(&ring));
        check_once(got, 4);
    });
}

#[test]
fn a_stalled_thief_keeps_its_slots() {
    check(|| {
        // The owner goes once around the ring while the thief stands between its claim and its release.
        let ring = ring(0, 0..4);
        let thief = thief(&ring, 0);
        let mut got = Vec::new();
        for next in 4..8 {
            // SAFETY: this thread is the owner.
            unsafe {
                got.extend(value(ring.pop_front()));
                if let Err(num) = ring.push_back(Num::new(next), false) {
                    got.push(num.value());
                }
            }
        }
        got.extend(thief.join().unwrap());
        got.extend(rest(&ring));
        check_once(got, 8);
    });
}

#[test]
fn cursors_wrap_under_a_thief() {
    check(|| {
        let start = u16::MAX - 2;
        let ring = ring(start, 0..3);
        let thief = thief(&ring, start);
        let mut got = Vec::new();
        // SAFETY: this thread is the owner.
        unsafe {
            got.extend(value(ring.pop_back()));
            assert!(ring.push_back(Num::new(3), false).is_ok());
            got.extend(value(ring.pop_front()));
            got.extend(value(ring.pop_back()));
        }
        got.extend(thief.join().unwrap());
        got.extend(rest(&ring));
        check_once(got, 4);
    });
}

#[test]
fn a_thief_is_robbed() {
    check(|| {
        // 4 items: the first thief takes two into hand and ring, and is robbed of what it put there, while both rings are
        // in use by their owners.
        let (first, second) = (ring(0, 0..4), ring(0, 0..0));
        let robber = {
            let second = second.clone();
            thread::spawn(move || {
                let own = Ring::new();
                let mut got: Vec<u32> = steal(&second, &own, true).into_iter().collect();
                got.extend(drain(&own));
                got
            })
        };
        let owner = {
            let first = first.clone();
            thread::spawn(move || {
                // SAFETY: this thread is the owner of `first`.
                let popped = unsafe { [first.pop_front(), first.pop_back()] };
                popped.into_iter().filter_map(value).collect::<Vec<u32>>()
            })
        };
        let mut got: Vec<u32> = steal(&first, &second, true).into_iter().collect();
        // SAFETY: this thread is the owner of `second`.
        got.extend(value(unsafe { second.pop_back() }));
        got.extend(robber.join().unwrap());
        got.extend(owner.join().unwrap());
        got.extend(rest(&first));
        got.extend(rest(&second));
        check_once(got, 4);
    });
}

#[test]
fn a_robbed_thief_has_less_room() {
    check(|| {
        // The thief's own ring is full and being copied out of while it steals: it may write only what the robber gave back.
        let (victim, own) = (ring(0, 0..4), ring(0, 4..8));
        let robber = {
            let own = own.clone();
            thread::spawn(move || values(own.steal_batch(true, 4).unwrap_or_default()))
        };
        let mut got: Vec<u32> = steal(&victim, &own, true).into_iter().collect();
        got.extend(robber.join().unwrap());
        got.extend(rest(&victim));
        got.extend(rest(&own));
        check_once(got, 8);
    });
}

#[test]
fn overflow_races_a_thief() {
    check(|| {
        let ring = ring(0, 0..4);
        let thief = thief(&ring, 0);
        let mut got = Vec::new();
        // SAFETY: this thread is the owner.
        unsafe {
            if let Err(num) = ring.push_back(Num::new(4), false) {
                match ring.take_half() {
                    Some(half) => {
                        got.extend(values(half));
                        assert!(ring.push_back(num, false).is_ok(), "there is room after that");
                    }
                    None => got.push(num.value()),
                }
            }
        }
        got.extend(thief.join().unwrap());
        got.extend(rest(&ring));
        check_once(got, 5);
    });
}

#[test]
fn a_batch_races_a_thief() {
    check(|| {
        let ring = ring(0, 0..2);
        let thief = thief(&ring, 0);
        let mut batch = Batch::new();
        (2..6).for_each(|value| batch.push_back(Num::new(value)));
        // SAFETY: this thread is the owner.
        let mut got = unsafe {
            let pushed = ring.push_batch(&mut batch);
            assert!((2..=4).contains(&pushed));
            Vec::from_iter(value(ring.pop_back()))
        };
        got.extend(values(batch));
        got.extend(thief.join().unwrap());
        got.extend(rest(&ring));
        check_once(got, 6);
    });
}

#[test]
fn two_rescuers_and_the_owner() {
    check(|| {
        let ring = ring(0, 0..3);
        let rescuers = [(); 2].map(|()| {
            let ring = ring.clone();
            thread::spawn(move || match ring.steal_batch(true, 2) {
                Ok(batch) => values(batch),
                Err(Busy) => Vec::new(),
            })
        });
        // SAFETY: this thread is the owner.
        let mut got = Vec::from_iter(value(unsafe { ring.pop_front() }));
        rescuers.into_iter().for_each(|rescuer| got.extend(rescuer.join().unwrap()));
        got.extend(rest(&ring));
        check_once(got, 3);
    });
}

#[test]
fn thieves_copy_one_after_the_other() {
    check(|| {
        // If two could copy at once, the first to end would give the slots of both back, and the owner would overwrite them.
        let ring = ring(0, 0..4);
        let thieves = [(); 2].map(|()| {
            let ring = ring.clone();
            thread::spawn(move || values(ring.steal_batch(true, 1).unwrap_or_default()))
        });
        let mut got = Vec::new();
        for next in 4..6 {
            // SAFETY: this thread is the owner.
            if let Err(num) = unsafe { ring.push_back(Num::new(next), false) } {
                got.push(num.value());
            }
        }
        thieves.into_iter().for_each(|thief| got.extend(thief.join().unwrap()));
        got.extend(rest(&ring));
        check_once(got, 6);
    });
}

/// The owner stores where it knows that nobody else could change the word; a rescuer may come back to a word that looks as before.
#[test]
fn hot_pushes_into_an_empty_ring_race_two_rescuers() {
    check(|| {
        let ring = ring(0, 0..0);
        let rescuers = [(); 2].map(|()| {
            let ring = ring.clone();
            thread::spawn(move || match ring.steal_batch(true, 2) {
                Ok(batch) => values(batch),
                Err(Busy) => Vec::new(),
            })
        });
        let mut got = Vec::new();
        for next in 0..3 {
            // SAFETY: this thread is the owner.
            unsafe {
                assert!(ring.push_back(Num::new(next), true).is_ok());
                got.extend(value(ring.pop_hot()));
            }
        }
        rescuers.into_iter().for_each(|rescuer| got.extend(rescuer.join().unwrap()));
        got.extend(rest(&ring));
        check_once(got, 3);
    });
}

fn last_hot(take_hot: bool) {
    check(move || {
        let ring = ring(0, 0..0);
        // SAFETY: nobody else is there yet.
        assert!(matches!(unsafe { ring.push_back(Num::new(0), true) }, Ok(1)));
        let thief = {
            let ring = ring.clone();
            thread::spawn(move || steal(&ring, &Ring::new(), take_hot))
        };
        // SAFETY: this thread is the owner.
        let kept = value(unsafe { ring.pop_hot() });
        let stolen = thief.join().unwrap();
        assert!(kept.is_some() != stolen.is_some());
        assert!(take_hot || stolen.is_none(), "the last hot item is its owner's");
        assert!(ring.is_empty() && !ring.has_hot());
    });
}

#[test]
fn a_last_hot_item_is_left() {
    last_hot(false);
}

#[test]
fn a_last_hot_item_of_a_stuck_owner_is_taken() {
    last_hot(true);
}

#[test]
fn a_push_races_the_last_look() {
    check(|| {
        let ring = ring(0, 0..0);
        let asleep = Arc::new(AtomicBool::new(false));
        let sleeper = {
            let (ring, asleep) = (ring.clone(), asleep.clone());
            thread::spawn(move || {
                asleep.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                !ring.is_empty()
            })
        };
        // SAFETY: this thread is the owner.
        assert!(unsafe { ring.push_back(Num::new(0), false) }.is_ok());
        fence(Ordering::SeqCst);
        let sees_sleeper = asleep.load(Ordering::Relaxed);
        let sees_work = sleeper.join().unwrap();
        assert!(sees_sleeper || sees_work, "one of the two sees the other");
    });
}

/// The deque that the checker must reject: two cursors, and the owner's pop looks at one end before it moves the other.
mod canary {
    use super::{Arc, thread};
    use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};

    struct Naive {
        head: AtomicUsize,
        tail: AtomicUsize,
    }

    impl Naive {
        /// The owner: the number of the newest item.
        fn pop_back(&self) -> Option<usize> {
            let tail = self.tail.load(Ordering::Relaxed);
            let head = self.head.load(Ordering::Acquire);
            if head == tail {
                return None;
            }
            self.tail.store(tail - 1, Ordering::Relaxed);
            if head != tail - 1 {
                return Some(tail - 1);
            }
            let won = self.head.compare_exchange(head, head + 1, Ordering::AcqRel, Ordering::Acquire).is_ok();
            self.tail.store(tail, Ordering::Relaxed);
            won.then_some(tail - 1)
        }

        /// A thief: the numbers of the older half.
        fn steal_half(&self) -> std::ops::Range<usize> {
            let head = self.head.load(Ordering::Acquire);
            let tail = self.tail.load(Ordering::Acquire);
            let upto = head + tail.saturating_sub(head).div_ceil(2);
            match self.head.compare_exchange(head, upto, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => head..upto,
                Err(_) => 0..0,
            }
        }
    }

    fn check(items: usize, pops: usize, steals: usize) {
        loom::model(move || {
            let deque = Arc::new(Naive { head: AtomicUsize::new(0), tail: AtomicUsize::new(items) });
            let thief = {
                let deque = deque.clone();
                thread::spawn(move || (0..steals).flat_map(|_| deque.steal_half()).collect::<Vec<_>>())
            };
            let popped: Vec<usize> = (0..pops).filter_map(|_| deque.pop_back()).collect();
            let stolen = thief.join().unwrap();
            assert!(popped.iter().all(|item| !stolen.contains(item)), "taken twice");
        });
    }

    #[test]
    #[should_panic(expected = "taken twice")]
    fn owner_and_thief_both_take_the_last_item() {
        check(2, 1, 2);
    }

    #[test]
    #[should_panic(expected = "taken twice")]
    fn a_claim_of_half_overlaps_a_pop() {
        check(3, 2, 1);
    }
}
