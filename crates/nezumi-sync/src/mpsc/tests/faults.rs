//! Destructors and wakers that panic, or come back into the channel.

use super::super::{channel, unbounded_channel};
use crate::testing::{Bomb, Census, OnWake, Task, panics, poll_once, throws_a_bomb};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

fn panics_when_woken() -> Waker {
    const BAD: RawWakerVTable =
        RawWakerVTable::new(|p| RawWaker::new(p, &BAD), |_| panic!("wake"), |_| panic!("wake"), |_| ());
    // SAFETY: the functions ignore the pointer.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &BAD)) }
}

fn panics_when_cloned() -> Waker {
    const BAD: RawWakerVTable = RawWakerVTable::new(|_| panic!("clone"), |_| (), |_| (), |_| ());
    // SAFETY: the functions ignore the pointer.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &BAD)) }
}

#[test]
fn messages_are_dropped_exactly_once() {
    for count in [0, 1, 31, 32, 33, 100] {
        let census = Census::default();
        let (tx, mut rx) = unbounded_channel();
        (0..count).for_each(|n| tx.send(census.value(n)).unwrap());
        for _ in 0..count / 2 {
            drop(rx.try_recv().unwrap());
        }
        drop(rx);
        assert_eq!((census.alive(), census.dropped()), (0, count), "they do not wait for the senders to go");
        assert!(tx.send(census.value(0)).is_err());
        assert_eq!(census.dropped(), count + 1);
    }
}

#[test]
fn what_is_sent_to_nobody_is_dropped_with_the_channel() {
    for bound in [3, 100] {
        let census = Census::default();
        let (tx, rx) = channel(bound);
        let mut permits = tx.try_reserve_many(3).unwrap();
        permits.next().unwrap().send(census.value(0));
        drop(rx);
        assert_eq!(census.dropped(), 1);
        permits.next().unwrap().send(census.value(1));
        permits.next().unwrap().send(census.value(2));
        assert_eq!(census.alive(), 2);
        drop(permits);
        drop(tx);
        assert_eq!((census.alive(), census.dropped()), (0, 3));
    }
}

#[test]
fn a_destructor_that_panics_leaks_nothing() {
    for bound in [4, 100] {
        let census = Census::default();
        let (tx, rx) = channel(bound);
        (0..3).for_each(|n| tx.try_send(census.bomb(n)).unwrap());
        let late = tx.try_reserve().unwrap();
        assert!(panics(|| drop(rx)));
        assert_eq!((census.alive(), census.dropped()), (0, 3));
        assert!(tx.is_closed());
        late.send(census.bomb(4));
        assert!(panics(|| drop(tx)));
        assert_eq!((census.alive(), census.dropped()), (0, 4));
    }
}

#[test]
fn a_receiver_dropped_by_a_panic_drops_its_messages() {
    let census = Census::default();
    let (tx, rx) = unbounded_channel();
    (0..3).for_each(|n| tx.send(census.bomb(n)).unwrap());
    assert!(panics(move || {
        let _rx = rx;
        panic!("with a receiver in hand");
    }));
    assert_eq!((census.alive(), census.dropped()), (0, 3));
}

#[test]
fn a_waker_that_panics_when_woken_loses_no_message_and_no_permit() {
    let (tx, mut rx) = channel(1);
    let bad = panics_when_woken();
    for n in 0..40 {
        assert!(rx.poll_recv(&mut Context::from_waker(&bad)).is_pending());
        let permit = tx.try_reserve().unwrap();
        assert!(panics(|| permit.send(n)));
        assert_eq!(rx.try_recv(), Ok(n));
        assert_eq!(tx.capacity(), 1);
    }
    assert!(rx.poll_recv(&mut Context::from_waker(&bad)).is_pending());
    assert!(panics(|| drop(tx)));
    assert!(rx.is_closed());
    assert_eq!(poll_once(pin!(rx.recv())), Poll::Ready(None));
}

#[test]
fn a_waker_that_panics_when_cloned_leaves_the_channel_usable() {
    let (tx, mut rx) = unbounded_channel();
    let bad = panics_when_cloned();
    assert!(panics(|| rx.poll_recv(&mut Context::from_waker(&bad))));
    let task = Task::new();
    assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
    assert!(panics(|| rx.poll_recv(&mut Context::from_waker(&bad))));
    tx.send(1).unwrap();
    assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn a_waker_may_come_back_into_the_channel() {
    let (tx, mut rx) = unbounded_channel();
    let waker = {
        let tx = tx.clone();
        OnWake::waker(move || {
            let _ = tx.send(2);
        })
    };
    assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    // Replacing it drops nothing yet, since there is another clone.
    assert!(rx.poll_recv(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    // Woken, then dropped: sends twice.
    tx.send(1).unwrap();
    assert_eq!((rx.try_recv(), rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2), Ok(2)));
    assert!(rx.try_recv().is_err());
}

#[test]
fn a_waker_that_is_replaced_may_send() {
    let (tx, mut rx) = unbounded_channel();
    let waker = {
        let tx = tx.clone();
        OnWake::waker(move || {
            let _ = tx.send(7);
        })
    };
    assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    let task = Task::new();
    assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
    assert_eq!(task.wakes(), 1, "the old waker's destructor sent");
    assert_eq!(task.enter(|cx| rx.poll_recv(cx)), Poll::Ready(Some(7)));
    drop(tx);
}

#[test]
fn wakers_of_senders_may_come_back_into_the_channel() {
    let (tx, rx) = channel(1);
    tx.try_send(0).unwrap();
    let asked = Arc::new(AtomicBool::new(false));
    let waker = {
        let (tx, asked) = (tx.clone(), Arc::clone(&asked));
        OnWake::waker(move || {
            assert!(tx.try_send(2).is_err());
            assert!(tx.is_closed());
            asked.store(true, Ordering::SeqCst);
        })
    };
    let (mut send, mut closed) = (pin!(tx.send(1)), pin!(tx.closed()));
    assert!(send.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(closed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    drop(rx);
    assert!(asked.load(Ordering::SeqCst));
}

#[test]
fn the_receiver_may_be_dropped_by_the_waker_that_is_woken_for_it() {
    let (tx, rx) = unbounded_channel();
    let place = Arc::new(Mutex::new(Some(rx)));
    let waker = {
        let place = Arc::clone(&place);
        OnWake::waker(move || drop(place.lock().unwrap().take()))
    };
    let mut rx = place.lock().unwrap().take().unwrap();
    assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    *place.lock().unwrap() = Some(rx);
    drop(waker);
    let census = Census::default();
    tx.send(census.value(0)).unwrap();
    assert_eq!(census.alive(), 0);
    assert!(tx.is_closed());
}

#[test]
fn the_receivers_waker_goes_with_it() {
    let (tx, mut rx) = unbounded_channel::<u8>();
    let task = Task::new();
    assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
    drop(rx);
    assert_eq!((task.wakes(), task.wakers_alive()), (0, 0));
    drop(tx);
}

/// Panics when dropped, with a bomb.
struct Message;

impl Drop for Message {
    fn drop(&mut self) {
        std::panic::panic_any(Bomb);
    }
}

#[test]
fn what_the_panics_of_messages_carry_may_panic_too() {
    let (tx, rx) = unbounded_channel();
    (0..3).for_each(|_| assert!(tx.send(Message).is_ok()));
    assert!(throws_a_bomb(|| drop(rx)));
    // Those that the receiver left to the channel.
    let (tx, rx) = channel(4);
    let rx = std::mem::ManuallyDrop::new(rx);
    (0..3).for_each(|_| assert!(tx.try_send(Message).is_ok()));
    // SAFETY: it is read once, and a `ManuallyDrop` is not dropped.
    let rx = unsafe { std::ptr::read(&raw const *rx) };
    assert!(throws_a_bomb(|| drop((tx, rx))));
}
