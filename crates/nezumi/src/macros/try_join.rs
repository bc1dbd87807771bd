/// Waits for several fallible futures at once, until all have succeeded or one has failed.
///
/// Usable inside an `async` function or block. Returns `Ok` with a tuple of the values, or the first `Err` that any of
/// the futures returned; the others are then dropped where they stand. All must have the same error type.
///
/// It polls and rotates as [`join!`](crate::join) does, `biased;` included.
///
/// # Examples
///
/// ```
/// async fn parse(text: &str) -> Result<u16, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(nezumi::try_join!(parse("80"), parse("443")), Ok((80, 443)));
/// assert!(nezumi::try_join!(parse("80"), parse("https")).is_err());
/// # }
/// ```
///
/// With tasks of their own, both kinds of failure, the work's and the task's, meet in one `?`:
///
/// ```
/// use std::error::Error;
///
/// async fn load(name: &'static str) -> Result<usize, std::io::Error> {
///     Ok(name.len())
/// }
///
/// async fn spawned(name: &'static str) -> Result<usize, Box<dyn Error>> {
///     Ok(nezumi::spawn(load(name)).await??)
/// }
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn Error>> {
/// let (a, b) = nezumi::try_join!(spawned("a"), spawned("bb"))?;
/// assert_eq!(a + b, 3);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! try_join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__try_join!(AsWritten [] $($future,)*)
    };
    ($($future:expr),* $(,)?) => {
        $crate::__try_join!(Rotating [] $($future,)*)
    };
}

/// As `__join!`, with a way out at the first error.
#[doc(hidden)]
#[macro_export]
macro_rules! __try_join {
    ($order:ident [$($named:tt)*] $future:expr, $($rest:expr,)*) => {
        $crate::__try_join!($order [$($named)* (slot $future)] $($rest,)*)
    };
    ($order:ident []) => {
        async { $crate::macros::support::Ok(()) }.await
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
                        match $slot.as_mut().try_poll(cx) {
                            $crate::macros::support::Poll::Pending => pending = true,
                            $crate::macros::support::Poll::Ready($crate::macros::support::None) => {}
                            $crate::macros::support::Poll::Ready($crate::macros::support::Some(failure)) => {
                                return $crate::macros::support::Poll::Ready(failure);
                            }
                        }
                    }
                    count += 1;
                )+
            }
            if pending {
                order.advance(count);
                return $crate::macros::support::Poll::Pending;
            }
            // A value type may have no values.
            #[allow(unreachable_code)]
            {
                $crate::macros::support::Poll::Ready($crate::macros::support::Ok(($($slot.take_value(),)+)))
            }
        })
        .await
    }};
}
