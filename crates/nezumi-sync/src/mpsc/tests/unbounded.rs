use super::super::error::{SendError, TryRecvError};
use super::super::unbounded_channel;
use crate::testing::{Census, Task, panics, poll_once};
use nezumi_wake::{block_on, coop, entered};
use std::pin::pin;
use std::sync::Barrier;
use std::task::Poll;

#[test]
fn messages_come_in_order_across_many_blocks() {
    let (tx, mut rx) = unbounded_channel();
    let task = Task::new();
    assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
    for n in 0..1000 {
        tx.send(n).unwrap();
        assert_eq!(rx.len(), n + 1);
    }
    assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
    for n in 0..1000 {
        assert!(!rx.is_empty());
        assert_eq!(task.enter(|cx| rx.poll_recv(cx)), Poll::Ready(Some(n)));
    }
    assert!(task.enter(|cx| rx.poll_recv(cx)).is_pending());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn recv_many_crosses_blocks() {
    let (tx, mut rx) = unbounded_channel();
    for n in 0..100 {
        tx.send(n).unwrap();
    }
    let mut buffer = Vec::new();
    assert_eq!(block_on(rx.recv_many(&mut buffer, 70)), 70);
    assert_eq!(rx.blocking_recv_many(&mut buffer, 70), 30);
    assert!(buffer.into_iter().eq(0..100));
}

#[test]
fn close_settles_what_is_received() {
    let (tx, mut rx) = unbounded_channel();
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    rx.close();
    rx.close();
    assert!(tx.is_closed() && rx.is_closed());
    for n in 0..100 {
        assert_eq!(tx.send(n), Err(SendError(n)));
    }
    assert_eq!(rx.len(), 2);
    assert_eq!(block_on(rx.recv()), Some(1));
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(block_on(rx.recv()), None);
    assert_eq!(block_on(rx.recv_many(&mut Vec::new(), 3)), 0);
    drop(tx);
    assert_eq!(block_on(rx.recv()), None);
}

#[test]
fn a_weak_sender_keeps_nothing_open() {
    let (tx, mut rx) = unbounded_channel();
    let weak = tx.downgrade();
    let copy = weak.clone();
    assert_eq!((tx.strong_count(), tx.weak_count()), (1, 2));
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 2));
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (1, 2));
    let again = weak.upgrade().unwrap();
    assert!(again.same_channel(&tx));
    drop(tx);
    again.send(1).unwrap();
    drop(again);
    assert!(rx.is_closed());
    assert!(copy.upgrade().is_none());
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Err(TryRecvError::Disconnected)));
}

#[test]
fn every_receive_spends_budget() {
    let (tx, mut rx) = unbounded_channel();
    for n in 0..200 {
        tx.send(n).unwrap();
    }
    coop::budget(|| {
        for n in 0..128 {
            assert_eq!(poll_once(pin!(rx.recv())), Poll::Ready(Some(n)));
        }
        assert!(poll_once(pin!(rx.recv())).is_pending());
        assert_eq!(rx.try_recv(), Ok(128));
    });
}

#[test]
fn blocking_forms_refuse_a_thread_with_tasks() {
    let (_tx, mut rx) = unbounded_channel::<u8>();
    let _entered = entered::enter(true).unwrap();
    assert!(panics(|| rx.blocking_recv()));
    assert!(panics(|| rx.blocking_recv_many(&mut Vec::new(), 1)));
}

#[test]
fn threads_lose_nothing_and_keep_the_order_of_each_sender() {
    let (senders, each) = if cfg!(miri) { (2, 20) } else { (4, 50_000) };
    let (tx, mut rx) = unbounded_channel();
    let threads: Vec<_> = (0..senders)
        .map(|id| {
            let tx = tx.clone();
            std::thread::spawn(move || (0..each).for_each(|n| tx.send((id, n)).unwrap()))
        })
        .collect();
    drop(tx);
    let mut next = vec![0; senders];
    while let Some((id, n)) = rx.blocking_recv() {
        assert_eq!(n, next[id]);
        next[id] += 1;
    }
    assert!(next.iter().all(|&n| n == each));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn try_recv_never_misses_a_message_whose_send_returned() {
    let rounds = if cfg!(miri) { 3 } else { 5000 };
    let (tx, mut rx) = unbounded_channel();
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..rounds {
                barrier.wait();
                tx.send(n).unwrap();
            }
        });
        for _ in 0..rounds {
            barrier.wait();
            // Races the other thread's send; ours has returned.
            tx.send(rounds).unwrap();
            assert!(rx.try_recv().is_ok());
            assert!(rx.blocking_recv().is_some());
        }
    });
}

#[test]
fn senders_race_the_end_and_every_message_is_accounted_for() {
    let rounds = if cfg!(miri) { 2 } else { 500 };
    for _ in 0..rounds {
        let census = Census::default();
        let (tx, mut rx) = unbounded_channel();
        let sent: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (tx, census) = (tx.clone(), census.clone());
                    scope.spawn(move || (0..50).filter(|&n| tx.send(census.value(n)).is_ok()).count())
                })
                .collect();
            let mut received = (0..20).filter(|_| rx.try_recv().is_ok()).count();
            rx.close();
            while block_on(rx.recv()).is_some() {
                received += 1;
            }
            let sent = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(received, sent, "after close, whatever was accepted is received");
            sent
        });
        drop((tx, rx));
        assert!(sent <= 150);
        assert_eq!((census.alive(), census.dropped()), (0, 150));
    }
}
