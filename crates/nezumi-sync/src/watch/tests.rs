use super::error::{RecvError, SendError};
use super::{Receiver, Ref, Sender, channel};
use crate::testing::{Census, Nn, OnWake, Task, Yn, Yy, auto_traits, panics, poll_once};
use nezumi_wake::{block_on, coop};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

#[test]
fn a_change_wakes_every_receiver_once() {
    let (tx, rx) = channel(0);
    let mut receivers: Vec<_> = (0..20).map(|_| rx.clone()).collect();
    let tasks: Vec<_> = receivers.iter().map(|_| Task::new()).collect();
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| Box::pin(rx.changed())).collect();
    for (task, wait) in tasks.iter().zip(&mut waits) {
        assert!(task.poll(wait.as_mut()).is_pending());
    }
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    for (task, wait) in tasks.iter().zip(&mut waits) {
        assert_eq!((task.wakes(), task.wakers_alive()), (1, 0));
        assert!(matches!(task.poll(wait.as_mut()), Poll::Ready(Ok(()))));
    }
    drop(waits);
    assert!(receivers.iter().all(|rx| !rx.has_changed().unwrap() && *rx.borrow() == 2));
    assert!(rx.has_changed().unwrap());
}

#[test]
fn borrow_leaves_a_value_unseen_and_borrow_and_update_does_not() {
    let (tx, mut rx) = channel(0);
    assert!(!rx.has_changed().unwrap());
    tx.send(1).unwrap();
    assert!(rx.borrow().has_changed());
    assert!(rx.has_changed().unwrap());
    assert!(poll_once(pin!(rx.changed())).is_ready());
    assert!(poll_once(pin!(rx.changed())).is_pending());
    tx.send(2).unwrap();
    {
        let value = rx.borrow_and_update();
        assert_eq!((*value, value.has_changed()), (2, true));
    }
    assert!(!rx.borrow_and_update().has_changed());
    assert!(poll_once(pin!(rx.changed())).is_pending());
    assert!(!tx.borrow().has_changed());
}

#[test]
fn marks_change_what_counts_as_seen() {
    let (tx, mut rx) = channel(0);
    rx.mark_changed();
    assert!(rx.has_changed().unwrap());
    assert!(poll_once(pin!(rx.changed())).is_ready());
    assert!(!rx.has_changed().unwrap());
    rx.mark_changed();
    rx.mark_changed();
    rx.mark_unchanged();
    assert!(poll_once(pin!(rx.changed())).is_pending());
    tx.send(1).unwrap();
    rx.mark_unchanged();
    assert!(!rx.has_changed().unwrap());
    rx.mark_changed();
    tx.send(2).unwrap();
    assert!(rx.has_changed().unwrap());
    drop(tx);
    rx.mark_unchanged();
    assert!(rx.has_changed().is_err());
    rx.mark_changed();
    assert!(matches!(poll_once(pin!(rx.changed())), Poll::Ready(Ok(()))));
    assert!(matches!(poll_once(pin!(rx.changed())), Poll::Ready(Err(_))));
}

#[test]
fn a_clone_has_seen_what_its_original_has() {
    let (tx, mut rx) = channel(1);
    tx.send(2).unwrap();
    assert!(rx.clone().has_changed().unwrap());
    rx.mark_unchanged();
    assert!(!rx.clone().has_changed().unwrap());
    rx.mark_changed();
    assert!(rx.clone().has_changed().unwrap());
}

#[test]
fn the_last_value_is_seen_before_the_end() {
    let (tx, mut rx) = channel(0);
    tx.send(1).unwrap();
    drop(tx);
    assert!(rx.is_closed());
    assert!(rx.has_changed().is_err());
    assert!(block_on(rx.changed()).is_ok());
    assert_eq!(*rx.borrow(), 1);
    assert!(block_on(rx.changed()).is_err());
}

#[test]
fn the_end_comes_with_the_last_sender_and_wakes() {
    let (tx, mut rx) = channel(0);
    let other = tx.clone();
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 1));
    let task = Task::new();
    let mut wait = pin!(rx.changed());
    assert!(task.poll(wait.as_mut()).is_pending());
    drop(tx);
    assert_eq!(task.wakes(), 0);
    drop(other);
    assert_eq!(task.wakes(), 1);
    assert!(matches!(task.poll(wait.as_mut()), Poll::Ready(Err(_))));
}

#[test]
fn senders_wait_for_the_last_receiver() {
    let (tx, rx) = channel(0);
    let second = rx.clone();
    let (a, b) = (Task::new(), Task::new());
    let (mut wait_a, mut wait_b) = (pin!(tx.closed()), pin!(tx.closed()));
    assert!(a.poll(wait_a.as_mut()).is_pending());
    assert!(b.poll(wait_b.as_mut()).is_pending());
    drop(rx);
    assert_eq!(a.wakes(), 0);
    drop(second);
    assert_eq!((a.wakes(), b.wakes()), (1, 1));
    assert!(a.poll(wait_a.as_mut()).is_ready());
    // Opened again before the second one looks: it waits on.
    let rx = tx.subscribe();
    assert!(b.poll(wait_b.as_mut()).is_pending());
    assert!(!tx.is_closed());
    drop(rx);
    assert_eq!(b.wakes(), 2);
    assert!(b.poll(wait_b.as_mut()).is_ready());
    assert!(tx.is_closed());
}

#[test]
fn send_without_receivers_gives_the_value_back_and_changes_nothing() {
    let (tx, rx) = channel(0);
    drop(rx);
    assert_eq!(tx.send(1), Err(SendError(1)));
    assert_eq!(*tx.borrow(), 0);
    assert_eq!(tx.send_replace(2), 0);
    tx.send_modify(|value| *value += 1);
    let rx = tx.subscribe();
    assert_eq!(*rx.borrow(), 3);
    assert!(!rx.has_changed().unwrap());
    tx.send(4).unwrap();
    assert!(rx.has_changed().unwrap());
}

#[test]
fn a_silent_change_makes_no_version() {
    let (tx, mut rx) = channel(0);
    let task = Task::new();
    {
        let mut wait = pin!(rx.changed());
        assert!(task.poll(wait.as_mut()).is_pending());
        assert!(!tx.send_if_modified(|value| {
            *value = 5;
            false
        }));
        assert_eq!(task.wakes(), 0);
    }
    assert_eq!(*rx.borrow(), 5);
    assert!(!rx.has_changed().unwrap());
}

#[test]
fn a_panic_in_modify_wakes_nobody_and_leaves_the_channel_usable() {
    let (tx, mut rx) = channel(0);
    let task = Task::new();
    {
        let mut wait = pin!(rx.changed());
        assert!(task.poll(wait.as_mut()).is_pending());
        assert!(panics(|| tx.send_modify(|value| {
            *value = 1;
            panic!("in modify");
        })));
        assert_eq!(task.wakes(), 0);
    }
    assert_eq!((*rx.borrow(), rx.has_changed().unwrap()), (1, false));
    tx.send(2).unwrap();
    assert_eq!(*rx.borrow_and_update(), 2);
}

#[test]
fn wait_for_is_shown_the_current_value_first_and_marks_what_it_is_shown() {
    let (tx, mut rx) = channel(1);
    assert_eq!(*block_on(rx.wait_for(|value| *value == 1)).unwrap(), 1);
    let mut shown = Vec::new();
    {
        let mut wait = pin!(rx.wait_for(|value| {
            shown.push(*value);
            *value >= 3
        }));
        assert!(poll_once(wait.as_mut()).is_pending());
        tx.send(2).unwrap();
        assert!(poll_once(wait.as_mut()).is_pending());
        tx.send(3).unwrap();
        match poll_once(wait) {
            Poll::Ready(Ok(value)) => assert_eq!(*value, 3),
            _ => panic!("the condition holds"),
        }
    }
    assert_eq!(shown, [1, 2, 3]);
    assert!(!rx.has_changed().unwrap());
    // Dropped while it waits: what was shown stays seen.
    assert!(poll_once(pin!(rx.wait_for(|_| false))).is_pending());
    assert!(poll_once(pin!(rx.changed())).is_pending());
}

#[test]
fn what_wait_for_finds_at_once_says_whether_it_was_seen_before() {
    let (tx, mut rx) = channel(1);
    assert!(!block_on(rx.wait_for(|_| true)).unwrap().has_changed());
    tx.send(2).unwrap();
    assert!(block_on(rx.wait_for(|_| true)).unwrap().has_changed());
    assert!(!block_on(rx.wait_for(|_| true)).unwrap().has_changed(), "marked by the wait before");
}

#[test]
fn wait_for_is_shown_the_last_value_before_it_fails() {
    let (tx, mut rx) = channel(1);
    tx.send(2).unwrap();
    drop(tx);
    assert_eq!(*block_on(rx.wait_for(|value| *value == 2)).unwrap(), 2);
    let mut calls = 0;
    let failed = block_on(rx.wait_for(|_| {
        calls += 1;
        false
    }))
    .is_err();
    assert!(failed);
    assert_eq!(calls, 1);
}

#[test]
fn a_panic_in_the_condition_leaves_the_channel_usable() {
    let (tx, mut rx) = channel(1);
    assert!(panics(|| block_on(rx.wait_for(|_| panic!("condition"))).is_ok()));
    tx.send(2).unwrap();
    assert_eq!(*rx.borrow_and_update(), 2);
}

#[test]
fn dropping_a_wait_marks_nothing_and_leaves_no_waker() {
    let (tx, mut rx) = channel(0);
    let task = Task::new();
    {
        let mut wait = pin!(rx.changed());
        assert!(task.poll(wait.as_mut()).is_pending());
        tx.send(1).unwrap();
        // Woken, and dropped before it looks.
    }
    assert_eq!(task.wakers_alive(), 0);
    assert!(rx.has_changed().unwrap());
    assert!(poll_once(pin!(rx.changed())).is_ready());
    {
        let mut wait = pin!(rx.changed());
        assert!(task.poll(wait.as_mut()).is_pending());
    }
    {
        let mut wait = pin!(tx.closed());
        assert!(task.poll(wait.as_mut()).is_pending());
    }
    assert_eq!(task.wakers_alive(), 0);
}

#[test]
fn a_waker_may_come_back_into_the_channel() {
    let (tx, mut rx) = channel(0);
    let tx = Arc::new(tx);
    let calls = Arc::new(AtomicBool::new(false));
    let waker = {
        let (tx, calls) = (Arc::clone(&tx), Arc::clone(&calls));
        OnWake::waker(move || {
            if !calls.swap(true, Ordering::SeqCst) {
                tx.send_replace(2);
            }
            assert_eq!(*tx.borrow(), 2);
            drop(tx.subscribe());
        })
    };
    {
        let mut wait = pin!(rx.changed());
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        tx.send(1).unwrap();
    }
    assert!(calls.load(Ordering::SeqCst));
    assert_eq!(*rx.borrow_and_update(), 2);
}

#[test]
fn a_panicking_waker_keeps_no_other_receiver_asleep() {
    let (tx, rx) = channel(0);
    let armed = Arc::new(AtomicBool::new(true));
    let mut receivers: Vec<_> = (0..20).map(|_| rx.clone()).collect();
    let tasks: Vec<_> = receivers.iter().map(|_| Task::new()).collect();
    let mut first = rx.clone();
    let mut bad_wait = pin!(first.changed());
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| Box::pin(rx.changed())).collect();
    {
        let armed = Arc::clone(&armed);
        let bad = OnWake::waker(move || assert!(!armed.swap(false, Ordering::SeqCst)));
        assert!(bad_wait.as_mut().poll(&mut Context::from_waker(&bad)).is_pending());
    }
    for (task, wait) in tasks.iter().zip(&mut waits) {
        assert!(task.poll(wait.as_mut()).is_pending());
    }
    assert!(panics(|| tx.send(1)));
    assert!(tasks.iter().all(|task| task.wakes() == 1));
    assert_eq!(*tx.borrow(), 1);
}

#[test]
fn values_are_dropped_exactly_once_and_a_bomb_leaks_nothing() {
    let census = Census::default();
    let (tx, rx) = channel(census.value(0));
    tx.send(census.value(1)).unwrap();
    assert_eq!((census.alive(), census.dropped()), (1, 1));
    tx.send(census.bomb(2)).unwrap();
    assert!(panics(|| tx.send(census.value(3))), "the old value's destructor panics");
    assert_eq!(rx.borrow().id, 3);
    drop(tx.send_replace(census.value(4)));
    drop(tx);
    assert_eq!(census.alive(), 1, "the receiver keeps the last value");
    drop(rx);
    assert_eq!((census.alive(), census.dropped()), (0, 5));
}

#[test]
fn changed_wait_for_and_closed_spend_budget() {
    let (tx, mut rx) = channel(0);
    coop::budget(|| {
        for n in 0..128 {
            tx.send(n).unwrap();
            assert!(poll_once(pin!(rx.changed())).is_ready());
        }
        tx.send(1).unwrap();
        assert!(poll_once(pin!(rx.changed())).is_pending());
        assert!(poll_once(pin!(rx.wait_for(|_| true))).is_pending());
        drop(rx);
        assert!(poll_once(pin!(tx.closed())).is_pending());
    });
    assert!(poll_once(pin!(tx.closed())).is_ready());
}

#[test]
fn the_final_value_is_seen_by_every_thread() {
    let (rounds, threads) = if cfg!(miri) { (2, 2) } else { (2000, 4) };
    let (tx, rx) = channel(0);
    let watchers: Vec<_> = (0..threads)
        .map(|_| {
            let mut rx = rx.clone();
            std::thread::spawn(move || {
                let mut last = 0;
                while block_on(rx.changed()).is_ok() {
                    let now = *rx.borrow_and_update();
                    assert!(now >= last);
                    last = now;
                }
                last
            })
        })
        .collect();
    drop(rx);
    for n in 1..=rounds {
        tx.send(n).unwrap();
    }
    drop(tx);
    for watcher in watchers {
        assert_eq!(watcher.join().unwrap(), rounds);
    }
}

#[test]
fn send_and_sync_are_what_the_value_allows() {
    assert_eq!(auto_traits!(Sender<Nn>), "Unpin");
    assert_eq!(auto_traits!(Sender<Yn>), "Unpin");
    assert_eq!(auto_traits!(Sender<Yy>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Receiver<Nn>), "Unpin");
    assert_eq!(auto_traits!(Receiver<Yn>), "Unpin");
    assert_eq!(auto_traits!(Receiver<Yy>), "Send Sync Unpin");
    assert_eq!(auto_traits!(Ref<'static, Nn>), "Unpin");
    assert_eq!(auto_traits!(Ref<'static, Yn>), "Unpin");
    assert_eq!(auto_traits!(Ref<'static, Yy>), "Sync Unpin");
}

#[test]
fn futures_can_be_sent_where_the_value_can() {
    fn is_send(_: impl Send + Sync) {}
    let (tx, mut rx) = channel(0);
    is_send(rx.changed());
    is_send(rx.wait_for(|_| true));
    is_send(tx.closed());
}

#[test]
fn texts_are_those_that_programs_match() {
    let (tx, rx) = channel(7);
    assert_eq!(format!("{:?}", rx.borrow()), "Ref { inner: 7, has_changed: false }");
    assert_eq!(format!("{:?}", SendError(7)), "SendError { .. }");
    assert_eq!(SendError(7).to_string(), "channel closed");
    assert_eq!(RecvError(()).to_string(), "channel closed");
    assert!(format!("{rx:?}").starts_with("Receiver { shared: Shared { value: RwLock"));
    assert!(format!("{tx:?}").contains("version: Version(0), is_closed: false, ref_count_rx: 1"));
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&tx.subscribe()));
}
