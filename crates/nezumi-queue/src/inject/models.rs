//! Every interleaving of a few operations at the door and at the line.

use super::Inject;
use crate::Batch;
use crate::item::tests::Num;
use crate::look::check;
use loom::thread;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering, fence};

fn values(mut batch: Batch<Num>) -> Vec<u32> {
    std::iter::from_fn(|| batch.pop_front()).map(|num| num.value()).collect()
}

fn check_once(mut got: Vec<u32>, expected: &[u32]) {
    got.sort_unstable();
    assert_eq!(got, expected, "each once");
}

#[test]
fn two_producers_and_a_consumer() {
    check(|| {
        let inject = Arc::new(Inject::new(1));
        let producers = [10, 20].map(|first| {
            let inject = inject.clone();
            thread::spawn(move || {
                inject.push(Num::new(first), 0).unwrap();
                inject.push(Num::new(first + 1), 0).unwrap();
            })
        });
        let mut got = values(inject.take(0, 1));
        got.extend(values(inject.take(0, 4)));
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        assert_eq!(inject.len(), 4 - got.len());
        got.extend(values(inject.take(0, 4)));
        for first in [10, 20] {
            let place = |value| got.iter().position(|&other| other == value);
            assert!(place(first) < place(first + 1), "the order of one producer");
        }
        check_once(got, &[10, 11, 20, 21]);
    });
}

#[test]
fn a_stalled_producer_hides_nobody() {
    check(|| {
        // However far the first producer has come, what the second has pushed can be taken.
        let inject = Arc::new(Inject::new(1));
        let producer = {
            let inject = inject.clone();
            thread::spawn(move || inject.push(Num::new(0), 0).unwrap())
        };
        inject.push(Num::new(1), 0).unwrap();
        let mut got = values(inject.take(0, 2));
        assert!(got.contains(&1));
        producer.join().unwrap();
        got.extend(values(inject.take(0, 2)));
        check_once(got, &[0, 1]);
    });
}

#[test]
fn two_consumers() {
    check(|| {
        let inject = Arc::new(Inject::new(1));
        (0..3).for_each(|value| inject.push(Num::new(value), 0).unwrap());
        let consumer = {
            let inject = inject.clone();
            thread::spawn(move || values(inject.take(0, 2)))
        };
        let mut got = values(inject.take(0, 1));
        assert!(got.is_sorted());
        let others = consumer.join().unwrap();
        assert!(others.is_sorted());
        got.extend(others);
        assert_eq!((inject.len(), inject.is_empty()), (3 - got.len(), got.len() == 3));
        got.extend(values(inject.take(0, 3)));
        check_once(got, &[0, 1, 2]);
    });
}

#[test]
fn a_push_races_the_close() {
    check(|| {
        let inject = Arc::new(Inject::new(1));
        inject.push(Num::new(0), 0).unwrap();
        let producer = {
            let inject = inject.clone();
            thread::spawn(move || {
                let mut batch = Batch::new();
                batch.push_back(Num::new(2));
                batch.push_back(Num::new(3));
                let mut refused: Vec<u32> =
                    inject.push(Num::new(1), 0).err().iter().map(Num::value).collect();
                refused.extend(inject.push_batch(batch, 0).err().map(values).unwrap_or_default());
                refused
            })
        };
        assert!(inject.close());
        let mut got = values(inject.take_all());
        assert!(inject.is_empty(), "nothing comes after the close");
        got.extend(producer.join().unwrap());
        assert_eq!((inject.len(), inject.is_empty()), (0, true));
        check_once(got, &[0, 1, 2, 3]);
    });
}

/// Both closers find all shards closed when they return, whoever was first.
#[test]
fn who_closes_second_finds_it_closed() {
    check(|| {
        let inject = Arc::new(Inject::new(2));
        inject.push(Num::new(0), 1).unwrap();
        let end = |inject: &Inject<Num>| {
            let is_first = inject.close();
            let got = values(inject.take_all());
            assert!(inject.push(Num::new(9), 1).is_err());
            (is_first, got)
        };
        let other = {
            let inject = inject.clone();
            thread::spawn(move || end(&inject))
        };
        let (first_here, mut got) = end(&inject);
        let (first_there, got_there) = other.join().unwrap();
        assert_ne!(first_here, first_there);
        got.extend(got_there);
        assert_eq!(inject.len(), 0);
        check_once(got, &[0]);
    });
}

#[test]
fn a_close_races_a_consumer() {
    check(|| {
        let inject = Arc::new(Inject::new(1));
        inject.push(Num::new(0), 0).unwrap();
        inject.push(Num::new(1), 0).unwrap();
        let consumer = {
            let inject = inject.clone();
            thread::spawn(move || values(inject.take(0, 1)))
        };
        assert!(inject.close());
        let mut got = values(inject.take_all());
        got.extend(consumer.join().unwrap());
        check_once(got, &[0, 1]);
    });
}

#[test]
fn a_push_races_the_last_look() {
    check(|| {
        let inject = Arc::new(Inject::new(1));
        let asleep = Arc::new(AtomicBool::new(false));
        let sleeper = {
            let (inject, asleep) = (inject.clone(), asleep.clone());
            thread::spawn(move || {
                asleep.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                !inject.is_empty()
            })
        };
        inject.push(Num::new(0), 0).unwrap();
        fence(Ordering::SeqCst);
        let sees_sleeper = asleep.load(Ordering::Relaxed);
        let sees_work = sleeper.join().unwrap();
        assert!(sees_sleeper || sees_work, "one of the two sees the other");
    });
}

#[test]
fn a_take_races_the_last_look() {
    check(|| {
        // Who takes and leaves something does as if it had pushed that.
        let inject = Arc::new(Inject::new(1));
        (0..2).for_each(|value| inject.push(Num::new(value), 0).unwrap());
        let asleep = Arc::new(AtomicBool::new(false));
        let sleeper = {
            let (inject, asleep) = (inject.clone(), asleep.clone());
            thread::spawn(move || {
                asleep.store(true, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                !inject.is_empty()
            })
        };
        assert_eq!(values(inject.take(0, 1)), [0]);
        assert!(!inject.is_empty());
        fence(Ordering::SeqCst);
        let sees_sleeper = asleep.load(Ordering::Relaxed);
        let sees_work = sleeper.join().unwrap();
        assert!(sees_sleeper || sees_work, "one of the two sees the other");
    });
}

/// Whoever counts while an item comes and goes sees the push of every take that he sees.
#[test]
fn len_counts_no_take_before_its_push() {
    check(|| {
        let inject = Arc::new(Inject::new(1));
        let producer = {
            let inject = inject.clone();
            thread::spawn(move || inject.push(Num::new(0), 0).unwrap())
        };
        let consumer = {
            let inject = inject.clone();
            thread::spawn(move || drop(inject.take(0, 1)))
        };
        // Not this thread, which made the queue: it joins the others first, so that loom begins with what this is about.
        let counter = thread::spawn(move || inject.len());
        producer.join().unwrap();
        consumer.join().unwrap();
        assert!(counter.join().unwrap() <= 1);
    });
}

/// Who finds it closed sees what the closer did before.
#[test]
fn who_finds_it_closed_sees_why() {
    struct Why(UnsafeCell<bool>);
    // SAFETY: loom watches over it.
    unsafe impl Sync for Why {}
    // SAFETY: nothing in it belongs to a thread.
    unsafe impl Send for Why {}

    check(|| {
        let shared = Arc::new((Inject::<Num>::new(1), Why(UnsafeCell::new(false))));
        let closer = {
            let shared = shared.clone();
            thread::spawn(move || {
                // SAFETY: written once; who reads it when is what the model is about.
                shared.1.0.with_mut(|why| unsafe { *why = true });
                shared.0.close()
            })
        };
        if shared.0.is_closed() {
            // SAFETY: as above.
            assert!(shared.1.0.with(|why| unsafe { *why }));
        }
        assert!(closer.join().unwrap());
    });
}
