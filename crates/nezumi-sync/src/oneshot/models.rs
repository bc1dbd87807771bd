//! Loom: every order of what the two ends can do. A loom `Arc` as the value makes a leak or a second drop visible.

use super::{Receiver, channel};
use crate::modelling::Cargo;
use loom::future::block_on;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicUsize, Ordering};
use nezumi_prim::thread;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

#[test]
fn a_sent_value_ends_the_wait() {
    loom::model(|| {
        let (tx, rx) = channel();
        let thread = thread::spawn(move || tx.send(Arc::new(7)).unwrap());
        assert_eq!(*block_on(rx).unwrap(), 7);
        thread.join().unwrap();
    });
}

#[test]
fn a_dropped_sender_ends_the_wait() {
    loom::model(|| {
        let (tx, rx) = channel::<u8>();
        let thread = thread::spawn(move || drop(tx));
        assert!(block_on(rx).is_err());
        thread.join().unwrap();
    });
}

#[test]
fn send_races_drop_of_the_receiver() {
    loom::model(|| {
        let (tx, rx) = channel();
        let thread = thread::spawn(move || tx.send(Arc::new(7)).map_err(|back| assert_eq!(*back, 7)).is_ok());
        drop(rx);
        thread.join().unwrap();
    });
}

#[test]
fn send_races_close() {
    loom::model(|| {
        let (tx, mut rx) = channel();
        let thread = thread::spawn(move || tx.send(Arc::new(7)).is_ok());
        rx.close();
        let received = rx.try_recv().is_ok();
        assert_eq!(thread.join().unwrap(), received, "a value is refused or received, not both");
    });
}

#[test]
fn send_races_drop_of_a_receiver_that_waits() {
    loom::model(|| {
        let (mut tx, mut rx) = channel();
        assert!(poll_with(&Waker::noop().clone(), &mut rx).is_pending());
        assert!(tx.poll_closed(&mut Context::from_waker(Waker::noop())).is_pending());
        let thread = thread::spawn(move || tx.send(Arc::new(7)).is_ok());
        drop(rx);
        thread.join().unwrap();
    });
}

#[test]
fn drop_of_the_receiver_wakes_a_sender_that_waits() {
    loom::model(|| {
        let (mut tx, rx) = channel::<Arc<u8>>();
        let thread = thread::spawn(move || drop(rx));
        block_on(poll_fn(|cx| tx.poll_closed(cx)));
        assert!(tx.send(Arc::new(7)).is_err());
        thread.join().unwrap();
    });
}

/// What a receiver did before it went is seen by a sender that waited for that, also if it happened while it was about to wait.
#[test]
fn who_finds_it_closed_sees_what_the_receiver_did() {
    loom::model(|| {
        let (mut tx, rx) = channel::<u8>();
        let did = Arc::new(Cargo::new());
        let thread = {
            let did = did.clone();
            thread::spawn(move || {
                did.write();
                drop(rx);
            })
        };
        block_on(poll_fn(|cx| tx.poll_closed(cx)));
        did.look();
        thread.join().unwrap();
    });
}

#[test]
fn a_receiver_that_changes_its_task_is_woken_in_the_new_one() {
    loom::model(|| {
        let (tx, mut rx) = channel();
        let thread = thread::spawn(move || tx.send(Arc::new(7)).unwrap());
        let (first, second) =
            (StdArc::new(Count(AtomicUsize::new(0))), StdArc::new(Count(AtomicUsize::new(0))));
        let ready = poll_with(&Waker::from(first.clone()), &mut rx).is_ready()
            || poll_with(&Waker::from(second.clone()), &mut rx).is_ready();
        thread.join().unwrap();
        if !ready {
            // The send came after the first poll returned: whoever polled last before it must know.
            let woken = first.0.load(Ordering::Relaxed) + second.0.load(Ordering::Relaxed);
            assert_eq!(woken, 1, "a receiver that waits is woken once");
            assert_eq!(*rx.try_recv().unwrap(), 7);
        }
        assert_eq!((StdArc::strong_count(&first), StdArc::strong_count(&second)), (1, 1));
    });
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll_with<T>(waker: &Waker, rx: &mut Receiver<T>) -> Poll<Result<T, super::error::RecvError>> {
    Pin::new(rx).poll(&mut Context::from_waker(waker))
}
