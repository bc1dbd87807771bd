/// Pins a value to the stack.
///
/// Some futures must not move once they have been polled, and an `async fn` makes such a one. To poll it by reference
/// (from a [`select!`](crate::select) in a loop, say), it must be pinned first. `pin!(a, b)` takes the values out of the
/// variables named and puts a `Pin<&mut T>` under each name; `pin! { let a = …; let b = …; }` declares the variables,
/// too.
///
/// # Examples
///
/// ```
/// use nezumi::{pin, select, time};
/// use std::time::Duration;
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// let mut ticks = time::interval(Duration::from_millis(1));
/// let work = async { time::sleep(Duration::from_millis(5)).await };
/// pin!(work);
///
/// // The same future goes on in every round.
/// loop {
///     select! {
///         () = &mut work => break,
///         _ = ticks.tick() => {}
///     }
/// }
/// # }
/// ```
///
/// Several at once, declared in place:
///
/// ```
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// nezumi::pin! {
///     let one = async { 1 };
///     let two = async { 2 };
/// }
/// assert_eq!(nezumi::join!(one, two), (1, 2));
/// # }
/// ```
///
/// It takes variables, not expressions:
///
/// ```compile_fail
/// # async fn work() {}
/// # #[nezumi::main] async fn main() {
/// nezumi::pin!(work());
/// # }
/// ```
#[macro_export]
macro_rules! pin {
    ($($name:ident),* $(,)?) => {$(
        #[allow(unused_mut)]
        let mut $name = $crate::macros::support::pinned!($name);
    )*};
    ($(let $name:ident = $value:expr;)*) => {$(
        let $name = $value;
        $crate::pin!($name);
    )*};
}
