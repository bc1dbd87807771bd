//! Which types may go where, as in Tokio 1.54.1: neither less nor more.

use nezumi_core::time::error::{Elapsed, Error};
use nezumi_core::time::{Duration, Instant, Interval, Sleep, Timeout, advance, interval};
use std::cell::Cell;
use std::future::Ready;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// Whether a type implements a trait, found out without a bound: the inherent constant wins where it applies.
macro_rules! implements {
    ($type:ty: $trait:path) => {{
        #[allow(dead_code)]
        trait No {
            const ANSWER: bool = false;
        }
        impl<T: ?Sized> No for T {}
        #[allow(dead_code)]
        struct Ask<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $trait> Ask<T> {
            const ANSWER: bool = true;
        }
        <Ask<$type>>::ANSWER
    }};
}

macro_rules! traits {
    ($type:ty) => {
        [
            implements!($type: Send),
            implements!($type: Sync),
            implements!($type: Unpin),
            implements!($type: UnwindSafe),
            implements!($type: RefUnwindSafe),
        ]
    };
}

#[test]
fn auto_traits() {
    assert_eq!(traits!(Sleep), [true, true, false, false, false]);
    assert_eq!(traits!(Interval), [true, true, true, false, false]);
    assert_eq!(traits!(Timeout<Ready<()>>), [true, true, false, false, false]);
    assert_eq!(traits!(Timeout<Ready<Cell<()>>>), [true, false, false, false, false]);
    assert_eq!(traits!(Timeout<Ready<Rc<()>>>), [false, false, false, false, false]);
    assert_eq!(traits!(Instant), [true; 5]);
    assert_eq!(traits!(Error), [true; 5]);
    assert_eq!(traits!(Elapsed), [true; 5]);
    assert!(implements!(Error: Copy) && !implements!(Error: PartialEq));
    assert!(implements!(Elapsed: Eq) && !implements!(Elapsed: Clone));
}

#[test]
fn futures_of_async_functions() {
    fn send_sync<T: Send + Sync>(_: T) {}
    send_sync(advance(Duration::ZERO));
    super::paused(async { send_sync(interval(Duration::from_secs(1)).tick()) });
}
