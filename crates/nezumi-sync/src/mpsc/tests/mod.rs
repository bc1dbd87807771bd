//! What an mpsc channel promises, on one thread, on many, and against a plain queue.

mod bounded;
mod chain;
mod closing;
mod faults;
mod property;
mod unbounded;

use super::error::{SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::*;
use crate::testing::{Nn, Yn, Yy, auto_traits};

#[test]
fn send_and_sync_are_what_the_message_allows() {
    macro_rules! like_the_message {
        ($($type:ident $(<$life:lifetime>)?),*) => {$(
            assert_eq!(auto_traits!($type<$($life,)? Nn>), "Unpin");
            assert_eq!(auto_traits!($type<$($life,)? Yn>), "Send Sync Unpin");
            assert_eq!(auto_traits!($type<$($life,)? Yy>), "Send Sync Unpin");
        )*};
    }
    like_the_message!(
        Sender,
        WeakSender,
        Receiver,
        OwnedPermit,
        Permit<'static>,
        PermitIterator<'static>,
        UnboundedSender,
        WeakUnboundedSender,
        UnboundedReceiver
    );
}

#[test]
fn futures_can_be_sent_where_the_message_can() {
    fn is_send(_: impl Send) {}
    fn is_sync(_: impl Send + Sync) {}
    let (tx, mut rx) = channel::<Yn>(1);
    is_sync(rx.recv());
    is_sync(tx.closed());
    is_sync(tx.reserve());
    is_sync(tx.clone().reserve_owned());
    is_send(tx.send(Yn::new(1)));
    is_send(tx.send_timeout(Yn::new(1), std::time::Duration::ZERO));
    let (tx, mut rx) = unbounded_channel::<Yn>();
    is_sync(rx.recv());
    is_sync(tx.closed());
    let (tx, _rx) = channel::<Yy>(1);
    is_sync(tx.send(1));
    is_sync(tx.send_timeout(1, std::time::Duration::ZERO));
}

#[test]
fn the_ends_may_cross_a_caught_panic() {
    use std::panic::{RefUnwindSafe, UnwindSafe};
    fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_safe::<Sender<Yn>>();
    is_safe::<Receiver<Yn>>();
    is_safe::<WeakSender<Yn>>();
    is_safe::<OwnedPermit<Yn>>();
    is_safe::<Permit<'static, Yn>>();
    is_safe::<UnboundedSender<Yn>>();
    is_safe::<UnboundedReceiver<Yn>>();
}

#[test]
fn texts_are_those_that_programs_match() {
    let texts = [
        (format!("{} {:?}", SendError(1), SendError(1)), "channel closed SendError { .. }"),
        (format!("{0} {0:?}", TrySendError::Full(1)), "no available capacity \"Full(..)\""),
        (format!("{0} {0:?}", TrySendError::Closed(1)), "channel closed \"Closed(..)\""),
        (format!("{0} {0:?}", TryRecvError::Empty), "receiving on an empty channel Empty"),
        (format!("{0} {0:?}", TryRecvError::Disconnected), "receiving on a closed channel Disconnected"),
        (
            format!("{0} {0:?}", SendTimeoutError::Timeout(1)),
            "timed out waiting on send operation \"Timeout(..)\"",
        ),
        (format!("{0} {0:?}", SendTimeoutError::Closed(1)), "channel closed \"Closed(..)\""),
    ];
    for (text, expected) in texts {
        assert_eq!(text, expected);
    }
    assert_eq!(TrySendError::from(SendError(1)), TrySendError::Closed(1));
    assert_eq!((TrySendError::Full(1).into_inner(), SendTimeoutError::Timeout(2).into_inner()), (1, 2));

    let (tx, rx) = channel::<Nn>(1);
    assert!(format!("{tx:?}").starts_with("Sender { chan: Tx { inner: Chan {"));
    assert!(format!("{rx:?}").starts_with("Receiver { chan: Rx { inner: Chan {"));
    assert!(format!("{:?}", tx.try_reserve().unwrap()).starts_with("Permit { chan: Tx"));
    assert!(format!("{:?}", tx.try_reserve_many(1).unwrap()).contains("capacity: 1"));
    assert!(
        format!("{:?}", tx.clone().try_reserve_owned().unwrap()).starts_with("OwnedPermit { chan: Some(Tx")
    );
    assert_eq!(format!("{:?}", tx.downgrade()), "WeakSender");
    let (tx, rx) = unbounded_channel::<Nn>();
    assert!(format!("{tx:?}").starts_with("UnboundedSender { chan: Tx"));
    assert!(format!("{rx:?}").starts_with("UnboundedReceiver { chan: Rx"));
    assert_eq!(format!("{:?}", tx.downgrade()), "WeakUnboundedSender");
}
