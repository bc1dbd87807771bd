use super::super::channel;
use super::super::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use crate::testing::{Task, panics, poll_once};
use nezumi_wake::sleep::set_sleep;
use nezumi_wake::{block_on, coop, entered};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

#[test]
fn messages_come_in_order_and_wake_the_receiver() {
    // A ring, and a chain.
    for bound in [1, 2, 16, 31, 32, 100] {
        let (tx, mut rx) = channel(bound);
        let task = Task::new();
        for n in 0..200 {
            {
                let mut recv = pin!(rx.recv());
                assert!(task.poll(recv.as_mut()).is_pending());
                assert!(task.poll(recv.as_mut()).is_pending());
                assert_eq!(task.wakers_alive(), 1);
                assert_eq!(poll_once(pin!(tx.send(n))), Poll::Ready(Ok(())));
                assert_eq!((task.wakes(), task.wakers_alive()), (n + 1, 0));
                assert_eq!(task.poll(recv.as_mut()), Poll::Ready(Some(n)));
            }
            assert!(rx.is_empty());
        }
        for n in 0..bound {
            assert_eq!(tx.try_send(n), Ok(()));
            assert_eq!(rx.len(), n + 1);
        }
        assert_eq!(tx.try_send(0), Err(TrySendError::Full(0)));
        for n in 0..bound {
            assert_eq!(rx.try_recv(), Ok(n));
        }
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    }
}

#[test]
fn a_full_channel_makes_senders_wait_in_line() {
    let (tx, mut rx) = channel(1);
    tx.try_send(0).unwrap();
    let (first, second) = (Task::new(), Task::new());
    let (mut send_1, mut send_2) = (pin!(tx.send(1)), pin!(tx.send(2)));
    assert!(first.poll(send_1.as_mut()).is_pending());
    assert!(second.poll(send_2.as_mut()).is_pending());
    assert_eq!(block_on(rx.recv()), Some(0));
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)), "nobody overtakes");
    assert_eq!(first.poll(send_1), Poll::Ready(Ok(())));
    assert_eq!(block_on(rx.recv()), Some(1));
    assert_eq!(second.wakes(), 1);
    assert_eq!(second.poll(send_2), Poll::Ready(Ok(())));
    assert_eq!(block_on(rx.recv()), Some(2));
}

#[test]
fn only_the_last_task_that_polled_is_woken() {
    let (tx, mut rx) = channel(1);
    let (first, second) = (Task::new(), Task::new());
    assert!(first.enter(|cx| rx.poll_recv(cx)).is_pending());
    assert!(second.enter(|cx| rx.poll_recv(cx)).is_pending());
    assert_eq!((first.wakers_alive(), second.wakers_alive()), (0, 1));
    tx.try_send(1).unwrap();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert_eq!(second.enter(|cx| rx.poll_recv(cx)), Poll::Ready(Some(1)));
}

#[test]
fn permits_reserve_room_and_give_it_back() {
    let (tx, mut rx) = channel(3);
    assert_eq!((tx.capacity(), tx.max_capacity(), rx.capacity(), rx.max_capacity()), (3, 3, 3, 3));
    let permit = tx.try_reserve().unwrap();
    let owned = tx.clone().try_reserve_owned().unwrap();
    assert_eq!(tx.capacity(), 1);
    assert!(owned.same_channel_as_sender(&tx));
    drop(permit);
    assert_eq!(tx.capacity(), 2);
    let other = owned.release();
    assert!(other.same_channel(&tx));
    assert_eq!(tx.capacity(), 3);

    let mut permits = tx.try_reserve_many(3).unwrap();
    assert_eq!(permits.len(), 3);
    assert!(matches!(tx.try_reserve(), Err(TrySendError::Full(()))));
    permits.next().unwrap().send(1);
    drop(permits.next());
    assert_eq!((permits.size_hint(), tx.capacity(), rx.len()), ((1, Some(1)), 1, 1));
    drop(permits);
    assert_eq!(tx.capacity(), 2);
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(tx.capacity(), 3);

    let permit = block_on(tx.reserve_owned()).unwrap();
    let tx = permit.send(2);
    assert_eq!((tx.capacity(), rx.try_recv()), (2, Ok(2)));
    assert!(tx.clone().try_reserve_owned().unwrap().same_channel(&tx.clone().try_reserve_owned().unwrap()));
}

#[test]
fn what_is_sent_last_is_received_last_whoever_reserved_first() {
    let (tx, mut rx) = channel(2);
    let early = tx.try_reserve().unwrap();
    tx.try_send(1).unwrap();
    early.send(2);
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2)));
}

#[test]
fn reserving_many_asks_for_all_or_nothing() {
    let (tx, mut rx) = channel(4);
    assert!(matches!(poll_once(pin!(tx.reserve_many(5))), Poll::Ready(Err(SendError(())))));
    assert!(matches!(tx.try_reserve_many(5), Err(TrySendError::Full(()))));
    assert!(matches!(tx.try_reserve_many(usize::MAX), Err(TrySendError::Full(()))));
    assert!(poll_once(pin!(tx.reserve_many(0))).is_ready());
    assert_eq!(tx.try_reserve_many(0).unwrap().count(), 0);
    tx.try_send(0).unwrap();
    let task = Task::new();
    let mut reserve = pin!(tx.reserve_many(4));
    assert!(task.poll(reserve.as_mut()).is_pending());
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)), "the room is kept for who waits");
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(task.wakes(), 1);
    let Poll::Ready(Ok(permits)) = task.poll(reserve) else { panic!("there is room") };
    permits.enumerate().for_each(|(n, permit)| permit.send(n));
    let mut buffer = Vec::new();
    assert_eq!(block_on(rx.recv_many(&mut buffer, 10)), 4);
    assert_eq!((buffer, tx.capacity()), (vec![0, 1, 2, 3], 4));
}

#[test]
fn recv_many_takes_what_is_there_and_gives_the_room_back_at_once() {
    for bound in [31, 100] {
        let (tx, mut rx) = channel(bound);
        let mut buffer = vec![99];
        let task = Task::new();
        assert!(task.enter(|cx| rx.poll_recv_many(cx, &mut buffer, 10)).is_pending());
        assert_eq!(task.enter(|cx| rx.poll_recv_many(cx, &mut buffer, 0)), Poll::Ready(0));
        for n in 0..bound {
            tx.try_send(n).unwrap();
        }
        assert_eq!(task.wakes(), 1);
        assert_eq!(block_on(rx.recv_many(&mut buffer, 10)), 10);
        assert_eq!(tx.capacity(), 10);
        assert_eq!(rx.blocking_recv_many(&mut buffer, usize::MAX), bound - 10);
        assert_eq!(tx.capacity(), bound);
        assert!(buffer.into_iter().eq([99].into_iter().chain(0..bound)));
        drop(tx);
        assert_eq!(block_on(rx.recv_many(&mut Vec::new(), 10)), 0);
    }
}

#[test]
fn dropping_a_future_loses_nothing() {
    let (tx, mut rx) = channel(1);
    // A receive that waits.
    let task = Task::new();
    assert!(task.poll(pin!(rx.recv())).is_pending());
    tx.try_send(1).unwrap();
    // A receive that was woken.
    assert_eq!(task.wakes(), 1);
    // A send and a reservation that wait.
    assert!(task.poll(pin!(tx.send(2))).is_pending());
    assert!(task.poll(pin!(tx.reserve())).is_pending());
    assert!(task.poll(pin!(tx.clone().reserve_owned())).is_pending());
    assert_eq!(tx.strong_count(), 1, "an owned reservation takes its sender along");
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(tx.capacity(), 1);
    // A reservation that was granted, and not polled again.
    tx.try_send(3).unwrap();
    {
        let mut reserve = pin!(tx.reserve());
        assert!(task.poll(reserve.as_mut()).is_pending());
        assert_eq!(rx.try_recv(), Ok(3));
        assert_eq!(tx.capacity(), 0);
    }
    assert_eq!((tx.capacity(), task.wakers_alive()), (1, 0));
    // Waits for the close.
    assert!(task.poll(pin!(tx.closed())).is_pending());
    assert_eq!(task.wakers_alive(), 0);
}

#[test]
fn every_receive_and_send_spends_budget() {
    let (tx, mut rx) = channel(200);
    coop::budget(|| {
        for n in 0..128 {
            assert!(poll_once(pin!(tx.send(n))).is_ready());
        }
        assert!(poll_once(pin!(tx.send(0))).is_pending());
        assert!(poll_once(pin!(rx.recv())).is_pending());
        assert_eq!(rx.try_recv(), Ok(0), "who does not await needs no budget");
    });
    coop::budget(|| {
        for n in 1..128 {
            assert_eq!(poll_once(pin!(rx.recv())), Poll::Ready(Some(n)));
        }
        assert_eq!(poll_once(pin!(rx.recv_many(&mut Vec::new(), 0))), Poll::Ready(0));
        assert!(poll_once(pin!(rx.recv_many(&mut Vec::new(), 1))).is_pending());
    });
}

#[test]
fn blocking_forms_refuse_a_thread_with_tasks() {
    let (tx, mut rx) = channel(1);
    tx.blocking_send(1).unwrap();
    assert_eq!(rx.blocking_recv(), Some(1));
    let _entered = entered::enter(true).unwrap();
    assert!(panics(|| tx.blocking_send(2)));
    assert!(panics(|| rx.blocking_recv()));
    assert!(panics(|| rx.blocking_recv_many(&mut Vec::new(), 1)));
}

#[test]
fn a_bound_out_of_range_panics() {
    assert!(panics(|| channel::<u8>(0)));
    assert!(panics(|| channel::<u8>(usize::MAX)));
}

thread_local! {
    /// Whether the test below is in a runtime with time, so to speak.
    static HAS_TIME: Cell<bool> = const { Cell::new(true) };
}

#[test]
fn a_send_gives_up_when_its_time_is_over() {
    // The clock of this test: the second poll comes after the end of time.
    set_sleep(
        |timeout| {
            let mut polls = 0;
            Box::pin(poll_fn(move |_: &mut Context<'_>| {
                polls += 1;
                if timeout.is_zero() || polls > 1 { Poll::Ready(()) } else { Poll::Pending }
            }))
        },
        || assert!(HAS_TIME.get(), "there is no reactor running"),
    );
    let (tx, mut rx) = channel(1);
    let second = Duration::from_secs(1);
    assert_eq!(block_on(tx.send_timeout(1, second)), Ok(()));
    assert_eq!(block_on(tx.send_timeout(2, Duration::ZERO)), Err(SendTimeoutError::Timeout(2)));
    {
        let mut send = pin!(tx.send_timeout(3, second));
        assert!(poll_once(send.as_mut()).is_pending());
        assert_eq!(poll_once(send), Poll::Ready(Err(SendTimeoutError::Timeout(3))));
    }
    {
        let mut send = pin!(tx.send_timeout(4, second));
        assert!(poll_once(send.as_mut()).is_pending());
        assert_eq!(rx.try_recv(), Ok(1));
        assert_eq!(poll_once(send.as_mut()), Poll::Ready(Ok(())), "room came before the end of time");
    }
    assert_eq!(rx.try_recv(), Ok(4));
    coop::budget(|| {
        tx.try_send(5).unwrap();
        let mut send = pin!(tx.send_timeout(6, Duration::ZERO));
        while coop::has_budget_remaining() {
            assert!(poll_once(pin!(coop::consume_budget())).is_ready());
        }
        assert!(send.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_ready());
    });
    HAS_TIME.set(false);
    rx.close();
    for room in [true, false] {
        let (tx, _rx) = channel(1);
        assert!(room || tx.try_send(1).is_ok());
        assert!(
            panics(|| poll_once(pin!(tx.send_timeout(2, second)))),
            "with room or without, it asks for a clock"
        );
    }
    assert!(panics(|| poll_once(pin!(tx.send_timeout(2, second)))), "so it does of a closed channel");
    HAS_TIME.set(true);
    drop(rx);
    assert_eq!(block_on(tx.send_timeout(7, second)), Err(SendTimeoutError::Closed(7)));
}

#[test]
fn threads_lose_nothing_and_keep_the_order_of_each_sender() {
    let (senders, each) = if cfg!(miri) { (2, 10) } else { (4, 20_000) };
    for bound in [1, 7, 64] {
        let (tx, mut rx) = channel(bound);
        let threads: Vec<_> = (0..senders)
            .map(|id| {
                let tx = tx.clone();
                std::thread::spawn(move || (0..each).for_each(|n| tx.blocking_send((id, n)).unwrap()))
            })
            .collect();
        drop(tx);
        let mut next = vec![0; senders];
        let mut many = Vec::new();
        while rx.blocking_recv_many(&mut many, 5) > 0 {
            for (id, n) in many.drain(..) {
                assert_eq!(n, next[id]);
                next[id] += 1;
            }
        }
        assert!(next.iter().all(|&n| n == each));
        assert_eq!(rx.capacity(), bound);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
