//! The workloads that need nothing but an executor, on smol's.
//!
//! A third column to look at, not a rival: it has no I/O, timers, budget or metrics to pay for. The files are the same;
//! `rt` here is as much of a runtime as they ask for, made of `async-executor` on threads of its own.

use crate::case::Case;

#[path = "workloads/chained_spawn.rs"]
mod chained_spawn;
#[path = "workloads/spawn_burst.rs"]
mod spawn_burst;
#[path = "workloads/spawn_join.rs"]
mod spawn_join;
#[path = "workloads/start.rs"]
mod start;
#[path = "workloads/yield_many.rs"]
mod yield_many;

fn tune(_: &mut rt::runtime::Builder) {}

pub(crate) fn all() -> Vec<Case> {
    [spawn_join::cases(), spawn_burst::cases(), yield_many::cases(), chained_spawn::cases()]
        .into_iter()
        .flatten()
        .collect()
}

mod rt {
    use std::cell::RefCell;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use async_executor::{Executor, Task};

    thread_local! {
        static CURRENT: RefCell<Option<Arc<Executor<'static>>>> = const { RefCell::new(None) };
    }

    pub(super) fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let task = CURRENT.with_borrow(|executor| {
            executor.as_ref().expect("there is no executor here; call this inside of one").spawn(future)
        });
        JoinHandle(Some(task))
    }

    /// Lets the task run on when dropped, as Tokio's does.
    pub(super) struct JoinHandle<T>(Option<Task<T>>);

    impl<T> Future for JoinHandle<T> {
        type Output = Result<T, std::convert::Infallible>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            let task = self.0.as_mut().expect("only a dropped handle has no task");
            Pin::new(task).poll(cx).map(Ok)
        }
    }

    impl<T> Drop for JoinHandle<T> {
        fn drop(&mut self) {
            if let Some(task) = self.0.take() {
                task.detach();
            }
        }
    }

    pub(super) mod task {
        pub(in super::super) use futures_lite::future::yield_now;
    }

    pub(super) mod runtime {
        use std::io;
        use std::sync::Arc;
        use std::thread::{self, JoinHandle};

        use async_executor::Executor;
        use futures_lite::future;

        use super::CURRENT;
        use crate::signal::Signal;

        /// An executor, and the threads that run it until it is dropped.
        pub(in super::super) struct Runtime {
            executor: Arc<Executor<'static>>,
            threads: Vec<(Signal, JoinHandle<()>)>,
        }

        pub(in super::super) struct Builder(usize);

        impl Builder {
            pub(in super::super) fn new_multi_thread() -> Builder {
                Builder(1)
            }

            pub(in super::super) fn worker_threads(&mut self, threads: usize) -> &mut Builder {
                self.0 = threads;
                self
            }

            pub(in super::super) fn enable_all(&mut self) -> &mut Builder {
                self
            }

            pub(in super::super) fn build(&mut self) -> io::Result<Runtime> {
                let executor = Arc::new(Executor::new());
                let threads = (0..self.0)
                    .map(|_| {
                        let (executor, stop) = (executor.clone(), Signal::default());
                        let stopped = stop.clone();
                        let thread = thread::Builder::new().spawn(move || {
                            CURRENT.set(Some(executor.clone()));
                            future::block_on(executor.run(stopped));
                        })?;
                        Ok((stop, thread))
                    })
                    .collect::<io::Result<_>>()?;
                Ok(Runtime { executor, threads })
            }
        }

        impl Runtime {
            pub(in super::super) fn block_on<F: Future>(&self, future: F) -> F::Output {
                let before = CURRENT.replace(Some(self.executor.clone()));
                let output = future::block_on(future);
                CURRENT.set(before);
                output
            }
        }

        impl Drop for Runtime {
            fn drop(&mut self) {
                for (stop, _) in &self.threads {
                    stop.fire();
                }
                for (_, thread) in self.threads.drain(..) {
                    thread.join().expect("a thread of the executor panicked");
                }
            }
        }
    }
}
