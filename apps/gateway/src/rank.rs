//! Which tasks run first: those that serve routes of high priority.
//!
//! Used by `serve::connection` (the task of a client's connection), `proxy::link` (those of connections to servers) and
//! `proxy::tunnel`. That there are priorities at all is Nezumi's, not Tokio's; nothing else here knows of them.

use nezumi::task::{Builder, Priority};
use tokio::task::JoinHandle;

/// Spawns `future`, to be run with `priority`.
pub(crate) fn spawn<F>(priority: Priority, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    Builder::new().priority(priority).spawn(future).expect("a task can always be spawned")
}

/// For hyper, which spawns tasks of its own for HTTP/2: each gets the priority that `of` says at the time.
#[derive(Debug, Clone)]
pub(crate) struct Executor<P> {
    pub(crate) of: P,
}

impl<F, P> hyper::rt::Executor<F> for Executor<P>
where
    F: Future<Output: Send> + Send + 'static,
    P: Fn() -> Priority,
{
    fn execute(&self, future: F) {
        drop(spawn((self.of)(), future));
    }
}
