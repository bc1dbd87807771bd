//! `spawn`.

use crate::runtime::NO_RUNTIME;
use crate::scheduler::spawn;
use crate::task::{JoinHandle, Origin};
use std::future::Future;

/// Spawns a task on the runtime of this thread. It runs whether the handle is awaited or not, at the same time as the caller where a
/// worker is free.
///
/// Nothing says that a task runs to its end: when the runtime is shut down, tasks are dropped at their next `await`.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Examples
///
/// ```
/// # #[nezumi::main]
/// # async fn main() {
/// let squares: Vec<_> = (0..10).map(|i| nezumi::spawn(async move { i * i })).collect();
/// let mut sum = 0;
/// for square in squares {
///     sum += square.await.unwrap();
/// }
/// assert_eq!(sum, 285);
/// # }
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    with_origin(future, Origin::here())
}

#[track_caller]
#[inline]
pub(super) fn with_origin<F>(future: F, origin: Origin<'_>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match spawn::on_current(future, origin) {
        Ok(handle) => handle,
        Err(_) => panic!("{NO_RUNTIME}"),
    }
}
