//! What a `Clone` of the user's may do: anything, since nothing is locked while it runs.

use super::channel;
use super::error::TryRecvError;
use crate::testing::{Census, Counted, Task, panics};
use std::cell::RefCell;
use std::pin::pin;
use std::task::Poll;

thread_local! {
    /// What the next clone of a `Hooked` on this thread does first.
    static HOOK: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

fn in_the_next_clone(hook: impl FnOnce() + 'static) {
    HOOK.set(Some(Box::new(hook)));
}

struct Hooked(Counted);

impl Clone for Hooked {
    fn clone(&self) -> Self {
        if let Some(hook) = HOOK.take() {
            hook();
        }
        Self(self.0.clone())
    }
}

/// Runs `during` while the value 1 is cloned, by one of two receivers; hands it the sender and the other.
fn check(during: impl FnOnce(&super::Sender<Hooked>, super::Receiver<Hooked>, &Census) + 'static) {
    let census = Census::default();
    let (tx, mut rx) = channel(2);
    let other = tx.subscribe();
    tx.send(Hooked(census.value(1))).ok().unwrap();
    {
        let (tx, census) = (tx.clone(), census.clone());
        in_the_next_clone(move || during(&tx, other, &census));
    }
    assert_eq!(rx.try_recv().ok().unwrap().0.id, 1);
    drop((tx, rx));
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_clone_may_ask_and_join_the_channel() {
    check(|tx, other, census| {
        assert_eq!((tx.len(), other.len(), tx.receiver_count()), (1, 1, 2));
        let mut late = tx.subscribe();
        tx.send(Hooked(census.value(2))).ok().unwrap();
        assert_eq!(late.try_recv().ok().unwrap().0.id, 2);
    });
}

#[test]
fn a_clone_may_drop_the_other_receiver() {
    check(|tx, other, census| {
        drop(other);
        assert_eq!((tx.len(), census.alive()), (1, 1));
    });
}

#[test]
fn a_clone_may_overwrite_the_very_value() {
    check(|tx, mut other, census| {
        for id in 2..6 {
            tx.send(Hooked(census.value(id))).ok().unwrap();
        }
        assert_eq!(census.alive(), 3, "two in the channel, and one being cloned");
        assert_eq!(other.try_recv().err(), Some(TryRecvError::Lagged(3)));
        assert_eq!(other.try_recv().ok().unwrap().0.id, 4);
    });
}

#[test]
fn who_wants_a_value_that_is_being_cloned_is_woken_when_it_is_back() {
    let census = Census::default();
    let (tx, mut rx) = channel(2);
    let mut other = tx.subscribe();
    tx.send(Hooked(census.value(1))).ok().unwrap();
    let (task, seen) = (Task::new(), Task::new());
    // Polled by hand in the clone, and again after it.
    let mut wait = Box::pin(async move { other.recv().await.ok().unwrap().0.id });
    let (waiting, waits) = std::sync::mpsc::channel();
    {
        let task = task.clone();
        in_the_next_clone(move || {
            assert!(task.poll(wait.as_mut()).is_pending());
            assert_eq!(task.wakes(), 0);
            waiting.send(wait).ok().unwrap();
        });
    }
    assert_eq!(seen.poll(pin!(rx.recv())).map(|value| value.ok().unwrap().0.id), Poll::Ready(1));
    assert_eq!(task.wakes(), 1);
    let mut wait = waits.recv().unwrap();
    assert_eq!(task.poll(wait.as_mut()), Poll::Ready(1));
    drop(wait);
    assert_eq!((census.alive(), task.wakers_alive()), (0, 0));
}

#[test]
fn a_clone_that_panics_gives_the_value_back() {
    let census = Census::default();
    let (tx, mut rx) = channel(2);
    let mut other = tx.subscribe();
    for id in 1..=2 {
        tx.send(Hooked(census.value(id))).ok().unwrap();
    }
    in_the_next_clone(|| panic!("a clone that panics"));
    assert!(panics(|| rx.try_recv().is_ok()));
    assert_eq!(census.alive(), 2);
    assert_eq!(other.try_recv().ok().unwrap().0.id, 1);
    assert_eq!(census.alive(), 1, "both have had it");
    in_the_next_clone(|| panic!("a clone that panics"));
    assert!(panics(|| other.try_recv().is_ok()));
    assert_eq!(rx.try_recv().ok().unwrap().0.id, 2);
    assert_eq!((census.alive(), census.dropped()), (0, 4));
}

#[test]
fn a_clone_that_panics_leaves_what_was_overwritten_meanwhile_to_be_dropped_once() {
    let census = Census::default();
    let (tx, mut rx) = channel(1);
    let _other = tx.subscribe();
    tx.send(Hooked(census.value(1))).ok().unwrap();
    {
        let (tx, census) = (tx.clone(), census.clone());
        in_the_next_clone(move || {
            tx.send(Hooked(census.value(2))).ok().unwrap();
            panic!("a clone that panics");
        });
    }
    assert!(panics(|| rx.try_recv().is_ok()));
    assert_eq!((census.alive(), census.dropped()), (1, 1));
    assert_eq!(rx.try_recv().ok().unwrap().0.id, 2);
}
