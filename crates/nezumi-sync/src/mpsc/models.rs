//! Loom, with blocks of two messages: every order of sending, receiving, closing and going away. A loom `Arc` as the message
//! makes a leak or a second drop visible.

use super::error::TryRecvError;
use super::{channel, unbounded_channel};
use crate::modelling::{Cargo, Dropped};
use loom::future::block_on;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_prim::thread;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Wake, Waker};

#[test]
fn a_message_ends_the_wait() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let thread = thread::spawn(move || tx.send(Arc::new(7)).unwrap());
        assert_eq!(*block_on(rx.recv()).unwrap(), 7);
        assert!(block_on(rx.recv()).is_none());
        thread.join().unwrap();
    });
}

#[test]
fn a_message_ends_the_wait_at_a_ring() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let thread = thread::spawn(move || tx.try_send(Arc::new(7)).unwrap());
        assert_eq!(*block_on(rx.recv()).unwrap(), 7);
        assert!(block_on(rx.recv()).is_none());
        thread.join().unwrap();
    });
}

#[test]
fn a_ring_goes_round() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        tx.try_send(Arc::new(0)).unwrap();
        let thread = thread::spawn(move || {
            for n in 1..3 {
                block_on(tx.send(Arc::new(n))).unwrap();
            }
        });
        for n in 0..3 {
            assert_eq!(*block_on(rx.recv()).unwrap(), n);
        }
        thread.join().unwrap();
    });
}

/// One sender has had its permit from the beginning, and claims a position whose slot others have used since. That the slot is empty it learns from
/// the claims before its own.
#[test]
fn a_permit_of_the_beginning_finds_its_slot_empty() {
    loom::model(|| {
        let (tx, mut rx) = channel(3);
        let permit = tx.clone().try_reserve_owned().unwrap();
        let thread = thread::spawn(move || drop(permit.send(Arc::new(4))));
        // One lap of the ring.
        let mut sum = 0;
        for n in 0..4 {
            tx.try_send(Arc::new(n)).unwrap();
            sum += *block_on(rx.recv()).unwrap();
        }
        sum += *block_on(rx.recv()).unwrap();
        assert_eq!(sum, 10);
        thread.join().unwrap();
    });
}

#[test]
fn two_senders_share_a_ring() {
    loom::model(|| {
        let (tx, mut rx) = channel(1);
        let other = tx.clone();
        let a = thread::spawn(move || block_on(tx.send(1)).unwrap());
        let b = thread::spawn(move || block_on(other.send(2)).unwrap());
        assert_eq!(block_on(rx.recv()).unwrap() + block_on(rx.recv()).unwrap(), 3);
        a.join().unwrap();
        b.join().unwrap();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    });
}

#[test]
fn two_senders_meet_at_the_border_of_a_block() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        tx.send(Arc::new(0)).unwrap();
        let other = tx.clone();
        let a = thread::spawn(move || tx.send(Arc::new(1)).unwrap());
        let b = thread::spawn(move || other.send(Arc::new(1)).unwrap());
        assert_eq!(*block_on(rx.recv()).unwrap(), 0);
        assert_eq!(*block_on(rx.recv()).unwrap(), 1);
        assert_eq!(*block_on(rx.recv()).unwrap(), 1);
        assert!(block_on(rx.recv()).is_none());
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn blocks_are_used_again_under_a_running_sender() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        // Two blocks are finished: the first is free, the second in limbo.
        for n in 0..4 {
            tx.send(Arc::new(n)).unwrap();
            assert_eq!(*rx.try_recv().unwrap(), n);
        }
        let thread = thread::spawn(move || (4..8).for_each(|n| tx.send(Arc::new(n)).unwrap()));
        for n in 4..8 {
            assert_eq!(*block_on(rx.recv()).unwrap(), n);
        }
        thread.join().unwrap();
    });
}

/// A sender claims a position after the pointer was moved on from the first block, which is used again at once. It must not find that block by an
/// old pointer.
#[test]
fn who_claims_late_does_not_touch_a_block_that_is_used_again() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let other = tx.clone();
        let thread = thread::spawn(move || other.send(10).unwrap());
        let mut sum = 0;
        for n in 0..2 {
            tx.send(n).unwrap();
            sum += rx.try_recv().unwrap();
        }
        // To the block after the next, which is the first again.
        (2..5).for_each(|n| tx.send(n).unwrap());
        thread.join().unwrap();
        sum += std::iter::from_fn(|| rx.try_recv().ok()).sum::<i32>();
        assert_eq!(sum, 20);
    });
}

#[test]
fn a_slow_sender_finds_its_block_when_others_went_on() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let other = tx.clone();
        let slow = thread::spawn(move || other.send(10).unwrap());
        (1..4).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        let sum: i32 = (0..4).map(|_| block_on(rx.recv()).unwrap()).sum();
        assert_eq!(sum, 16);
        assert_eq!(block_on(rx.recv()), None);
        slow.join().unwrap();
    });
}

#[test]
fn the_last_of_two_senders_ends_the_wait() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel::<u8>();
        let other = tx.clone();
        let a = thread::spawn(move || drop(tx));
        let b = thread::spawn(move || drop(other));
        assert_eq!(block_on(rx.recv()), None);
        a.join().unwrap();
        b.join().unwrap();
    });
}

#[test]
fn what_was_accepted_before_close_is_received() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let thread = thread::spawn(move || (0..2).filter(|&n| tx.send(Arc::new(n)).is_ok()).count());
        rx.close();
        let mut received = 0;
        while block_on(rx.recv()).is_some() {
            received += 1;
        }
        assert_eq!(thread.join().unwrap(), received);
    });
}

#[test]
fn sending_races_the_receiver_that_goes() {
    loom::model(|| {
        let (tx, rx) = unbounded_channel();
        let thread = thread::spawn(move || {
            let _ = tx.send(Arc::new(1));
            let _ = tx.send(Arc::new(2));
        });
        drop(rx);
        thread.join().unwrap();
    });
}

#[test]
fn a_permit_that_goes_ends_the_wait_of_a_closed_receiver() {
    // A ring, and a chain.
    for bound in [1, 4] {
        loom::model(move || {
            let (tx, mut rx) = channel::<u8>(bound);
            let thread = thread::spawn(move || {
                if let Ok(permit) = tx.clone().try_reserve_owned() {
                    drop(permit);
                }
                // A sender stays until the end: it is not its going that wakes.
                tx
            });
            rx.close();
            assert_eq!(block_on(rx.recv()), None);
            drop(thread.join().unwrap());
        });
    }
}

#[test]
fn a_permit_that_is_used_after_close_is_received() {
    loom::model(|| {
        let (tx, mut rx) = channel(4);
        let permit = tx.clone().try_reserve_owned().unwrap();
        let thread = thread::spawn(move || drop(permit.send(Arc::new(7))));
        rx.close();
        assert_eq!(*block_on(rx.recv()).unwrap(), 7);
        assert!(block_on(rx.recv()).is_none());
        thread.join().unwrap();
        drop(tx);
    });
}

#[test]
fn a_reservation_that_is_dropped_ends_the_wait_of_a_closed_receiver() {
    loom::model(|| {
        let (tx, mut rx) = channel::<u8>(1);
        let held = tx.clone().try_reserve_owned().unwrap();
        let thread = thread::spawn(move || {
            {
                let mut reserve = pin!(tx.reserve());
                let mut cx = Context::from_waker(Waker::noop());
                let _ = reserve.as_mut().poll(&mut cx);
            }
            tx
        });
        let other = thread::spawn(move || drop(held));
        rx.close();
        assert_eq!(block_on(rx.recv()), None);
        other.join().unwrap();
        drop(thread.join().unwrap());
    });
}

#[test]
fn a_receiver_that_changes_its_task_is_woken_in_the_new_one() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let thread = thread::spawn(move || tx.send(Arc::new(7)).unwrap());
        let (first, second) = (StdArc::new(Count::default()), StdArc::new(Count::default()));
        let mut poll = |task: &StdArc<Count>| {
            rx.poll_recv(&mut Context::from_waker(&Waker::from(task.clone()))).is_ready()
        };
        let received = poll(&first) || poll(&second);
        thread.join().unwrap();
        if !received {
            assert!(second.0.load(Ordering::Relaxed) > 0, "the task that waits is woken");
            assert_eq!(*rx.try_recv().unwrap(), 7);
        }
        drop(rx);
        assert_eq!((StdArc::strong_count(&first), StdArc::strong_count(&second)), (1, 1));
    });
}

#[test]
fn try_recv_waits_for_the_sender_before() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let other = tx.clone();
        let thread = thread::spawn(move || other.send(1).unwrap());
        tx.send(2).unwrap();
        assert!(rx.try_recv().is_ok(), "a send has returned");
        thread.join().unwrap();
        assert!(rx.try_recv().is_ok());
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    });
}

/// The thread of the try takes its place meanwhile, and may be the one that the sender wakes.
#[test]
fn a_task_that_waits_is_woken_though_a_try_takes_the_message() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let task = StdArc::new(Count::default());
        assert!(rx.poll_recv(&mut Context::from_waker(&Waker::from(task.clone()))).is_pending());
        let other = tx.clone();
        let thread = thread::spawn(move || other.send(1).unwrap());
        tx.send(2).unwrap();
        assert!(rx.try_recv().is_ok(), "a send has returned");
        thread.join().unwrap();
        assert!(task.0.load(Ordering::Relaxed) > 0, "it may look again");
    });
}

#[test]
fn closing_wakes_senders_that_wait_for_it() {
    loom::model(|| {
        let (tx, mut rx) = channel::<u8>(1);
        let thread = thread::spawn(move || rx.close());
        block_on(tx.closed());
        assert!(tx.is_closed());
        thread.join().unwrap();
    });
}

#[test]
fn upgrading_races_the_last_sender() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let weak = tx.downgrade();
        let thread = thread::spawn(move || drop(tx));
        let sent = weak.upgrade().is_some_and(|tx| tx.send(7).is_ok());
        assert_eq!(block_on(rx.recv()).is_some(), sent);
        assert_eq!(block_on(rx.recv()), None);
        thread.join().unwrap();
    });
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_end_comes_after_what_every_sender_did() {
    loom::model(|| {
        let (tx, mut rx) = unbounded_channel::<u8>();
        let senders = Dropped::elsewhere([tx.clone(), tx]);
        assert_eq!(block_on(rx.recv()), None);
        senders.look();
        senders.join();
    });
}

/// By the count, or by a weak sender that finds none.
#[test]
fn who_finds_no_sender_sees_what_the_last_did() {
    for ask in 0..2 {
        for turn in [false, true] {
            loom::model(move || {
                let (tx, rx) = unbounded_channel::<u8>();
                let weak = tx.downgrade();
                let sender = Dropped::elsewhere([tx]);
                if turn {
                    thread::yield_now();
                }
                let is_alone = if ask == 0 { rx.is_closed() } else { weak.upgrade().is_none() };
                if is_alone {
                    sender.look();
                }
                sender.join();
            });
        }
    }
}

/// What a receiver did before it closed the channel is seen by whoever is refused, or asks.
#[test]
fn who_finds_it_closed_sees_what_the_receiver_did() {
    for ask in 0..2 {
        for turn in [false, true] {
            loom::model(move || {
                let (tx, mut rx) = unbounded_channel();
                let did = Arc::new(Cargo::new());
                let thread = {
                    let did = did.clone();
                    thread::spawn(move || {
                        did.write();
                        rx.close();
                        rx
                    })
                };
                if turn {
                    thread::yield_now();
                }
                let is_closed = if ask == 0 { tx.is_closed() } else { tx.send(1).is_err() };
                if is_closed {
                    did.look();
                }
                drop(thread.join().unwrap());
            });
        }
    }
}
