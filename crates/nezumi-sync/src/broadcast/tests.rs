use super::error::{RecvError, SendError, TryRecvError};
use super::shared::Shared;
use super::{Receiver, Sender, WeakSender, channel};
use crate::testing::{Census, Nn, OnWake, Task, Yn, Yy, auto_traits, panics, poll_once};
use nezumi_wake::{block_on, coop, entered};
use proptest::prelude::*;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

#[test]
fn every_receiver_gets_every_value_sent_since_it_joined() {
    let (tx, mut a) = channel(4);
    assert_eq!(tx.send(1).unwrap(), 1);
    let mut b = tx.subscribe();
    let mut c = a.resubscribe();
    assert_eq!(tx.send(2).unwrap(), 3);
    assert_eq!((a.len(), b.len(), c.len()), (2, 1, 1));
    assert_eq!((a.try_recv(), a.try_recv(), a.try_recv()), (Ok(1), Ok(2), Err(TryRecvError::Empty)));
    assert_eq!((b.try_recv(), b.try_recv()), (Ok(2), Err(TryRecvError::Empty)));
    assert_eq!((c.try_recv(), c.try_recv()), (Ok(2), Err(TryRecvError::Empty)));
    assert!(a.is_empty() && tx.is_empty());
}

#[test]
fn sending_wakes_all_who_wait_once() {
    let (tx, rx) = channel(4);
    let mut receivers: Vec<_> = (0..40).map(|_| tx.subscribe()).collect();
    drop(rx);
    let tasks: Vec<_> = receivers.iter().map(|_| Task::new()).collect();
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| Box::pin(rx.recv())).collect();
    for (task, wait) in tasks.iter().zip(&mut waits) {
        assert!(task.poll(wait.as_mut()).is_pending());
        assert!(task.poll(wait.as_mut()).is_pending());
        assert_eq!(task.wakers_alive(), 1);
    }
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    for (task, wait) in tasks.iter().zip(&mut waits) {
        assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
        assert_eq!(task.poll(wait.as_mut()), Poll::Ready(Ok(1)));
    }
}

#[test]
fn only_the_last_task_that_polled_is_woken() {
    let (tx, mut rx) = channel(1);
    let (first, second) = (Task::new(), Task::new());
    let mut wait = pin!(rx.recv());
    assert!(first.poll(wait.as_mut()).is_pending());
    assert!(second.poll(wait.as_mut()).is_pending());
    assert_eq!((first.wakers_alive(), second.wakers_alive()), (0, 1));
    tx.send(1).unwrap();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
}

#[test]
fn a_slow_receiver_is_told_how_many_it_missed() {
    let (tx, mut rx) = channel(3);
    for n in 0..7 {
        tx.send(n).unwrap();
    }
    assert_eq!(rx.len(), 7);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(3)), "the capacity is rounded up to 4");
    assert_eq!(rx.len(), 4);
    assert_eq!(rx.try_recv(), Ok(3));
    tx.send(7).unwrap();
    tx.send(8).unwrap();
    assert_eq!(block_on(rx.recv()), Err(RecvError::Lagged(1)));
    assert_eq!((5..=8).map(|_| block_on(rx.recv()).unwrap()).collect::<Vec<_>>(), [5, 6, 7, 8]);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn the_end_comes_after_what_is_left_and_with_the_last_sender() {
    let (tx, mut rx) = channel(2);
    let other = tx.clone();
    tx.send(1).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    assert_eq!(rx.sender_strong_count(), 1);
    let task = Task::new();
    assert_eq!(block_on(rx.recv()), Ok(1));
    {
        let mut wait = pin!(rx.recv());
        assert!(task.poll(wait.as_mut()).is_pending());
        drop(other);
        assert_eq!(task.wakes(), 1);
        assert_eq!(task.poll(wait.as_mut()), Poll::Ready(Err(RecvError::Closed)));
    }
    assert!(rx.is_closed());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(rx.resubscribe().try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn sending_to_nobody_gives_the_value_back() {
    let tx = Sender::new(2);
    assert_eq!(tx.send(1).unwrap_err().0, 1);
    assert!(poll_once(pin!(tx.closed())).is_ready());
    let mut rx = tx.subscribe();
    assert!(poll_once(pin!(tx.closed())).is_pending());
    assert_eq!(tx.send(2).unwrap(), 1);
    assert_eq!(rx.try_recv(), Ok(2));
    drop(rx);
    assert_eq!(tx.send(3).unwrap_err().0, 3);
}

#[test]
fn senders_wait_for_the_last_receiver() {
    let (tx, rx) = channel::<u8>(1);
    let second = tx.subscribe();
    let task = Task::new();
    let mut wait = pin!(tx.closed());
    assert!(task.poll(wait.as_mut()).is_pending());
    drop(rx);
    assert_eq!(task.wakes(), 0);
    drop(second);
    assert_eq!(task.wakes(), 1);
    // Opened again before it looks: it waits on.
    let third = tx.subscribe();
    assert!(task.poll(wait.as_mut()).is_pending());
    drop(third);
    assert_eq!(task.wakes(), 2);
    assert!(task.poll(wait.as_mut()).is_ready());
}

#[test]
fn a_weak_sender_keeps_nothing_open() {
    let (tx, rx) = channel::<u8>(1);
    let weak = tx.downgrade();
    let copy = weak.clone();
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 2));
    drop(copy);
    assert_eq!((tx.strong_count(), tx.weak_count(), rx.sender_weak_count()), (1, 1, 1));
    let again = weak.upgrade().unwrap();
    assert!(again.same_channel(&tx));
    drop(tx);
    assert!(!rx.is_closed());
    drop(again);
    assert!(rx.is_closed());
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_value_is_dropped_with_its_last_reader() {
    let census = Census::default();
    let (tx, mut a) = channel(2);
    let mut b = tx.subscribe();
    tx.send(census.value(0)).unwrap();
    drop(a.try_recv().unwrap());
    assert_eq!(census.alive(), 1);
    drop(b.try_recv().unwrap());
    assert_eq!(census.alive(), 0);

    tx.send(census.value(1)).unwrap();
    drop(a);
    assert_eq!(census.alive(), 1);
    drop(b);
    assert_eq!(census.alive(), 0, "nobody is left to read it");
}

#[test]
fn an_overwritten_value_is_dropped_once() {
    let census = Census::default();
    let (tx, rx) = channel(2);
    for id in 0..5 {
        tx.send(census.value(id)).unwrap();
    }
    assert_eq!((census.alive(), census.dropped()), (2, 3));
    drop(tx);
    assert_eq!(census.alive(), 2);
    drop(rx);
    assert_eq!((census.alive(), census.dropped()), (0, 5));
}

#[test]
fn a_panic_in_a_clone_counts_as_received() {
    #[derive(Debug)]
    struct Fussy(u8);
    impl Clone for Fussy {
        fn clone(&self) -> Self {
            assert_ne!(self.0, 0, "a clone that panics");
            Self(self.0)
        }
    }
    let (tx, mut rx) = channel(2);
    tx.send(Fussy(0)).unwrap();
    tx.send(Fussy(1)).unwrap();
    assert!(panics(|| rx.try_recv().is_ok()));
    assert_eq!(tx.len(), 1);
    assert_eq!(rx.try_recv().map(|value| value.0), Ok(1));
    assert_eq!(tx.len(), 0);
}

#[test]
fn a_destructor_that_panics_leaks_nothing_and_hides_nothing() {
    let census = Census::default();
    let (tx, rx) = channel(4);
    let waiting = Task::new();
    let mut closed = pin!(tx.closed());
    assert!(waiting.poll(closed.as_mut()).is_pending());
    for id in 0..3 {
        tx.send(census.bomb(id)).unwrap();
    }
    assert!(panics(|| drop(rx)));
    assert_eq!((census.alive(), census.dropped()), (0, 3));
    assert_eq!((waiting.wakes(), tx.receiver_count(), tx.len()), (1, 0, 0));

    let mut rx = tx.subscribe();
    for id in 3..7 {
        tx.send(census.bomb(id)).unwrap();
    }
    assert!(panics(|| tx.send(census.value(7))), "it overwrote a bomb");
    assert!(matches!(rx.try_recv(), Err(TryRecvError::Lagged(1))));
    assert_eq!((rx.len(), census.alive()), (4, 4));
    assert!(panics(|| drop(rx)));
    assert_eq!((census.alive(), census.dropped()), (0, 8));
}

#[test]
fn len_counts_what_somebody_has_not_got() {
    let (tx, mut a) = channel(8);
    let mut b = tx.subscribe();
    for n in 0..5 {
        tx.send(n).unwrap();
    }
    assert_eq!(tx.len(), 5);
    a.try_recv().unwrap();
    a.try_recv().unwrap();
    assert_eq!(tx.len(), 5);
    b.try_recv().unwrap();
    assert_eq!(tx.len(), 4);
    drop(b);
    assert_eq!(tx.len(), 3);
    assert!(!tx.is_empty());
    drop(a);
    assert!(tx.is_empty());
}

#[test]
fn dropping_a_wait_loses_no_value_and_leaves_no_waker() {
    let (tx, mut rx) = channel(4);
    let task = Task::new();
    {
        let mut wait = pin!(rx.recv());
        assert!(task.poll(wait.as_mut()).is_pending());
    }
    assert_eq!(task.wakers_alive(), 0);
    {
        let mut wait = pin!(rx.recv());
        assert!(task.poll(wait.as_mut()).is_pending());
        tx.send(1).unwrap();
    }
    assert_eq!(rx.try_recv(), Ok(1));
    {
        let mut wait = pin!(tx.closed());
        assert!(task.poll(wait.as_mut()).is_pending());
    }
    assert_eq!(task.wakers_alive(), 0);
}

#[test]
fn a_waker_may_come_back_into_the_channel() {
    let (tx, mut rx) = channel(4);
    let waker = {
        let tx = tx.clone();
        let other = tx.subscribe();
        OnWake::waker(move || {
            let _ = tx.send(2);
            assert!(!other.is_empty());
            drop(tx.subscribe());
        })
    };
    {
        let mut wait = pin!(rx.recv());
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        // Woken, then dropped: sends twice.
        tx.send(1).unwrap();
        assert_eq!(poll_once(wait), Poll::Ready(Ok(1)));
    }
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(2)));

    // Replacing a waker drops it.
    let waker = {
        let tx = tx.clone();
        OnWake::waker(move || drop(tx.send(3)))
    };
    let mut wait = pin!(rx.recv());
    assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    let task = Task::new();
    assert!(task.poll(wait.as_mut()).is_pending());
    assert_eq!(task.poll(wait), Poll::Ready(Ok(3)));
}

#[test]
fn a_panicking_waker_keeps_no_other_receiver_asleep() {
    let (tx, mut rx) = channel(4);
    let mut receivers: Vec<_> = (0..40).map(|_| tx.subscribe()).collect();
    let tasks: Vec<_> = receivers.iter().map(|_| Task::new()).collect();
    let armed = Arc::new(AtomicBool::new(true));
    let mut bad_wait = pin!(rx.recv());
    {
        let armed = Arc::clone(&armed);
        let bad = OnWake::waker(move || assert!(!armed.swap(false, Ordering::SeqCst)));
        assert!(bad_wait.as_mut().poll(&mut Context::from_waker(&bad)).is_pending());
    }
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| Box::pin(rx.recv())).collect();
    for (task, wait) in tasks.iter().zip(&mut waits) {
        assert!(task.poll(wait.as_mut()).is_pending());
    }
    assert!(panics(|| tx.send(1)));
    assert!(tasks.iter().all(|task| task.wakes() == 1));
}

#[test]
fn a_task_without_budget_gets_no_value_yet() {
    let (tx, mut rx) = channel(256);
    for n in 0..129 {
        tx.send(n).unwrap();
    }
    let task = Task::new();
    coop::budget(|| {
        for n in 0..128 {
            assert_eq!(task.poll(pin!(rx.recv())), Poll::Ready(Ok(n)));
        }
        assert!(task.poll(pin!(rx.recv())).is_pending());
    });
    assert_eq!(task.wakes(), 1);
    assert_eq!(rx.try_recv(), Ok(128));
}

#[test]
fn blocking_recv_refuses_a_thread_with_tasks() {
    let (tx, mut rx) = channel(1);
    tx.send(1).unwrap();
    assert_eq!(rx.blocking_recv(), Ok(1));
    let _entered = entered::enter(true).unwrap();
    assert!(panics(|| rx.blocking_recv()));
}

#[test]
fn positions_may_wrap() {
    let shared = Arc::new(Shared::starting_at(u64::MAX - 3, 4, 1));
    let tx = Sender::first(Arc::clone(&shared));
    let mut rx = Receiver::new(shared, u64::MAX - 3);
    let mut late = tx.subscribe();
    for n in 0..20 {
        tx.send(n).unwrap();
        assert_eq!((tx.len(), rx.len()), (4.min(n + 1), 1));
        assert_eq!(rx.try_recv(), Ok(n));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    }
    assert_eq!(late.try_recv(), Err(TryRecvError::Lagged(16)));
    assert_eq!(late.try_recv(), Ok(16));
}

#[test]
fn capacities_out_of_range_panic() {
    assert!(panics(|| channel::<u8>(0)));
    assert!(panics(|| channel::<()>(1 + (usize::MAX >> 1))));
    assert!(panics(|| Sender::<u8>::new(0)));
}

#[test]
fn values_that_are_not_sync_are_never_cloned_twice_at_once() {
    struct Alone {
        busy: AtomicUsize,
    }
    impl Clone for Alone {
        fn clone(&self) -> Self {
            assert_eq!(self.busy.fetch_add(1, Ordering::SeqCst), 0, "two clones at once");
            std::thread::yield_now();
            self.busy.fetch_sub(1, Ordering::SeqCst);
            Self { busy: AtomicUsize::new(0) }
        }
    }
    let rounds = if cfg!(miri) { 2 } else { 2000 };
    let (tx, rx) = channel(4);
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let mut rx = tx.subscribe();
            std::thread::spawn(move || {
                let mut seen = 0;
                loop {
                    match block_on(rx.recv()) {
                        Ok(_) => seen += 1,
                        Err(RecvError::Lagged(missed)) => seen += missed,
                        Err(RecvError::Closed) => return seen,
                    }
                }
            })
        })
        .collect();
    drop(rx);
    for _ in 0..rounds {
        tx.send(Alone { busy: AtomicUsize::new(0) }).ok().unwrap();
    }
    drop(tx);
    for reader in readers {
        assert_eq!(reader.join().unwrap(), rounds);
    }
}

#[test]
fn send_and_sync_are_what_the_value_allows() {
    assert_eq!(auto_traits!(Sender<Nn>), "Unpin");
    assert_eq!(auto_traits!(Sender<Yn>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Sender<Yy>), "Send Sync Unpin");
    assert_eq!(auto_traits!(WeakSender<Nn>), "Unpin");
    assert_eq!(auto_traits!(WeakSender<Yn>), "Send Sync Unpin");
    assert_eq!(auto_traits!(WeakSender<Yy>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Receiver<Nn>), "Unpin");
    assert_eq!(auto_traits!(Receiver<Yn>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Receiver<Yy>), "Send Sync Unpin");
}

#[test]
fn futures_can_be_sent_where_the_value_can() {
    fn is_send(_: impl Send + Sync) {}
    let (tx, mut rx) = channel::<Yn>(1);
    is_send(rx.recv());
    is_send(tx.closed());
}

#[test]
fn texts_are_those_that_programs_match() {
    let (tx, rx) = channel::<u8>(1);
    assert_eq!(format!("{tx:?} {rx:?}"), "broadcast::Sender broadcast::Receiver");
    assert_eq!(format!("{:?}", tx.downgrade()), "broadcast::WeakSender");
    assert_eq!(format!("{:?}", SendError(7)), "SendError(7)");
    assert_eq!(SendError(7).to_string(), "channel closed");
    assert_eq!(RecvError::Lagged(3).to_string(), "channel lagged by 3");
    assert_eq!(RecvError::Closed.to_string(), "channel closed");
    assert_eq!(TryRecvError::Empty.to_string(), "channel empty");
    assert_eq!(TryRecvError::Closed.to_string(), "channel closed");
    assert_eq!(TryRecvError::Lagged(3).to_string(), "channel lagged by 3");
}

#[derive(Clone, Debug)]
enum Op {
    Send,
    Subscribe,
    Recv(usize),
    DropReceiver(usize),
    DropSender,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => Just(Op::Send),
        2 => Just(Op::Subscribe),
        8 => (0..4usize).prop_map(Op::Recv),
        1 => (0..4usize).prop_map(Op::DropReceiver),
        1 => Just(Op::DropSender),
    ]
}

/// What a broadcast channel is, written without a ring: all that was ever sent, and where each receiver stands.
struct Reference {
    capacity: usize,
    sent: usize,
    receivers: Vec<usize>,
}

impl Reference {
    fn recv(&mut self, index: usize, is_closed: bool) -> Result<usize, TryRecvError> {
        let oldest = self.sent.saturating_sub(self.capacity);
        let next = &mut self.receivers[index];
        if *next == self.sent {
            return Err(if is_closed { TryRecvError::Closed } else { TryRecvError::Empty });
        }
        if *next < oldest {
            let missed = oldest - *next;
            *next = oldest;
            return Err(TryRecvError::Lagged(missed as u64));
        }
        *next += 1;
        Ok(*next - 1)
    }

    fn unread(&self) -> usize {
        let oldest = self.sent.saturating_sub(self.capacity);
        self.receivers.iter().map(|next| self.sent - (*next).max(oldest)).max().unwrap_or(0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 5 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn behaves_like_a_list_of_all_that_was_sent(
        capacity in 1..6usize,
        ops in proptest::collection::vec(op(), 1..80),
    ) {
        let census = Census::default();
        let (tx, rx) = channel(capacity);
        let (mut tx, mut receivers) = (Some(tx), vec![rx]);
        let mut reference =
            Reference { capacity: capacity.next_power_of_two(), sent: 0, receivers: vec![0] };
        for op in ops {
            match op {
                Op::Send => if let Some(tx) = &tx {
                    match tx.send(census.value(reference.sent)) {
                        Ok(count) => {
                            prop_assert_eq!(count, receivers.len());
                            reference.sent += 1;
                        }
                        Err(_) => prop_assert!(receivers.is_empty()),
                    }
                },
                Op::Subscribe => if let Some(tx) = &tx {
                    receivers.push(tx.subscribe());
                    reference.receivers.push(reference.sent);
                },
                Op::Recv(index) => if index < receivers.len() {
                    let got = receivers[index].try_recv().map(|value| value.id);
                    prop_assert_eq!(got, reference.recv(index, tx.is_none()));
                },
                Op::DropReceiver(index) => if index < receivers.len() {
                    receivers.remove(index);
                    reference.receivers.remove(index);
                },
                Op::DropSender => tx = None,
            }
            prop_assert_eq!(census.alive(), reference.unread());
            if let Some(tx) = &tx {
                prop_assert_eq!(tx.len(), reference.unread());
                prop_assert_eq!(tx.is_empty(), reference.unread() == 0);
                prop_assert_eq!(tx.receiver_count(), receivers.len());
            }
            for (rx, next) in receivers.iter().zip(&reference.receivers) {
                prop_assert_eq!(rx.len(), reference.sent - next);
            }
        }
        drop((tx, receivers));
        prop_assert_eq!(census.alive(), 0);
    }
}
