/// Declares values that belong to a task.
///
/// The syntax is that of `std::thread_local!`, without an initial value. Each `static` declared is a
/// [`LocalKey`](crate::task::LocalKey): [`scope`](crate::task::LocalKey::scope) sets the value for as long as a future
/// runs, on whatever thread that is, and [`with`](crate::task::LocalKey::with) reads it.
///
/// # Examples
///
/// ```
/// nezumi::task_local! {
///     /// Whom the task serves.
///     pub static USER: String;
///     static DEPTH: u32;
/// }
///
/// # #[nezumi::main(flavor = "current_thread")] async fn main() {
/// USER.scope("ada".to_owned(), async {
///     USER.with(|user| assert_eq!(user, "ada"));
///     DEPTH.scope(1, async { assert_eq!(DEPTH.get(), 1) }).await;
/// })
/// .await;
/// assert!(USER.try_with(|_| ()).is_err());
/// # }
/// ```
#[macro_export]
macro_rules! task_local {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $value:ty);* $(;)?) => {$(
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$value> = {
            ::std::thread_local! {
                static __SLOT: $crate::macros::support::TaskLocalSlot<$value> =
                    const { $crate::macros::support::TaskLocalSlot::new() };
            }
            $crate::task::LocalKey::__new(__SLOT)
        };
    )*};
}
