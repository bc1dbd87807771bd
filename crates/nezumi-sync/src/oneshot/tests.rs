use super::error::{RecvError, TryRecvError};
use super::{Receiver, Sender, channel};
use crate::testing::{
    Census, Nn, OnWake, Task, Yn, Yy, auto_traits, panics, poll_by_a_waker_that_panics_when_dropped,
    poll_once,
};
use nezumi_wake::{block_on, coop, entered};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

#[test]
fn a_value_sent_before_the_wait_is_received_without_one() {
    let (tx, mut rx) = channel();
    assert_eq!(tx.send(1), Ok(()));
    let task = Task::new();
    assert_eq!(task.poll(Pin::new(&mut rx)), Poll::Ready(Ok(1)));
    assert_eq!((task.wakes(), task.wakers_alive()), (0, 0));
}

#[test]
fn sending_wakes_the_receiver_and_lets_go_of_its_waker() {
    let (tx, mut rx) = channel();
    let task = Task::new();
    assert!(task.poll(Pin::new(&mut rx)).is_pending());
    assert!(task.poll(Pin::new(&mut rx)).is_pending());
    assert_eq!(task.wakers_alive(), 1, "the same waker is kept once");
    tx.send(1).unwrap();
    assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
    assert_eq!(task.poll(Pin::new(&mut rx)), Poll::Ready(Ok(1)));
}

#[test]
fn dropping_the_sender_ends_the_wait_with_an_error() {
    let (tx, mut rx) = channel::<u8>();
    let task = Task::new();
    assert!(task.poll(Pin::new(&mut rx)).is_pending());
    drop(tx);
    assert_eq!(task.wakes(), 1);
    assert_eq!(task.poll(Pin::new(&mut rx)), Poll::Ready(Err(RecvError(()))));
}

#[test]
fn closing_wakes_the_sender_and_gives_the_value_back() {
    for drops in [false, true] {
        let (mut tx, rx) = channel::<u8>();
        let mut rx = Some(rx);
        let task = Task::new();
        assert!(task.enter(|cx| tx.poll_closed(cx)).is_pending());
        assert!(!tx.is_closed());
        if drops {
            drop(rx.take())
        } else {
            rx.as_mut().unwrap().close()
        }
        assert!(tx.is_closed());
        assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
        assert!(task.enter(|cx| tx.poll_closed(cx)).is_ready());
        assert_eq!(tx.send(3), Err(3));
        if let Some(mut rx) = rx {
            assert!(!rx.is_terminated());
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
            assert!(rx.is_terminated());
        }
    }
}

#[test]
fn a_value_sent_before_close_is_kept() {
    let (tx, mut rx) = channel();
    tx.send(1).unwrap();
    rx.close();
    rx.close();
    assert!(!rx.is_empty());
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    rx.close();
    assert!(rx.is_empty() && rx.is_terminated());
}

#[test]
fn close_lets_go_of_the_receivers_waker() {
    let (_tx, mut rx) = channel::<u8>();
    let task = Task::new();
    assert!(task.poll(Pin::new(&mut rx)).is_pending());
    rx.close();
    assert_eq!((task.wakes(), task.wakers_alive()), (0, 0));
    assert_eq!(task.poll(Pin::new(&mut rx)), Poll::Ready(Err(RecvError(()))));
}

#[test]
fn only_the_last_task_that_polled_is_woken() {
    let (mut tx, mut rx) = channel::<u8>();
    let (first, second) = (Task::new(), Task::new());
    assert!(first.poll(Pin::new(&mut rx)).is_pending());
    assert!(second.poll(Pin::new(&mut rx)).is_pending());
    assert!(first.enter(|cx| tx.poll_closed(cx)).is_pending());
    assert!(second.enter(|cx| tx.poll_closed(cx)).is_pending());
    assert_eq!((first.wakers_alive(), second.wakers_alive()), (0, 2));
    tx.send(1).unwrap();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert_eq!(second.wakers_alive(), 0, "the sender drops its own waker as it leaves");
}

#[test]
fn both_ends_let_go_of_their_wakers_in_any_order() {
    for tx_first in [true, false] {
        let (mut tx, mut rx) = channel::<u8>();
        let (sender, receiver) = (Task::new(), Task::new());
        assert!(sender.enter(|cx| tx.poll_closed(cx)).is_pending());
        assert!(receiver.poll(Pin::new(&mut rx)).is_pending());
        if tx_first {
            drop(tx);
            drop(rx);
        } else {
            drop(rx);
            drop(tx);
        }
        assert_eq!((sender.wakers_alive(), receiver.wakers_alive()), (0, 0));
        assert_eq!((sender.wakes(), receiver.wakes()), (usize::from(!tx_first), usize::from(tx_first)));
    }
}

#[test]
fn is_empty_and_is_terminated_follow_the_value() {
    let (tx, mut rx) = channel();
    assert!(rx.is_empty() && !rx.is_terminated());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    tx.send(1).unwrap();
    assert!(!rx.is_empty() && !rx.is_terminated());
    assert_eq!(block_on(&mut rx), Ok(1));
    assert!(rx.is_empty() && rx.is_terminated());
    assert!(panics(|| poll_once(Pin::new(&mut rx))), "polled after it completed");
}

#[test]
fn a_value_is_dropped_exactly_once_on_every_path() {
    let census = Census::default();
    let (tx, rx) = channel();
    tx.send(census.value(0)).unwrap();
    drop(rx);
    assert_eq!(census.dropped(), 1, "sent and never received");

    let (tx, rx) = channel();
    drop(rx);
    drop(tx.send(census.value(1)).unwrap_err());
    assert_eq!(census.dropped(), 2, "refused");

    let (tx, mut rx) = channel();
    tx.send(census.value(2)).unwrap();
    rx.close();
    drop(rx);
    assert_eq!(census.dropped(), 3, "sent, closed and never received");

    let (tx, mut rx) = channel();
    tx.send(census.value(3)).unwrap();
    drop(rx.try_recv().unwrap());
    drop(rx);
    assert_eq!((census.dropped(), census.alive()), (4, 0), "received");
}

#[test]
fn a_destructor_that_panics_leaks_nothing() {
    let census = Census::default();
    let (tx, rx) = channel();
    tx.send(census.bomb(0)).unwrap();
    assert!(panics(|| drop(rx)));
    assert_eq!((census.alive(), census.dropped()), (0, 1));
}

#[test]
fn a_waker_may_come_back_into_the_channel() {
    // The receiver's waker looks at the sender's channel and drops the receiver, when woken and when dropped.
    let (tx, rx) = channel::<u8>();
    let shared = Arc::new(Mutex::new(Some(rx)));
    let waker = {
        let shared = Arc::clone(&shared);
        OnWake::waker(move || drop(shared.lock().unwrap().take()))
    };
    let mut polled = shared.lock().unwrap().take().unwrap();
    assert!(Pin::new(&mut polled).poll(&mut Context::from_waker(&waker)).is_pending());
    *shared.lock().unwrap() = Some(polled);
    drop(waker);
    assert_eq!(tx.send(1), Ok(()));
    assert!(shared.lock().unwrap().is_none(), "the waker ran, and dropped the receiver");

    let (mut tx, rx) = channel::<u8>();
    let shared = Arc::new(Mutex::new(None));
    let waker = {
        let shared = Arc::clone(&shared);
        OnWake::waker(move || drop::<Option<Sender<u8>>>(shared.lock().unwrap().take()))
    };
    assert!(tx.poll_closed(&mut Context::from_waker(&waker)).is_pending());
    *shared.lock().unwrap() = Some(tx);
    drop(waker);
    drop(rx);
    assert!(shared.lock().unwrap().is_none());
}

#[test]
fn a_waker_that_panics_when_woken_leaves_the_value_in_place() {
    const BAD: RawWakerVTable =
        RawWakerVTable::new(|p| RawWaker::new(p, &BAD), |_| panic!("wake"), |_| panic!("wake"), |_| ());
    // SAFETY: the functions ignore the pointer.
    let bad = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &BAD)) };
    let (tx, mut rx) = channel();
    assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(&bad)).is_pending());
    assert!(panics(|| tx.send(1)));
    assert_eq!(rx.try_recv(), Ok(1));

    let (mut tx, rx) = channel::<u8>();
    assert!(tx.poll_closed(&mut Context::from_waker(&bad)).is_pending());
    assert!(panics(|| drop(rx)));
    assert!(tx.is_closed());
}

#[test]
fn a_waker_that_panics_when_cloned_leaves_the_channel_usable() {
    const BAD: RawWakerVTable = RawWakerVTable::new(|_| panic!("clone"), |_| (), |_| (), |_| ());
    // SAFETY: the functions ignore the pointer.
    let bad = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &BAD)) };
    let (tx, mut rx) = channel();
    let good = Task::new();
    assert!(panics(|| Pin::new(&mut rx).poll(&mut Context::from_waker(&bad))));
    assert!(good.poll(Pin::new(&mut rx)).is_pending());
    assert!(panics(|| Pin::new(&mut rx).poll(&mut Context::from_waker(&bad))));
    tx.send(1).unwrap();
    assert_eq!((good.wakes(), good.wakers_alive()), (1, 0));
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn dropping_a_wait_loses_no_value() {
    let (tx, mut rx) = channel();
    {
        let mut wait = pin!(async { (&mut rx).await });
        assert!(poll_once(wait.as_mut()).is_pending());
    }
    tx.send(1).unwrap();
    {
        let _never_polled = async { (&mut rx).await };
    }
    assert_eq!(block_on(rx), Ok(1));

    let (mut tx, rx) = channel::<u8>();
    assert!(poll_once(pin!(tx.closed())).is_pending());
    drop(rx);
    block_on(tx.closed());
}

#[test]
fn a_task_without_budget_gets_no_value_yet() {
    let (tx, mut rx) = channel();
    tx.send(1).unwrap();
    let task = Task::new();
    coop::budget(|| {
        for _ in 0..128 {
            assert!(poll_once(pin!(coop::consume_budget())).is_ready());
        }
        assert!(task.poll(Pin::new(&mut rx)).is_pending());
    });
    assert_eq!(task.wakes(), 1);
    assert_eq!(task.poll(Pin::new(&mut rx)), Poll::Ready(Ok(1)));
}

#[test]
fn blocking_recv_sleeps_until_the_value_comes_and_refuses_a_thread_with_tasks() {
    let (tx, rx) = channel();
    let thread = std::thread::spawn(move || rx.blocking_recv());
    tx.send(1).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(1));

    let (_tx, rx) = channel::<u8>();
    let _entered = entered::enter(true).unwrap();
    assert!(panics(|| rx.blocking_recv()));
}

#[test]
fn threads_hand_values_over_without_loss() {
    let rounds = if cfg!(miri) { 5 } else { 2000 };
    let census = Census::default();
    for id in 0..rounds {
        let (tx, rx) = channel();
        let sender = {
            let census = census.clone();
            std::thread::spawn(move || tx.send(census.value(id)).is_ok())
        };
        // Every third receiver goes away at once.
        let received = if id % 3 == 0 {
            drop(rx);
            false
        } else {
            rx.blocking_recv().unwrap().id == id
        };
        let sent = sender.join().unwrap();
        assert!(sent || !received);
        assert_eq!(census.alive(), 0);
    }
    assert_eq!(census.dropped(), rounds);
}

#[test]
fn send_and_sync_are_what_the_value_allows() {
    assert_eq!(auto_traits!(Sender<Nn>), "Unpin");
    assert_eq!(auto_traits!(Sender<Yn>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Sender<Yy>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Receiver<Nn>), "Unpin");
    assert_eq!(auto_traits!(Receiver<Yn>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Receiver<Yy>), "Send Sync Unpin");
}

#[test]
fn texts_are_those_that_programs_match() {
    let (tx, rx) = channel::<u8>();
    let state =
        "State { is_complete: false, is_closed: false, is_rx_task_set: false, is_tx_task_set: false }";
    assert_eq!(format!("{tx:?}"), format!("Sender {{ inner: Some(Inner {{ state: {state} }}) }}"));
    assert_eq!(format!("{rx:?}"), format!("Receiver {{ inner: Some(Inner {{ state: {state} }}) }}"));
    drop(tx);
    let error = rx.blocking_recv().unwrap_err();
    assert_eq!((format!("{error}"), format!("{error:?}")), ("channel closed".into(), "RecvError(())".into()));
    assert_eq!(TryRecvError::Empty.to_string(), "channel empty");
    assert_eq!(TryRecvError::Closed.to_string(), "channel closed");
}

/// Two drops that panic in one scope would end the process.
#[test]
fn the_wakers_of_both_ends_may_panic_when_dropped() {
    let wait = || {
        let (mut tx, mut rx) = channel::<u32>();
        for _ in 0..2 {
            // The second takes the place of the first.
            panics(|| poll_by_a_waker_that_panics_when_dropped(Pin::new(&mut rx)));
            panics(|| {
                poll_by_a_waker_that_panics_when_dropped(pin!(std::future::poll_fn(|cx| tx.poll_closed(cx))))
            });
        }
        (tx, rx)
    };
    let (tx, mut rx) = wait();
    assert!(panics(|| tx.send(1)));
    assert_eq!(rx.try_recv(), Ok(1));
    let (tx, mut rx) = wait();
    assert!(panics(|| drop(tx)));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    let (tx, rx) = wait();
    assert!(panics(|| drop(rx)));
    assert!(tx.is_closed());
    let (tx, mut rx) = wait();
    assert!(panics(|| rx.close()));
    assert!(tx.is_closed());
}
