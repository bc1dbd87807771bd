//! Every interleaving of an owner and those who take what it does not come back to.

use super::Shelf;
use crate::Batch;
use crate::item::tests::Num;
use crate::look::check;
use loom::thread::{self, JoinHandle};
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Arc;

type Small = Shelf<Num, 4>;

fn put(shelf: &Small, values: std::ops::Range<u32>) {
    // SAFETY: called by the thread whose shelf it is.
    values.for_each(|value| assert!(unsafe { shelf.push(Num::new(value)) }.is_ok()));
}

fn values(mut batch: Batch<Num>) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
}

fn take_back(shelf: &Small) -> Vec<u32> {
    // SAFETY: called by the thread whose shelf it is.
    values(unsafe { shelf.take_all() })
}

/// One who takes what is there, twice.
fn rescuer(shelf: &Arc<Small>) -> JoinHandle<Vec<u32>> {
    let shelf = shelf.clone();
    thread::spawn(move || {
        let mut got = Vec::new();
        for _ in 0..2 {
            got.extend(values(shelf.steal().unwrap_or_default()));
        }
        assert!(got.is_sorted(), "in the order in which they were put there");
        got
    })
}

fn check_once(mut got: Vec<u32>, count: u32) {
    got.sort_unstable();
    assert_eq!(got, (0..count).collect::<Vec<_>>(), "each once");
}

#[test]
fn the_owner_takes_all_under_a_rescuer() {
    check(|| {
        let shelf = Arc::new(Small::new());
        put(&shelf, 0..2);
        let rescuer = rescuer(&shelf);
        put(&shelf, 2..3);
        let mut got = take_back(&shelf);
        assert!(got.is_sorted());
        got.extend(rescuer.join().unwrap());
        got.extend(take_back(&shelf));
        check_once(got, 3);
    });
}

#[test]
fn two_rescuers_share_nothing() {
    check(|| {
        let shelf = Arc::new(Small::new());
        put(&shelf, 0..1);
        let rescuers = [rescuer(&shelf), rescuer(&shelf)];
        put(&shelf, 1..2);
        let mut got = Vec::new();
        rescuers.into_iter().for_each(|rescuer| got.extend(rescuer.join().unwrap()));
        got.extend(take_back(&shelf));
        check_once(got, 2);
    });
}

/// Slots are written again in the next round, at the same count.
#[test]
fn a_late_rescuer_meets_the_next_round() {
    check(|| {
        let shelf = Arc::new(Small::new());
        put(&shelf, 0..1);
        let rescuer = rescuer(&shelf);
        let mut got = take_back(&shelf);
        put(&shelf, 1..2);
        got.extend(take_back(&shelf));
        put(&shelf, 2..3);
        got.extend(rescuer.join().unwrap());
        got.extend(take_back(&shelf));
        check_once(got, 3);
    });
}

/// What an item stands for was written before it was put there, and is read by whoever took it.
#[test]
fn a_rescued_item_is_seen_whole() {
    check(|| {
        let contents = Arc::new([UnsafeCell::new(0), UnsafeCell::new(0)]);
        let shelf = Arc::new(Small::new());
        let rescuer = {
            let (shelf, contents) = (shelf.clone(), contents.clone());
            thread::spawn(move || {
                for value in values(shelf.steal().unwrap_or_default()) {
                    // SAFETY: the owner wrote it before it gave the item away.
                    contents[value as usize].with(|content| assert_eq!(unsafe { *content }, 7 + value));
                }
            })
        };
        for value in 0..2 {
            // SAFETY: nobody knows the item yet.
            contents[value as usize].with_mut(|content| unsafe { *content = 7 + value });
            put(&shelf, value..value + 1);
        }
        rescuer.join().unwrap();
        take_back(&shelf);
    });
}
