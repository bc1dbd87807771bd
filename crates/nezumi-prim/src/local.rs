//! Thread-locals, as the model checkers see them: their threads are not the system's.

/// A hidden door to the checker's own macro, for [`thread_local`](crate::thread_local).
#[cfg(nezumi_loom)]
#[doc(hidden)]
pub use loom::thread_local as of_the_checker;
#[cfg(nezumi_shuttle)]
#[doc(hidden)]
pub use shuttle::thread_local as of_the_checker;

/// Declares a thread-local whose value is made at compile time and needs no drop, so that a use of it is one access.
#[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
#[macro_export]
macro_rules! thread_local {
    ($($(#[$attribute:meta])* static $NAME:ident: $Type:ty = $value:expr;)+) => {$(
        ::std::thread_local! {
            $(#[$attribute])*
            static $NAME: $Type = const { $value };
        }
    )+};
}

/// Declares a thread-local.
#[cfg(any(nezumi_loom, nezumi_shuttle))]
#[macro_export]
macro_rules! thread_local {
    ($($(#[$attribute:meta])* static $NAME:ident: $Type:ty = $value:expr;)+) => {$(
        $crate::local::of_the_checker! {
            $(#[$attribute])*
            static $NAME: $Type = $value;
        }
    )+};
}
