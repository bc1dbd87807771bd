use super::Shelf;
use crate::item::tests::{Num, take_turns};
use crate::{Batch, Busy};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn put<const N: usize>(shelf: &Shelf<Num, N>, values: std::ops::Range<u32>) {
    for value in values {
        // SAFETY: the tests own their shelves.
        assert!(unsafe { shelf.push(Num::new(value)) }.is_ok());
    }
}

fn values(mut batch: Batch<Num>) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
}

fn steal<const N: usize>(shelf: &Shelf<Num, N>) -> Vec<u32> {
    values(shelf.steal().expect("nobody else is there"))
}

fn take_all<const N: usize>(shelf: &Shelf<Num, N>) -> Vec<u32> {
    // SAFETY: the tests own their shelves.
    values(unsafe { shelf.take_all() })
}

#[test]
fn behaves_like_a_queue() {
    let shelf = Shelf::<Num, 8>::new();
    assert_eq!((steal(&shelf), take_all(&shelf)), (vec![], vec![]));
    put(&shelf, 0..3);
    assert_eq!(shelf.len(), 3);
    assert_eq!(steal(&shelf), [0, 1, 2]);
    assert!(shelf.is_empty() && steal(&shelf).is_empty());
    put(&shelf, 3..5);
    assert_eq!(shelf.len(), 2);
    assert_eq!(take_all(&shelf), [3, 4]);
    assert!(shelf.is_empty() && steal(&shelf).is_empty() && take_all(&shelf).is_empty());
    put(&shelf, 5..6);
    assert_eq!(steal(&shelf), [5]);
    assert_eq!(take_all(&shelf), [], "what others took is gone");
}

#[test]
fn a_full_shelf_gives_the_item_back() {
    let shelf = Shelf::<Num, 2>::new();
    for round in 0..3 {
        put(&shelf, 0..2);
        // SAFETY: the tests own their shelves.
        let refused = unsafe { shelf.push(Num::new(2)) };
        assert_eq!(refused.unwrap_err().value(), 2);
        if round == 1 {
            assert_eq!(steal(&shelf), [0, 1]);
            // SAFETY: as above.
            let refused = unsafe { shelf.push(Num::new(3)) };
            assert!(refused.is_err(), "places are free again when the owner has taken all");
            assert_eq!(take_all(&shelf), []);
        } else {
            assert_eq!(take_all(&shelf), [0, 1]);
        }
    }
}

#[test]
fn what_is_left_on_a_shelf_is_dropped() {
    // Miri would report the leak, and a double free.
    let shelf = Shelf::<Num>::new();
    put(&shelf, 0..5);
    assert_eq!(steal(&shelf).len(), 5);
    put(&shelf, 0..40);
}

#[test]
fn two_rescuers_and_an_owner_lose_and_double_nothing() {
    let items: u32 = if cfg!(miri) { 25 } else { 300_000 };
    let shelf = Shelf::<Num, 4>::new();
    let (done, sum, count) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let eat = |value: u32| {
        sum.fetch_add(u64::from(value), Ordering::Relaxed);
        count.fetch_add(1, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    match shelf.steal() {
                        Ok(batch) => values(batch).into_iter().for_each(eat),
                        Err(Busy) => std::hint::spin_loop(),
                    }
                    take_turns();
                }
            });
        }
        for value in 0..items {
            // SAFETY: this thread is the owner.
            if let Err(num) = unsafe { shelf.push(Num::new(value)) } {
                take_all(&shelf).into_iter().for_each(eat);
                eat(num.value());
            }
        }
        done.store(true, Ordering::Release);
    });
    take_all(&shelf).into_iter().for_each(eat);
    assert_eq!(count.into_inner(), u64::from(items));
    assert_eq!(sum.into_inner(), u64::from(items) * u64::from(items - 1) / 2);
}
