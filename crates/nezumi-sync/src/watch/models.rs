//! Loom: every order of changing, waiting and going away.

use super::channel;
use crate::modelling::{Cargo, Dropped};
use loom::future::block_on;
use nezumi_prim::sync::Arc;
use nezumi_prim::thread;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

#[test]
fn a_change_ends_the_wait() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let thread = thread::spawn(move || tx.send(1).unwrap());
        assert!(block_on(rx.changed()).is_ok());
        assert_eq!(*rx.borrow(), 1);
        thread.join().unwrap();
    });
}

#[test]
fn two_changes_and_the_end_are_seen_in_order() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let thread = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        let mut last = 0;
        while block_on(rx.changed()).is_ok() {
            let now = *rx.borrow_and_update();
            assert!(now > last);
            last = now;
        }
        assert_eq!(last, 2);
        thread.join().unwrap();
    });
}

#[test]
fn two_senders_wake_one_receiver() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let other = tx.clone();
        let a = thread::spawn(move || tx.send_modify(|value| *value += 1));
        let b = thread::spawn(move || other.send_modify(|value| *value += 1));
        while block_on(rx.changed()).is_ok() {}
        assert_eq!(*rx.borrow(), 2);
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn two_receivers_of_one_list_are_both_woken() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        // Eight clones come before the next one shares the list of the first.
        let clones: Vec<_> = (0..7).map(|_| rx.clone()).collect();
        let mut other = rx.clone();
        drop(clones);
        let a = thread::spawn(move || block_on(other.changed()).unwrap());
        let b = thread::spawn(move || tx.send(1).unwrap());
        block_on(rx.changed()).unwrap();
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn a_dropped_wait_races_the_wake() {
    loom::model(|| {
        let (tx, mut rx) = channel(0);
        let thread = thread::spawn(move || tx.send(1).unwrap());
        {
            let mut wait = pin!(rx.changed());
            let _ = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        thread.join().unwrap();
    });
}

#[test]
fn the_last_receiver_ends_the_senders_wait() {
    loom::model(|| {
        let (tx, rx) = channel(0);
        let other = rx.clone();
        let a = thread::spawn(move || drop(rx));
        let b = thread::spawn(move || drop(other));
        block_on(tx.closed());
        assert!(tx.send(1).is_err());
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn the_end_comes_after_what_every_sender_did() {
    for turn in [false, true] {
        loom::model(move || {
            let (tx, rx) = channel(0);
            let senders = Dropped::elsewhere([tx.clone(), tx]);
            if turn {
                thread::yield_now();
            }
            if rx.has_changed().is_err() {
                senders.look();
            }
            senders.join();
        });
    }
}

#[test]
fn who_sees_a_change_sees_what_its_sender_did() {
    for turn in [false, true] {
        loom::model(move || {
            let (tx, rx) = channel(0);
            let did = Arc::new(Cargo::new());
            let thread = {
                let did = did.clone();
                thread::spawn(move || {
                    did.write();
                    tx.send(1).unwrap();
                    tx
                })
            };
            if turn {
                thread::yield_now();
            }
            // By the version alone: the value's lock would order it as well.
            if rx.has_changed().unwrap() {
                did.look();
            }
            drop(thread.join().unwrap());
        });
    }
}

#[test]
fn who_waits_for_a_change_sees_what_its_sender_did() {
    for turn in [false, true] {
        loom::model(move || {
            let (tx, mut rx) = channel(0);
            let did = Arc::new(Cargo::new());
            let thread = {
                let did = did.clone();
                thread::spawn(move || {
                    did.write();
                    tx.send(1).unwrap();
                    tx
                })
            };
            if turn {
                thread::yield_now();
            }
            // The change may come before the wait, or when the receiver has looked once and is about to look under its list's lock.
            block_on(rx.changed()).unwrap();
            did.look();
            drop(thread.join().unwrap());
        });
    }
}

#[test]
fn who_finds_no_receiver_sees_what_all_did() {
    for turn in [false, true] {
        loom::model(move || {
            let (tx, rx) = channel(0);
            let receivers = Dropped::elsewhere([rx.clone(), rx]);
            if turn {
                thread::yield_now();
            }
            if tx.receiver_count() == 0 {
                receivers.look();
            }
            receivers.join();
        });
    }
}
