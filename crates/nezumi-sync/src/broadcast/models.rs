//! Loom: every order of sending, receiving, lagging and going away.

use super::channel;
use super::error::{RecvError, TryRecvError};
use crate::modelling::Dropped;
use loom::future::block_on;
use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, Ordering};
use nezumi_prim::thread;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

#[test]
fn a_sent_value_ends_the_wait() {
    loom::model(|| {
        let (tx, mut rx) = channel(2);
        let thread = thread::spawn(move || tx.send(Arc::new(7)).unwrap());
        assert_eq!(*block_on(rx.recv()).unwrap(), 7);
        assert_eq!(block_on(rx.recv()).unwrap_err(), RecvError::Closed);
        thread.join().unwrap();
    });
}

#[test]
fn two_receivers_get_both_values() {
    loom::model(|| {
        let (tx, mut a) = channel::<Arc<u8>>(2);
        let mut b = tx.subscribe();
        let thread = thread::spawn(move || {
            assert_eq!(*block_on(b.recv()).unwrap(), 1);
            assert_eq!(*block_on(b.recv()).unwrap(), 2);
        });
        tx.send(Arc::new(1)).unwrap();
        tx.send(Arc::new(2)).unwrap();
        assert_eq!((*a.try_recv().unwrap(), *a.try_recv().unwrap()), (1, 2));
        thread.join().unwrap();
    });
}

#[test]
fn two_senders_lose_nothing() {
    loom::model(|| {
        let (tx, mut rx) = channel(2);
        let other = tx.clone();
        let a = thread::spawn(move || drop(tx.send(1)));
        let b = thread::spawn(move || drop(other.send(2)));
        let sum = block_on(rx.recv()).unwrap() + block_on(rx.recv()).unwrap();
        assert_eq!(sum, 3);
        assert_eq!(block_on(rx.recv()), Err(RecvError::Closed));
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn overwriting_races_reading() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        tx.send(Arc::new(0)).unwrap();
        let thread = thread::spawn(move || {
            tx.send(Arc::new(1)).unwrap();
            tx.send(Arc::new(2)).unwrap();
        });
        let mut accounted = 0;
        loop {
            match block_on(rx.recv()) {
                Ok(value) => {
                    assert_eq!(*value, accounted);
                    accounted += 1;
                }
                Err(RecvError::Lagged(missed)) => accounted += missed,
                Err(RecvError::Closed) => break,
            }
        }
        assert_eq!(accounted, 3);
        thread.join().unwrap();
    });
}

// Two threads, here and below: of three that spin for one lock, loom lets two take turns for ever while the third sleeps on it.
#[test]
fn the_last_two_readers_race_the_next_value() {
    loom::model(|| {
        let (tx, mut a) = channel(1);
        let mut b = tx.subscribe();
        tx.send(Arc::new(0)).unwrap();
        let first = thread::spawn(move || a.try_recv().is_ok());
        assert_eq!(*b.try_recv().unwrap(), 0);
        tx.send(Arc::new(1)).ok();
        first.join().unwrap();
        assert_eq!(*b.try_recv().unwrap(), 1);
    });
}

#[test]
fn a_receiver_that_goes_races_the_next_value() {
    loom::model(|| {
        let (tx, rx) = channel(1);
        let mut other = tx.subscribe();
        tx.send(Arc::new(0)).unwrap();
        let thread = thread::spawn(move || drop(rx));
        tx.send(Arc::new(1)).unwrap();
        assert_eq!(other.try_recv().unwrap_err(), TryRecvError::Lagged(1));
        assert_eq!(*other.try_recv().unwrap(), 1);
        thread.join().unwrap();
        assert!(tx.is_empty());
    });
}

#[test]
fn a_dropped_wait_races_the_wake() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let thread = thread::spawn(move || tx.send(Arc::new(7)).unwrap());
        let received = {
            let mut wait = pin!(rx.recv());
            wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        };
        thread.join().unwrap();
        assert_eq!(rx.try_recv().is_ok(), !received);
    });
}

#[test]
fn the_last_receiver_ends_the_senders_wait() {
    loom::model(|| {
        let (tx, rx) = channel::<u8>(1);
        let other = tx.subscribe();
        let a = thread::spawn(move || drop(rx));
        let b = thread::spawn(move || drop(other));
        block_on(tx.closed());
        assert!(tx.send(1).is_err());
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn upgrading_races_the_last_sender() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let weak = tx.downgrade();
        let thread = thread::spawn(move || drop(tx));
        let sent = weak.upgrade().is_some_and(|tx| tx.send(7).is_ok());
        thread.join().unwrap();
        assert_eq!(block_on(rx.recv()).is_ok(), sent);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    });
}

/// A value that loom watches while it is cloned: two at once, or a drop meanwhile, are reported.
struct Watched(UnsafeCell<u8>, Arc<()>);

// SAFETY: the cell may change threads.
unsafe impl Send for Watched {}

impl Clone for Watched {
    fn clone(&self) -> Self {
        // SAFETY: a value that is not `Sync` is cloned by one thread at a time; loom reports it if it is not so.
        let id = self.0.with_mut(|id| unsafe { *id });
        Self(UnsafeCell::new(id), self.1.clone())
    }
}

impl Watched {
    fn new(id: u8) -> Self {
        Self(UnsafeCell::new(id), Arc::new(()))
    }

    fn id(self) -> u8 {
        self.0.into_inner()
    }
}

#[test]
fn one_clones_while_the_other_waits() {
    loom::model(|| {
        let (tx, mut a) = channel::<Watched>(1);
        let mut b = tx.subscribe();
        let thread = thread::spawn(move || assert_eq!(block_on(b.recv()).unwrap().id(), 1));
        tx.send(Watched::new(1)).ok();
        assert_eq!(block_on(a.recv()).unwrap().id(), 1);
        thread.join().unwrap();
        assert!(tx.is_empty());
    });
}

#[test]
fn a_try_waits_for_the_clone_of_another() {
    loom::model(|| {
        let (tx, mut a) = channel(1);
        let mut b = tx.subscribe();
        tx.send(Watched::new(1)).ok();
        let thread = thread::spawn(move || assert_eq!(b.try_recv().ok().unwrap().id(), 1));
        assert_eq!(a.try_recv().ok().unwrap().id(), 1);
        thread.join().unwrap();
        assert!(tx.is_empty());
    });
}

#[test]
fn a_value_is_overwritten_while_it_is_cloned() {
    loom::model(|| {
        let (tx, mut a) = channel(1);
        let mut b = tx.subscribe();
        tx.send(Watched::new(0)).ok();
        let thread = thread::spawn(move || {
            // It is out, or gone.
            assert!(match a.try_recv() {
                Ok(value) => value.id() == 0,
                Err(error) => error == TryRecvError::Lagged(1),
            });
        });
        tx.send(Watched::new(1)).ok();
        assert_eq!(b.try_recv().err(), Some(TryRecvError::Lagged(1)));
        assert_eq!(b.try_recv().ok().unwrap().id(), 1);
        thread.join().unwrap();
    });
}

#[test]
fn one_clones_while_the_other_goes() {
    loom::model(|| {
        let (tx, mut a) = channel(1);
        let b = tx.subscribe();
        tx.send(Watched::new(1)).ok();
        let thread = thread::spawn(move || drop(b));
        assert_eq!(a.try_recv().ok().unwrap().id(), 1);
        thread.join().unwrap();
        assert!(tx.is_empty());
    });
}

#[test]
fn who_finds_the_channel_empty_sees_what_its_readers_did() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let did = Arc::new(AtomicBool::new(false));
        tx.send(7).unwrap();
        let thread = {
            let did = did.clone();
            thread::spawn(move || {
                did.store(true, Ordering::Relaxed);
                assert_eq!(rx.try_recv(), Ok(7));
            })
        };
        assert!(!tx.is_empty() || did.load(Ordering::Relaxed));
        thread.join().unwrap();
    });
}

/// Whichever end asks: who is told of fewer senders sees what the one did that is gone.
#[test]
fn who_counts_the_senders_sees_what_the_gone_did() {
    for ask in 0..6 {
        loom::model(move || {
            let (tx, rx) = channel::<u8>(1);
            let weak = tx.downgrade();
            let others = Dropped::elsewhere([(tx.clone(), weak.clone())]);
            // Loom does not find by itself that the other may go first, as it reads the word before it writes it.
            thread::yield_now();
            let count = match ask {
                0 => tx.strong_count(),
                1 => weak.strong_count(),
                2 => rx.sender_strong_count(),
                3 => tx.weak_count(),
                4 => weak.weak_count(),
                _ => rx.sender_weak_count(),
            };
            if count == 1 {
                others.look();
            }
            others.join();
        });
    }
}

#[test]
fn the_end_comes_after_what_every_sender_did() {
    loom::model(|| {
        let (tx, mut rx) = channel::<u8>(1);
        let senders = Dropped::elsewhere([tx.clone(), tx]);
        assert_eq!(block_on(rx.recv()), Err(RecvError::Closed));
        senders.look();
        senders.join();
    });
}

#[test]
fn who_cannot_upgrade_sees_what_the_last_sender_did() {
    for turn in [false, true] {
        loom::model(move || {
            let (tx, rx) = channel::<u8>(1);
            let weak = tx.downgrade();
            let sender = Dropped::elsewhere([tx]);
            if turn {
                thread::yield_now();
            }
            if weak.upgrade().is_none() {
                sender.look();
            }
            sender.join();
            drop(rx);
        });
    }
}
