use super::super::error::{SendError, TryRecvError, TrySendError};
use super::super::{channel, unbounded_channel};
use crate::testing::{Task, poll_once};
use nezumi_wake::block_on;
use std::pin::pin;
use std::task::Poll;

#[test]
fn the_last_sender_ends_the_wait() {
    for bound in [1, 100] {
        let (tx, mut rx) = channel::<u8>(bound);
        let other = tx.clone();
        let task = Task::new();
        assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
        drop(tx);
        assert!(!rx.is_closed());
        assert_eq!(task.wakes(), 0);
        drop(other);
        assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
        assert!(rx.is_closed());
        assert_eq!(task.enter(|cx| rx.poll_recv(cx)), Poll::Ready(None));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(rx.len(), 0);
    }
}

#[test]
fn a_full_ring_has_room_for_the_end() {
    for bound in [1, 2, 3, 31] {
        let (tx, mut rx) = channel(bound);
        (0..bound).for_each(|n| tx.try_send(n).unwrap());
        drop(tx);
        assert_eq!(rx.len(), bound);
        (0..bound).for_each(|n| assert_eq!(block_on(rx.recv()), Some(n)));
        assert_eq!(block_on(rx.recv()), None);
    }
}

#[test]
fn the_receiver_that_goes_wakes_and_refuses_senders() {
    let (tx, rx) = channel(1);
    tx.try_send(0).unwrap();
    let (sender, watcher) = (Task::new(), Task::new());
    let (mut send, mut closed) = (pin!(tx.send(1)), pin!(tx.closed()));
    assert!(sender.poll(send.as_mut()).is_pending());
    assert!(watcher.poll(closed.as_mut()).is_pending());
    assert!(!tx.is_closed());
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!((sender.wakes(), watcher.wakes()), (1, 1));
    assert_eq!(sender.poll(send), Poll::Ready(Err(SendError(1))));
    assert!(watcher.poll(closed).is_ready());
    assert_eq!(tx.try_send(2), Err(TrySendError::Closed(2)));
    assert!(matches!(tx.try_reserve(), Err(TrySendError::Closed(()))));
    assert!(matches!(tx.try_reserve_many(1), Err(TrySendError::Closed(()))));
    assert!(matches!(tx.clone().try_reserve_owned(), Err(TrySendError::Closed(_))));
    assert_eq!(block_on(tx.send(3)), Err(SendError(3)));
    block_on(tx.closed());

    let (tx, rx) = unbounded_channel::<u8>();
    let mut closed = pin!(tx.closed());
    assert!(watcher.poll(closed.as_mut()).is_pending());
    drop(rx);
    assert_eq!(watcher.wakes(), 2);
    assert!(watcher.poll(closed).is_ready());
}

#[test]
fn a_closed_channel_waits_for_permits_that_are_out() {
    // How each way of giving a permit back ends the wait.
    let ways: [fn(super::super::OwnedPermit<u8>); 3] =
        [drop, |permit| drop(permit.send(7)), |permit| drop(permit.release())];
    for (index, way) in ways.into_iter().enumerate() {
        for bound in [2, 100] {
            let (tx, mut rx) = channel(bound);
            tx.try_send(1).unwrap();
            let permit = tx.clone().try_reserve_owned().unwrap();
            rx.close();
            assert_eq!(rx.try_recv(), Ok(1));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "a permit is out");
            let task = Task::new();
            assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
            way(permit);
            assert_eq!(task.wakes(), 1);
            let last = task.enter(|cx| rx.poll_recv(cx));
            assert_eq!(last, Poll::Ready((index == 1).then_some(7)));
            assert_eq!(block_on(rx.recv()), None);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        }
    }
}

#[test]
fn a_closed_channel_waits_for_iterators_of_permits() {
    let (tx, mut rx) = channel(3);
    let mut permits = tx.try_reserve_many(3).unwrap();
    rx.close();
    let task = Task::new();
    assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
    permits.next().unwrap().send(1);
    assert_eq!(task.wakes(), 1);
    assert_eq!(task.enter(|cx| rx.poll_recv(cx)), Poll::Ready(Some(1)));
    assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
    drop(permits);
    assert_eq!(task.wakes(), 2);
    assert_eq!(task.enter(|cx| rx.poll_recv(cx)), Poll::Ready(None));
}

#[test]
fn a_reservation_that_comes_too_late_does_not_strand_the_receiver() {
    // It was granted, then the channel was closed: it fails, or is dropped, and the permit goes back.
    for polls in [true, false] {
        for many in [1, 2] {
            let (tx, mut rx) = channel::<u8>(2);
            let held = tx.try_reserve_many(2).unwrap();
            let (sender, receiver) = (Task::new(), Task::new());
            {
                let mut reserve = pin!(tx.reserve_many(many));
                assert!(sender.poll(reserve.as_mut()).is_pending());
                drop(held);
                assert_eq!(sender.wakes(), 1);
                rx.close();
                assert!(receiver.enter(|cx| rx.poll_recv(cx)).is_pending(), "a permit is out");
                if polls {
                    assert!(matches!(sender.poll(reserve), Poll::Ready(Err(SendError(())))));
                }
            }
            assert_eq!(receiver.wakes(), 1);
            assert_eq!(receiver.enter(|cx| rx.poll_recv(cx)), Poll::Ready(None));
        }
    }
}

#[test]
fn a_weak_sender_keeps_nothing_open() {
    let (tx, mut rx) = channel(1);
    let weak = tx.downgrade();
    let copy = weak.clone();
    assert_eq!((tx.strong_count(), tx.weak_count()), (1, 2));
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 2));
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (1, 2));
    drop(copy);
    let permit = weak.upgrade().unwrap().try_reserve_owned().unwrap();
    drop(tx);
    assert!(!rx.is_closed(), "the permit holds a sender");
    drop(permit.send(1));
    assert!(rx.is_closed());
    assert!(weak.upgrade().is_none());
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(TryRecvError::Disconnected)));
}

#[test]
fn is_closed_of_the_receiver_tells_of_the_senders_and_of_close() {
    let (tx, mut rx) = channel(4);
    tx.try_send(1).unwrap();
    assert!(!rx.is_closed());
    rx.close();
    assert!(rx.is_closed() && !rx.is_empty());
    assert_eq!(poll_once(pin!(rx.recv())), Poll::Ready(Some(1)));
    assert!(rx.is_empty());

    let (tx, rx) = channel::<u8>(4);
    let permit = tx.try_reserve().unwrap();
    assert!(!rx.is_closed());
    drop(permit);
    drop(tx);
    assert!(rx.is_closed());
}

#[test]
fn a_closed_channel_is_done_when_a_large_reservation_has_gone() {
    for cancelled in [true, false] {
        let (tx, mut rx) = channel::<u8>(2);
        let permit = tx.try_reserve().unwrap();
        let (receiver, sender) = (Task::new(), Task::new());
        let mut reserve = Box::pin(tx.reserve_many(2));
        assert!(sender.poll(reserve.as_mut()).is_pending());
        rx.close();
        assert!(receiver.enter(|cx| rx.poll_recv(cx)).is_pending());
        drop(permit);
        assert_eq!(receiver.wakes(), 0, "the reservation holds the other half");
        if !cancelled {
            assert!(matches!(sender.poll(reserve.as_mut()), Poll::Ready(Err(_))));
        }
        drop(reserve);
        assert_eq!(receiver.wakes(), 1);
        assert_eq!(receiver.enter(|cx| rx.poll_recv(cx)), Poll::Ready(None));
    }
}
