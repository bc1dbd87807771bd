/// Waits for several futures at once, and returns all of their outputs as a tuple.
///
/// Usable inside an `async` function or block. The futures run on the task that waits, one at a time, so none runs while
/// another blocks the thread; [`spawn`](crate::spawn) them first, and join the handles, where they should run in
/// parallel. Every future is polled on until it completes, also when others have failed:
/// [`try_join!`](crate::try_join) stops at the first error.
///
/// Anything that is `IntoFuture` will do, and nothing is allocated.
///
/// # Fairness
///
/// Each time the task is woken, a different future is polled first. So a future that uses up the task's whole
/// [budget](crate::task::coop) does so at the cost of the others in one round only. A leading `biased;` turns that off:
/// then the order is as written, always, and seeing that none starves is up to the program.
///
/// # Examples
///
/// ```
/// async fn price() -> u32 { 3 }
/// async fn stock() -> u64 { 14 }
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// let (price, stock) = nezumi::join!(price(), stock());
/// assert_eq!((price, stock), (3, 14));
/// # }
/// ```
///
/// In the order written:
///
/// ```
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// let order = std::cell::RefCell::new(Vec::new());
/// nezumi::join!(
///     biased;
///     async { order.borrow_mut().push(1) },
///     async { order.borrow_mut().push(2) },
/// );
/// assert_eq!(*order.borrow(), [1, 2]);
/// # }
/// ```
#[macro_export]
macro_rules! join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__join!(AsWritten [] $($future,)*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__join!(Rotating [] $($future,)*)
    };
}

/// Each step names one future. The name `slot` is a new one in every step, by macro hygiene, so nothing has to be
/// counted and no count is the limit.
#[doc(hidden)]
#[macro_export]
macro_rules! __join {
    ($order:ident [$($named:tt)*] $future:expr, $($rest:expr,)*) => {
        $crate::__join!($order [$($named)* (slot $future)] $($rest,)*)
    };
    ($order:ident []) => {
        async {}.await
    };
    ($order:ident [$(($slot:ident $future:expr))+]) => {{
        let mut slots = ($($crate::macros::support::Slot::new($future),)+);
        // The closure holds a reference, not the futures: it may be moved, they may not.
        let slots = &mut slots;
        let mut order = <$crate::macros::support::$order as $crate::macros::support::Default>::default();
        $crate::macros::support::poll_fn(move |cx| {
            use $crate::macros::support::Order as _;

            let ($($slot,)+) = &mut *slots;
            // SAFETY: the tuple is a local of the expansion that nothing but this closure can name, and the closure
            // never moves out of it.
            $(let mut $slot = unsafe { $crate::macros::support::Pin::new_unchecked($slot) };)+

            let mut pending = false;
            let mut count = 0_u32;
            for second_turn in [false, true] {
                count = 0;
                $(
                    if order.is_due(second_turn, count) {
                        pending |= $slot.as_mut().poll(cx).is_pending();
                    }
                    count += 1;
                )+
            }
            if pending {
                order.advance(count);
                return $crate::macros::support::Poll::Pending;
            }
            // An output type may have no values.
            #[allow(unreachable_code)]
            {
                $crate::macros::support::Poll::Ready(($($slot.take(),)+))
            }
        })
        .await
    }};
}
